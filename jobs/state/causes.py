"""Why pods are not placed or not created: the best of what pods, pod group and events say.

The cause is the message of the pod that has one, not the newest message: siblings only repeat that the gang was rejected.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from jobs.state import gang
from jobs.state.explain import Explanation, explain
from jobs.state.pods import Pod
from jobs.state.reading import condition, holds, moment, text
from jobs.state.view import Slot, View

# The earlier, the more it says about what is missing.
_ORDER = (
    ("PvcNotFound", "VolumeNotBound", "VolumeNodeAffinity"),
    (
        "InsufficientResources",
        "TooManyPods",
        "HostPortConflict",
        "PodAffinityMismatch",
        "TopologySpreadMismatch",
        "QueueAhead",
    ),
    (
        "NodeAffinityMismatch",
        "TaintNotTolerated",
        "NodeUnschedulable",
        "NoNodes",
        "QueueQuotaInsufficient",
        "ClusterOverused",
    ),
    ("SchedulerError", "PodGroupNotFound", "GangPermitTimeout", "SchedulingGated"),
    ("GangSiblingsMissing", "PodsNotCreated", "GangUnschedulable"),
    ("Unknown",),
    ("GangRejected", "GangBackoff", "WaitingForGang", "Scheduled"),
)
_RANK = {code: rank for rank, codes in enumerate(_ORDER) for code in codes}


def placement(view: View, slots: Iterable[Slot]) -> Explanation | None:
    """Return the best explanation why these slots have no machine, or None if nobody said anything."""
    waiting = [slot.alive for slot in slots if slot.alive and not slot.alive.placed]
    said = {*_from_pods(waiting), *_from_events(view, waiting)}
    return _best([*(explain(source, reason, message) for source, reason, message in said), *_from_group(view)])


def _best(found: list[Explanation]) -> Explanation | None:
    said = [why for why in found if why.known or why.raw]
    return min(said, key=_weight, default=None)


def _weight(why: Explanation) -> tuple[int, int, str]:
    return (_RANK.get(why.code, 4), -sum(reason.nodes or 0 for reason in why.reasons), why.clause)


def _from_pods(pods: list[Pod]) -> Iterator[tuple[str, str, str]]:
    """What the pods' own conditions say. Many pods say the same; each text is read once."""
    for pod in pods:
        if pod.unplaced:
            yield "pod PodScheduled=False", text(pod.unplaced, "reason"), text(pod.unplaced, "message")


def _from_group(view: View) -> Iterator[Explanation]:
    """What the pod group's own conditions say. One that is True says nothing about waiting, whatever its message is."""
    group = gang.pod_group(view)
    if not group:
        return
    way = gang.scheduler(view).name
    initially = condition(group, "PodGroupInitiallyScheduled") or condition(group, "PodGroupScheduled")
    if initially.get("status") == "False":
        context = {"min_count": view.needed, "pods_created": gang.created(view)}
        yield explain(
            "in-tree PodGroup PodGroupInitiallyScheduled=False",
            text(initially, "reason"),
            text(initially, "message"),
            context,
        )
    stuck, done = condition(group, "Unschedulable"), condition(group, "Scheduled")
    stuck_at, done_at = moment(stuck, "lastTransitionTime"), moment(done, "lastTransitionTime")
    over = holds(done) and stuck_at is not None and done_at is not None and done_at >= stuck_at
    if way == "volcano" and holds(stuck) and not over:
        yield explain("volcano PodGroup Unschedulable", text(stuck, "reason"), text(stuck, "message"))


def _from_events(view: View, pods: list[Pod]) -> Iterator[tuple[str, str, str]]:
    """What events say about exactly these pods."""
    for pod in pods:
        for event in view.events.about("Pod", pod.name, pod.uid):
            if event.reason == "FailedScheduling":
                yield "pod event FailedScheduling", event.reason, event.message


def queue_event(view: View, queue: str) -> Explanation | None:
    """Return the last reason why Volcano leaves the pod group in its queue; it exists only as an event."""
    name = text(view.gang, "podgroup")
    found = [
        explain("volcano PodGroup event", event.reason, event.message, {"queue": queue})
        for event in view.events.about("PodGroup", name)
        if event.reason == "Unschedulable"
    ]
    known = [why for why in found if why.known]
    return known[-1] if known else found[-1] if found else None


def creation(view: View, since: datetime | None = None) -> tuple[Explanation, str] | None:
    """Return why pods of this job's Jobs were refused (explanation and raw message), or None.

    Only events of exactly its own Jobs count, and only those since it was created or resumed (or since a given time).
    """
    start = since or view.began
    found = [
        (explain("job event FailedCreate", event.reason, event.message), event.message)
        for event in view.events.all
        if event.reason == "FailedCreate"
        and event.kind == "Job"
        and event.namespace in ("", view.namespace)
        and not (event.time and start and event.time < start)
        and view.is_own_job(event.name)
    ]
    known = [why for why in found if why[0].known]
    return known[-1] if known else found[-1] if found else None


def jobset_trouble(view: View) -> str:
    """Return what the JobSet controller complained about last (a Job, Service or claim it could not create), or nothing."""
    wanted = ("JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed")
    said = [event.message for event in view.events.about("JobSet", view.name) if event.reason in wanted]
    return said[-1] if said else ""
