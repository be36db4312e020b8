"""Why pods are not placed or not created: the best of what pods, pod group and events say.

The cause is the message of the pod that has one, not the newest message: siblings only repeat that the gang was rejected.
"""

from collections.abc import Iterable, Iterator

from jobs.state import gang
from jobs.state.explain import Explanation, explain
from jobs.state.reading import condition, holds, moment, objects, text
from jobs.state.view import Slot, View

# The earlier, the more it says about what is missing.
_ORDER = (
    ("PvcNotFound", "VolumeNotBound", "VolumeNodeAffinity"),
    ("InsufficientResources", "TooManyPods", "HostPortConflict", "PodAffinityMismatch", "TopologySpreadMismatch"),
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
    waiting = [slot for slot in slots if slot.alive and not slot.alive.placed]
    return _best([*_from_pods(waiting), *_from_group(view), *_from_events(view, waiting)])


def _best(found: list[Explanation]) -> Explanation | None:
    said = [why for why in found if why.known or why.raw]
    return min(said, key=_weight, default=None)


def _weight(why: Explanation) -> tuple[int, int, str]:
    return (_RANK.get(why.code, 4), -sum(reason.nodes or 0 for reason in why.reasons), why.clause)


def _from_pods(slots: list[Slot]) -> Iterator[Explanation]:
    for slot in slots:
        said = slot.alive.unplaced if slot.alive else {}
        if said:
            yield explain("pod PodScheduled=False", text(said, "reason"), text(said, "message"))


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


def _from_events(view: View, slots: list[Slot]) -> Iterator[Explanation]:
    """What events say about exactly these pods, since they were created."""
    for slot in slots:
        pod = slot.alive
        if pod is None:
            continue
        for event in view.events:
            if event.reason == "FailedScheduling" and event.about("Pod", view.namespace, pod.name, pod.uid):
                yield explain("pod event FailedScheduling", event.reason, event.message)


def queue_event(view: View, queue: str) -> Explanation | None:
    """Return the last reason why Volcano leaves the pod group in its queue; it exists only as an event."""
    name = text(view.gang, "podgroup")
    found = [
        explain("volcano PodGroup event", event.reason, event.message, {"queue": queue})
        for event in view.events
        if event.reason == "Unschedulable" and event.about("PodGroup", view.namespace, name)
    ]
    known = [why for why in found if why.known]
    return known[-1] if known else found[-1] if found else None


def creation(view: View) -> tuple[Explanation, str] | None:
    """Return why pods of this job's Jobs were refused (explanation and raw message), or None.

    Only events of exactly its own Jobs count, and only those since it was created or resumed.
    """
    found = []
    for event in view.events:
        late = not (event.time and view.began and event.time < view.began)
        if event.reason == "FailedCreate" and event.kind == "Job" and event.namespace in ("", view.namespace) and late:
            if view.is_own_job(event.name):
                found.append((explain("job event FailedCreate", event.reason, event.message), event.message))
    known = [why for why in found if why[0].known]
    return known[-1] if known else found[-1] if found else None


def jobset_trouble(view: View) -> str:
    """Return what the JobSet controller complained about last (a Job, Service or claim it could not create), or nothing."""
    wanted = ("JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed")
    said = [e.message for e in view.events if e.reason in wanted and e.about("JobSet", view.namespace, view.name)]
    return said[-1] if said else ""


def has_status(view: View) -> bool:
    """Return whether any scheduler has said anything about the pods that wait."""
    return any(
        objects(slot.alive.raw, "status", "conditions")
        for slot in view.member_slots
        if slot.alive and not slot.alive.placed
    )
