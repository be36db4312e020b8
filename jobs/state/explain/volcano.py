"""Messages of Volcano about pod groups, their queue and their pods."""

import re

from jobs.state.explain import scheduler
from jobs.state.explain.model import Explanation, Reason
from jobs.state.reading import Object, quote, text

_TASKS = re.compile(r"(?P<missing>\d+)/(?P<tasks>\d+) tasks in gang unschedulable: (?P<fit>.*)", re.DOTALL)
_MIN = re.compile(r"(?P<min>\d+) minAvailable")
_ORIGIN = re.compile(r"Origin reason is (?P<pod>[^:\s]+): (?P<why>.*)", re.DOTALL)
_ASSIGNABLE = re.compile(r"can possibly be assigned to (?P<machine>[^\s,]+)")
_QUOTA = re.compile(r"insufficient (?P<resource>[\w./-]+)")
_OVERUSED = re.compile(r"overused (?P<resource>[\w./-]+)")


def explain(source: str, reason: str, message: str, context: Object) -> Explanation | None:
    """Return what a message of Volcano says, or None if it is none."""
    tasks = _TASKS.search(message)
    if tasks:
        return _gang(tasks, message, context)
    lower = message.lower()
    if "queue resource quota insufficient" in lower:
        return _queue("QueueQuotaInsufficient", _QUOTA.findall(lower.partition("insufficient:")[2]), context)
    if "resource in cluster is overused" in lower:
        return _queue("ClusterOverused", _OVERUSED.findall(lower.partition("overused:")[2]), context)
    place = _ASSIGNABLE.search(message)
    if place or (reason == "Schedulable" and "minAvailable" in message):
        where = f" on {quote(place['machine'], 80)}" if place else ""
        return Explanation("WaitingForGang", f"this pod would fit{where}; it waits for the others of its gang")
    if reason.startswith("tasks in gang are ready") or message.startswith("pod group is ready"):
        return Explanation("Scheduled", "the gang has its machines")
    return None


def _gang(tasks: re.Match[str], message: str, context: Object) -> Explanation:
    """`n/m tasks`: n = missing to the minimum, m = pods that Volcano sees. n > m means that pods are not created."""
    missing, seen = int(tasks["missing"]), int(tasks["tasks"])
    found = _MIN.search(message)
    least = int(found["min"]) if found else max(missing, seen)
    gang = {"min": least, "missing": missing, "tasks": seen}
    if missing > seen:
        created = "none of the" if seen == 0 else f"only {seen} of the"
        clause = (
            f"{created} {least} pods that must run together {'is' if seen == 1 else 'are'} created ({seen} of {least})"
        )
        return Explanation(
            "PodsNotCreated",
            clause,
            needed=str(least),
            available=str(seen),
            short_by=str(max(0, least - seen)),
            gang=gang,
        )
    origin = _ORIGIN.search(message)
    why = scheduler.explain("pod", "", origin["why"], context) if origin else None
    if why is None:
        said = f": {quote(origin['why'], 160)}" if origin else ""
        return Explanation(
            "GangRejected", f"{missing} of the {least} pods that must run together find no machine{said}", gang=gang
        )
    clause = f"{missing} of {least} pods of the gang find no machine: {why.clause}"
    return Explanation(
        why.code,
        clause,
        resource=why.resource,
        short_by=why.short_by,
        reasons=why.reasons,
        gang=gang,
        inner=why.clause,
        nodes_total=why.nodes_total,
    )


def _queue(code: str, resources: list[str], context: Object) -> Explanation:
    queue = text(context, "queue")
    names = ", ".join(resources) or "resources"
    named = f" {quote(queue, 80)}" if queue else ""
    clause = (
        f"queue{named} has used up its share of {names}"
        if code == "QueueQuotaInsufficient"
        else f"the cluster is overbooked in {names}, so nothing more is taken up{f' from queue{named}' if queue else ''}"
    )
    reasons = tuple(Reason(code, None, resource=resource) for resource in resources)
    return Explanation(code, clause, resource=resources[0] if resources else None, reasons=reasons, queue=queue or None)
