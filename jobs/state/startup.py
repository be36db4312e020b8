"""How a job came to run: the phases of its start, how long each took, who owns it and which node was last. Pure.

Each phase ends with a moment of the slowest member: pods made, machines found, images there, init containers done, containers started. What has
ended stays as it was noted, because pods and events go; a resume or a restart of all pods begins anew.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from jobs.state import phases
from jobs.state.model import StartupPhase, Verdict
from jobs.state.pods import Pod
from jobs.state.reading import Object, condition, moment, objects, text
from jobs.state.times import newest, oldest, parse, stamp
from jobs.state.view import Slot, View
from jobs.state.wording import who

QUEUED, PLACED, PULLING, INITIALIZING, STARTING = "queued", "placed", "pulling", "initializing", "starting"
FIRST_STEP = (
    "first_step"  # follows these; its end is the first report of the program, which is no object of the cluster
)
SCHEDULER, MACHINE, IMAGE, PROGRAM = "scheduler", "machine", "image", "program"
OWNERS = {
    QUEUED: SCHEDULER,
    PLACED: SCHEDULER,
    PULLING: IMAGE,
    INITIALIZING: PROGRAM,
    STARTING: MACHINE,
    FIRST_STEP: PROGRAM,
}
_PULL_FAULTS = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})

# Phases of a job that is suspended by its queue, not by a person.
_IN_A_QUEUE = (phases.QUEUED, phases.CREATING, phases.PREEMPTED)

# A moment that ends a phase: when, and who was last.
_End = tuple[datetime, str]


def startup(view: View, verdict: Verdict) -> tuple[StartupPhase, ...]:
    """Return the phases in their order. The last one has no `until` while it goes on; nothing follows it."""
    before = tuple(_kept(item) for item in objects(view.record, "state", "startup"))
    if verdict.phase in phases.FINISHED:
        return before
    if not view.seen or (view.suspended and verdict.phase not in _IN_A_QUEUE):
        return ()
    began = _began_in_queue(view, before) if view.queue else _began(view)
    if began is None:
        return ()
    fresh = _fresh(view, began)
    placed_since = view.scheduled_at is not None and view.scheduled_at >= began
    if placed_since and fresh[-1].until is None and fresh[-1].name in (QUEUED, PLACED):
        return tuple(phase for phase in before if phase.until is not None)  # it has started, and lost nodes since
    return _go_on(before, fresh)


def _go_on(before: tuple[StartupPhase, ...], fresh: tuple[StartupPhase, ...]) -> tuple[StartupPhase, ...]:
    """Keep what had ended in the same start: a pod that is made anew later does not begin it again."""
    if not before or before[0].since != fresh[0].since:
        return fresh
    over = tuple(phase for phase in before if phase.until is not None)
    done = {(phase.name, phase.what) for phase in over}
    rest = tuple(phase for phase in fresh if (phase.name, phase.what) not in done)
    last = fresh[-1]
    if over and last.until is None and (last.name, last.what) in done:
        return over  # it has passed that already
    order = [(phase.name, phase.what) for phase in fresh]
    passed = max((order.index(key) for key in done if key in order), default=-1)
    return (*over, *(phase for phase in rest if order.index((phase.name, phase.what)) > passed))


def _began(view: View) -> datetime | None:
    """When this start began: the submission, the last resume, or the restart of all pods."""
    accepted = moment(view.record, "accepted_at") if view.resumed_at is None else None
    restarted = moment(condition(view.jobset, "RestartingJobSet"), "lastTransitionTime") if view.attempt else None
    first = oldest(accepted, view.created_at) if view.resumed_at is None else view.began
    return newest(first, restarted)


def _began_in_queue(view: View, before: tuple[StartupPhase, ...]) -> datetime | None:
    """When it began to queue with Kueue, which suspends and resumes the job itself: its resume is the end of the wait, not the begin."""
    if view.suspended:
        held = condition(view.trainjob, "Suspended")
        since = moment(held, "lastTransitionTime") if held.get("status") == "True" else None
        requeued = moment(condition(view.workload, "Requeued"), "lastTransitionTime")
        return newest(oldest(moment(view.record, "accepted_at"), view.created_at), since, requeued)
    return parse(before[0].since) if before and not view.attempt else _began(view)


def _fresh(view: View, began: datetime) -> tuple[StartupPhase, ...]:
    ends: list[tuple[str, str, _End | None]] = []
    if view.initializers:
        ends += _by_initializers(view)
    members = [slot for slot in view.member_slots if slot.pod and slot.current]
    if not view.initializers:
        ends.append((QUEUED, "", _when_all(view, members, lambda pod: pod.created)))
    ends.append((PLACED, "", _when_all(view, members, _scheduled)))
    started = _when_all(view, members, _started)
    told, pulled = _images(view, members)
    if told:
        ends.append((PULLING, "", pulled))
    if any(slot.pod.inits for slot in members if slot.pod):
        ends.append((INITIALIZING, "", _when_all(view, members, _initialized)))
    ends.append((STARTING, "", started))
    return _chain(began, ends)


def _by_initializers(view: View) -> list[tuple[str, str, _End | None]]:
    """Initializers run before the first node is made: the job queues for their machines first."""
    slots = [slot for slot in view.slots_in(view.initializers) if slot.pod]
    everyone = len(slots) == sum(group.count for group in view.initializers)
    scheduled = _last((slot, _scheduled(slot.pod)) for slot in slots if slot.pod) if everyone else None
    done = everyone and all(slot.pod and slot.pod.succeeded for slot in slots)
    finished = _last((slot, slot.pod.finished) for slot in slots if slot.pod) if done else None
    if any(slot.pod and slot.current for slot in view.member_slots):  # their pods may be gone by now
        first = oldest(*(slot.pod.created for slot in view.member_slots if slot.pod))
        end = (first, "") if first else None
        scheduled, finished = scheduled or end, finished or end
    return [(QUEUED, "", scheduled), (INITIALIZING, "initializers", finished)]


def _chain(began: datetime, ends: list[tuple[str, str, _End | None]]) -> tuple[StartupPhase, ...]:
    found: list[StartupPhase] = []
    since = began
    for index, (name, what, end) in enumerate(ends):
        if end is None and not any(later for _, _, later in ends[index + 1 :]):
            found.append(StartupPhase(name, OWNERS[name], stamp(since), None, what=what))
            break
        if end is None:
            continue  # passed, and nobody noted when
        until = max(since, end[0])
        found.append(StartupPhase(name, OWNERS[name], stamp(since), stamp(until), last=end[1], what=what))
        since = until
    return tuple(found)


def _when_all(view: View, slots: list[Slot], time: Callable[[Pod], datetime | None]) -> _End | None:
    """When the slowest member got so far; None while fewer than are needed have."""
    there = [(slot, at) for slot in slots if slot.pod and (at := time(slot.pod)) is not None]
    if not there or len(there) < view.needed:
        return None
    if len(there) > view.needed:  # those beyond the minimum may come later
        there = sorted(there, key=lambda item: (item[1], who(item[0])))[: view.needed]
    return _last(there)


def _last(times: Iterable[tuple[Slot, datetime | None]]) -> _End | None:
    known = [(at, who(slot), slot) for slot, at in times if at is not None]
    if not known:
        return None
    at, name, slot = max(known, key=lambda item: (item[0], item[1]))
    machine = slot.pod.machine if slot.pod else None
    return at, f"{name} on {machine}" if machine else name


def _scheduled(pod: Pod) -> datetime | None:
    if not pod.was_placed:
        return None
    found = condition(pod.raw, "PodScheduled")
    told = moment(found, "lastTransitionTime") if found.get("status") == "True" else None
    return told or moment(pod.raw, "status", "startTime") or pod.created


def _initialized(pod: Pod) -> datetime | None:
    if not pod.inits:
        return _scheduled(pod)
    ends = [how.finished for container in pod.inits if (how := container.ended) and not how.bad]
    sidecars = sum(1 for container in pod.inits if container.state == "running" and container.ready)
    return newest(*ends, _scheduled(pod)) if len(ends) + sidecars == len(pod.inits) else None


def _started(pod: Pod) -> datetime | None:
    times = [container.started or (container.ended and container.ended.started) for container in pod.containers]
    return newest(*(at for at in times if at)) if times and all(times) else None


def _images(view: View, slots: list[Slot]) -> tuple[bool, _End | None]:
    """Whether the machines say anything about images, and when the last one was there; None while one is under way or does not come."""
    last: list[tuple[Slot, datetime | None]] = []
    under_way = told = False
    for pod in (slot.pod for slot in slots):
        if pod is None:
            continue
        said = [event for event in view.events.about("Pod", pod.name, pod.uid) if event.reason in ("Pulling", "Pulled")]
        missing = any(container.reason in _PULL_FAULTS for container in (*pod.inits, *pod.containers))
        told = told or bool(said) or missing
        under_way = under_way or missing or bool(said and said[-1].reason == "Pulling" and not _started(pod))
    for slot in slots if told and not under_way else ():
        assert slot.pod is not None
        said = view.events.about("Pod", slot.pod.name, slot.pod.uid)
        last += [(slot, event.time) for event in said if event.reason == "Pulled"]
    return told, _last(last)


def _kept(item: Object) -> StartupPhase:
    return StartupPhase(
        text(item, "name"),
        text(item, "owner"),
        stamp(parse(item.get("since"))),
        stamp(parse(item.get("until"))),
        last=text(item, "last"),
        what=text(item, "what"),
    )
