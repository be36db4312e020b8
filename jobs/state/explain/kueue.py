"""Messages of Kueue on its Workloads. Release 0.17 knows only the reasons Pending and Inadmissible: the text must be parsed."""

import re
from dataclasses import replace

from jobs.state.explain import amounts
from jobs.state.explain.model import Explanation, Reason
from jobs.state.reading import Object, mapping, quote, text

_POD_SET = re.compile(r"couldn't assign flavors to pod set (?P<name>[^:]+): ")
_UNUSED = re.compile(
    r"insufficient unused quota for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+), (?P<short>\S+) more needed"
)
_MAXIMUM = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+), "
    r"(?:previously considered podsets requests \((?P<before>[^)]*)\) \+ current podset request \((?P<now>[^)]*)\) > maximum capacity \((?P<cap>[^)]*)\)"
    r"|request > maximum capacity \((?P<want>\S+) > (?P<most>[^)]+)\))"
)
_NO_MATCH = re.compile(r"flavor (?P<flavor>\S+) doesn't match (?P<what>[^,;.]+)")
_TAINT = re.compile(r"untolerated taint \{(?P<taint>[^}]*)\} in flavor (?P<flavor>[^\s,;]+)")
_NO_RESOURCE = re.compile(r"resource (?P<resource>\S+) unavailable in ClusterQueue")
_TOPOLOGY = re.compile(r"topology \"?(?P<topology>[^\"\s]+)\"? (?:doesn't allow to fit|allows to fit)")
_PREEMPTION = re.compile(r"Pending the preemption of (?P<number>\d+) workload")
_QUEUE = re.compile(r"(?P<kind>LocalQueue|ClusterQueue) (?P<name>\S+) (?P<how>doesn't exist|is inactive|is stopped)")
_STOPPED = re.compile(r"The (?P<kind>LocalQueue|ClusterQueue) is stopped")
_WHY = (
    ("prioritization", "a workload of higher priority"),
    ("fair sharing", "a queue that has less than its fair share"),
    ("reclamation", "a queue that takes back what it had lent"),
    ("borrowing", "a queue that borrows with higher priority"),
)
# What can never fit leads over what may fit later.
_NEVER = ("ExceedsMaxQuota", "NoMatchingFlavor")


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a message of Kueue says, or None if it is none."""
    for reader in (_queues, _evicted, _quota, _states):
        found = reader(source, reason, message, context)
        if found:
            return found
    return None


def _queues(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    queue = _QUEUE.search(message)
    if queue:
        kind, name = queue["kind"], quote(queue["name"], 80)
        if queue["how"] == "doesn't exist":
            return Explanation(f"{kind}Missing", f"{kind} {name} does not exist", queue=name)
        return Explanation("QueueStopped", f"{kind} {name} is stopped or inactive", queue=name)
    stopped = _STOPPED.search(message)
    if stopped or reason in ("ClusterQueueStopped", "LocalQueueStopped"):
        kind = stopped["kind"] if stopped else reason.removesuffix("Stopped")
        return Explanation("QueueStopped", f"its {kind} was stopped")
    if "namespace doesn't match ClusterQueue selector" in message:
        return Explanation("QueueClosedToProject", "its ClusterQueue does not take jobs of this namespace")
    return None


def _evicted(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    if message.startswith("Previously: "):
        return Explanation("Admitted", "it has been admitted again")
    if "PodsReady timeout" in message or reason == "PodsReadyTimeout":
        return Explanation("PodsReadyTimeout", "its pods were not all ready within the time that the queue allows")
    if message.startswith("Preempted to accommodate") or reason == "Preempted" or (source.endswith("Preempted=True")):
        who = next((said for word, said in _WHY if word in message.lower()), "another workload")
        return Explanation("Preempted", f"preempted to make room for {who}")
    if "deactivated" in message or reason.startswith("Deactivated"):
        often = "re-queuing" in message or "RequeuingLimit" in reason
        return Explanation(
            "WorkloadDeactivated", "its Workload is deactivated" + (" after too many tries" if often else "")
        )
    return None


def _quota(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    reasons = _reasons(message, mapping(context, "requests"))
    if not reasons:
        return None
    lead = _lead(reasons)
    preemption = _PREEMPTION.search(message)
    code = lead.code
    clause = "; ".join(_say(item, len(reasons) > 1) for item in [lead, *(r for r in reasons if r is not lead)])
    queue = text(context, "queue")
    if preemption:
        code = "WaitingForPreemption"
        others = "1 other workload is" if preemption["number"] == "1" else f"{preemption['number']} other workloads are"
        clause += f"; waits until {others} preempted"
    if queue:
        clause += f" (queue {quote(queue, 80)})"
    return Explanation(
        code,
        clause,
        resource=lead.resource,
        needed=lead.needed,
        available=lead.available,
        short_by=lead.short_by,
        reasons=tuple(reasons),
        queue=queue or None,
    )


def _reasons(message: str, asked: Object) -> list[Reason]:
    """All parts in their order, each with its pod set. asked: what each pod set asks for in all, where it is known."""
    heads = [(match.start(), match.end(), match["name"]) for match in _POD_SET.finditer(message)]
    spans = [
        (end, heads[n + 1][0] if n + 1 < len(heads) else len(message), name) for n, (_, end, name) in enumerate(heads)
    ]
    found: list[Reason] = []
    for start, end, name in spans or [(0, len(message), "")]:
        parts = _parts(message[start:end], name if len(spans) > 1 else None)
        found += [_with_amounts(reason, name, asked) for reason in parts]
    return found


def _with_amounts(reason: Reason, pod_set: str, asked: Object) -> Reason:
    """Add what is needed and available to what is short, where only one pod set asks for it: Kueue counts those before it in."""
    if reason.code != "WaitingForQuota" or not reason.resource or not reason.short_by:
        return reason
    if [name for name in asked if reason.resource in mapping(asked, name)] != [pod_set]:
        return reason
    needed = str(mapping(asked, pod_set)[reason.resource])
    return replace(reason, needed=needed, available=amounts.subtract(needed, reason.short_by))


def _parts(part: str, pod_set: str | None) -> list[Reason]:
    found: list[tuple[int, Reason]] = []
    for match in _UNUSED.finditer(part):
        short = match["short"]
        found.append(
            (
                match.start(),
                Reason("WaitingForQuota", None, match["resource"], None, match["flavor"], pod_set, short_by=short),
            )
        )
    for match in _MAXIMUM.finditer(part):
        want = match["want"] or amounts.add(match["before"], match["now"])
        most = match["most"] or match["cap"]
        gap = amounts.subtract(want, most) if want else None
        found.append(
            (
                match.start(),
                Reason("ExceedsMaxQuota", None, match["resource"], None, match["flavor"], pod_set, want, most, gap),
            )
        )
    for match in _NO_MATCH.finditer(part):
        found.append((match.start(), Reason("NoMatchingFlavor", None, None, None, match["flavor"], pod_set)))
    for match in _TAINT.finditer(part):
        taint = match["taint"].replace(" <nil>", "")
        found.append((match.start(), Reason("NoMatchingFlavor", None, None, taint, match["flavor"], pod_set)))
    for match in _NO_RESOURCE.finditer(part):
        found.append((match.start(), Reason("NoMatchingFlavor", None, match["resource"], None, None, pod_set)))
    for match in _TOPOLOGY.finditer(part):
        found.append((match.start(), Reason("TopologyNotFree", None, None, None, match["topology"], pod_set)))
    return [reason for _, reason in sorted(found, key=lambda item: item[0])]


def _lead(reasons: list[Reason]) -> Reason:
    """Several pod sets must all fit: one that never can leads, else the first. Of several flavors, the smallest gap leads."""
    by_set: dict[str | None, list[Reason]] = {}
    for reason in reasons:
        by_set.setdefault(reason.pod_set, []).append(reason)
    leads = [_nearest(found) for found in by_set.values()]
    return next((lead for lead in leads if lead.code in _NEVER), leads[0])


def _nearest(reasons: list[Reason]) -> Reason:
    waits = [reason for reason in reasons if reason.code not in _NEVER]
    sized = [(amounts.value(reason.short_by), reason) for reason in waits or reasons if reason.short_by]
    known = [(gap, reason) for gap, reason in sized if gap is not None]
    return min(known, key=lambda item: item[0])[1] if known else (waits or reasons)[0]


def _say(reason: Reason, several: bool) -> str:
    flavor = f" in flavor {quote(reason.flavor, 80)}" if reason.flavor else ""
    of = f" for {quote(reason.pod_set, 80)}" if reason.pod_set and several else ""
    resource = quote(reason.resource or "", 80)
    if reason.code == "WaitingForQuota":
        have = f" (asks for {reason.needed}, {reason.available} available)" if reason.available else ""
        return f"{reason.short_by} more {resource} needed{flavor}{of}{have}"
    if reason.code == "ExceedsMaxQuota":
        return f"{reason.needed} {resource} needed{flavor}{of}, more than its maximum of {reason.available}"
    if reason.code == "TopologyNotFree":
        return f"topology {quote(reason.flavor or '', 80)} has no free place of this shape{of}"
    if reason.taint:
        return f"flavor {quote(reason.flavor or '', 80)} has the taint {quote(reason.taint, 80)}, which the job does not tolerate{of}"
    if resource:
        return f"the queue offers no {resource}{of}"
    return f"flavor {quote(reason.flavor or '', 80)} does not match the node selector of the job{of}"


def _states(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    if "Not all pods are ready" in message:
        return Explanation("PodsNotReady", "the queue waits for all its pods to be ready")
    if "Kueue managed child job suspended" in message:
        return Explanation("HeldByKueue", "Kueue holds this job because its TrainJob is not admitted")
    by_reason = {
        "WaitingForQuota": "WaitingForQuota",
        "ExceedsMaxQuota": "ExceedsMaxQuota",
        "NoMatchingFlavor": "NoMatchingFlavor",
        "TopologyPlacementFailed": "TopologyNotFree",
        "WaitingForPreemptedWorkloads": "WaitingForPreemption",
    }.get(reason)
    if by_reason and source.startswith("workload"):
        return Explanation(by_reason, quote(message) or "no details were given")
    if reason == "Suspended" and source.startswith("workload"):
        return Explanation("QueueStopped", quote(message) or "its queue is stopped")
    return None
