"""Messages of kube-scheduler (plain and its own gangs) and of scheduler-plugins' Coscheduling."""

import re
from dataclasses import replace
from decimal import Decimal

from jobs.state.explain import machines
from jobs.state.explain.model import Explanation, Reason
from jobs.state.reading import Object, number, quote
from runtimes.spec.quantities import format_quantity, is_byte_resource

_SIBLINGS = re.compile(
    r"cannot find enough sibling pods, current pods number: (?P<here>\d+), minMember of group: (?P<min>\d+)"
)
_REJECTED = re.compile(r"gets rejected due to Pod (?P<pod>\S+) is unschedulable")
_TIMEOUT = re.compile(r"rejected due to timeout after waiting (?P<time>\S+) at plugin (?P<plugin>\w+)")
_CLAIM = re.compile(
    r'persistentvolumeclaim "(?P<claim>[^"]+)" (?P<how>not found|is being deleted|bound to non-existent)'
)
_MIN_COUNT = re.compile(
    r"minCount \((?P<min>\d+)\) cannot be satisfied: (?P<fit>\d+) scheduled, (?P<rest>\d+) remaining"
)
_OF_GROUP = re.compile(r"(?P<placed>\d+) of (?P<min>\d+) pods of the group could be placed")
_SCHEDULERS = re.compile(r'same \.spec\.schedulerName set, got: "(?P<a>[^"]*)" and "(?P<b>[^"]*)"')
_GAP = re.compile(r"(?P<resource>[\w./-]+):\{\{(?P<value>-?\d+) (?P<scale>-?\d+)\}")
_PLUGIN = re.compile(r'running (?P<stage>\w+) plugin "(?P<plugin>\w+)": (?P<said>.*)', re.DOTALL)
_VICTIMS = re.compile(r"preempting (?P<victims>\d+) victims?")


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a scheduler's message about a pod or a pod group says, or None if it is none."""
    for reader in (_gang, _volumes, _gates, _counted, _gap, _others, _echo):
        found = reader(message, reason, context)
        if found:
            return _with_group(found, message, context)
    return None


def _gang(message: str, reason: str, context: Object) -> Explanation | None:
    siblings = _SIBLINGS.search(message)
    if siblings:
        here, least = int(siblings["here"]), int(siblings["min"])
        return Explanation(
            "GangSiblingsMissing",
            f"only {here} of the {least} pods that must run together are created",
            needed=str(least),
            available=str(here),
            short_by=str(max(0, least - here)),
            gang={"min": least, "present": here},
            nodes_total=_total(message),
        )
    if "waiting for minCount pods" in message:
        least, here = number(context, "min_count"), number(context, "pods_created")
        clause = (
            f"only {here} of the {least} pods of the gang are created"
            if least
            else "not all pods of the gang are created yet"
        )
        return Explanation("GangSiblingsMissing", clause)
    if "failed recently" in message:
        return Explanation(
            "GangBackoff", "the gang did not fit recently and is tried again in a moment", nodes_total=_total(message)
        )
    return None


def _volumes(message: str, reason: str, context: Object) -> Explanation | None:
    claim = _CLAIM.search(message)
    total = _total(message)
    if claim and claim["how"] == "not found":
        return Explanation("PvcNotFound", f"the volume claim {quote(claim['claim'])} does not exist", nodes_total=total)
    if claim:
        return Explanation(
            "VolumeNotBound", f"the volume claim {quote(claim['claim'])} {claim['how']}", nodes_total=total
        )
    if "unbound immediate PersistentVolumeClaims" in message:
        return Explanation(
            "VolumeNotBound",
            "a volume claim (PersistentVolumeClaim) of the job is not bound to a volume yet",
            nodes_total=total,
        )
    plugin = _PLUGIN.search(message)
    if plugin and plugin["plugin"] == "VolumeBinding":
        return Explanation(
            "VolumeNotBound", f"a volume claim of the job could not be bound: {quote(plugin['said'], 160)}"
        )
    if plugin:
        return Explanation(
            "SchedulerError", f"the scheduler failed in {plugin['plugin']}: {quote(plugin['said'], 160)}"
        )
    return None


def _gates(message: str, reason: str, context: Object) -> Explanation | None:
    if "due to gated pods" in message:
        return Explanation(
            "SchedulingGated",
            "other pods of the gang are still held back by a scheduling gate",
            nodes_total=_total(message),
        )
    if reason == "SchedulingGated" or "non-empty scheduling gates" in message:
        gates = context.get("gates")
        names = ", ".join(quote(str(gate), 80) for gate in gates) if isinstance(gates, list | tuple) else ""
        return Explanation("SchedulingGated", f"a scheduling gate holds it back{f' ({names})' if names else ''}")
    return None


def _counted(message: str, reason: str, context: Object) -> Explanation | None:
    found = machines.read(message)
    if found is None or found.lead is None:
        return None
    lead = found.lead
    clause = found.clause
    timeout = _TIMEOUT.search(message)
    if lead.code == "GangPermitTimeout" and timeout:
        clause = _timed_out(timeout["time"])
    elif lead.code == "PodGroupNotFound":
        clause = "the scheduler does not find the pod group of the job"
    elif lead.code == "GangRejected":
        clause = "the gang does not fit as a whole"
    victims = _VICTIMS.search(message)
    if victims:
        clause += f"; room is being made by preempting {victims['victims']} of lower priority"
    return Explanation(lead.code, clause, resource=lead.resource, reasons=found.reasons, nodes_total=found.total)


def _gap(message: str, reason: str, context: Object) -> Explanation | None:
    """Coscheduling's check of the whole group against the whole cluster prints Go's view of quantities."""
    if "resource gap:" not in message:
        return None
    reasons = []
    for gap in _GAP.finditer(message.partition("resource gap:")[2]):
        amount = Decimal(gap["value"]).scaleb(int(gap["scale"]))
        short = format_quantity(amount, binary=is_byte_resource(gap["resource"]))
        reasons.append(Reason("InsufficientResources", None, resource=gap["resource"], short_by=short))
    if not reasons:
        return None
    lead = reasons[0]
    clause = "the whole cluster has too little free: " + ", ".join(
        f"{r.short_by} more {r.resource} needed" for r in reasons
    )
    return Explanation(
        "InsufficientResources",
        clause,
        resource=lead.resource,
        short_by=lead.short_by,
        reasons=tuple(reasons),
        nodes_total=_total(message),
    )


def _others(message: str, reason: str, context: Object) -> Explanation | None:
    if "no nodes available to schedule pods" in message:
        return Explanation("NoNodes", "the cluster has no nodes (machines) to place it on", nodes_total=0)
    names = _SCHEDULERS.search(message)
    if names:
        return Explanation(
            "SchedulerError",
            f"the pods of the gang name different schedulers: {quote(names['a'], 80)} and {quote(names['b'], 80)}",
        )
    timeout = _TIMEOUT.search(message)
    if timeout:
        return Explanation("GangPermitTimeout", _timed_out(timeout["time"]))
    if "skip schedule deleting pod" in message:
        return Explanation("PodBeingDeleted", "the pod is being deleted and is not placed any more")
    if "ongoing preemption" in message:
        return Explanation("GangRejected", "room is being made by preempting jobs of lower priority")
    return None


def _echo(message: str, reason: str, context: Object) -> Explanation | None:
    rejected = _REJECTED.search(message)
    if rejected:
        return Explanation(
            "GangRejected",
            f"the gang does not fit because pod {quote(rejected['pod'])} finds no machine",
            nodes_total=_total(message),
        )
    least = _MIN_COUNT.search(message)
    if least:
        fit, need, rest = int(least["fit"]), int(least["min"]), int(least["rest"])
        untried = f" ({rest} not tried yet)" if rest else ""
        clause = f"only {fit} of the {need} pods that must run together would fit{untried}"
        return Explanation("GangRejected", clause, needed=str(need), gang={"min": need, "placed": fit})
    if "pod group is unschedulable" in message:
        return Explanation("GangRejected", "the gang does not fit as a whole")
    if reason == "SchedulerError" and message.strip():
        return Explanation("SchedulerError", f"the scheduler failed: {quote(message, 200)}")
    return None


def _with_group(found: Explanation, message: str, context: Object) -> Explanation:
    """Add how many pods of the group would fit, where an in-tree group's message says so."""
    part = _OF_GROUP.search(message)
    if not part or found.gang:
        return found
    least = number(context, "min_count") or int(part["min"])
    clause = f"{part['placed']} of {least} pods of the gang could be placed: {found.clause}"
    return replace(found, clause=clause, inner=found.clause, gang={"min": least, "placed": int(part["placed"])})


def _timed_out(time: str) -> str:
    return f"the rest of the gang did not get machines within {quote(time, 40)}, so the places that were held are given up and all is tried again"


def _total(message: str) -> int | None:
    found = machines.read(message)
    return found.total if found else None
