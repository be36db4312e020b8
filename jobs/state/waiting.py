"""Steps 10 and 11: pods are missing, or have no machine."""

from datetime import datetime

from jobs.state import causes, gang, initializing, phases, unplaced
from jobs.state.codes import say
from jobs.state.explain import Explanation
from jobs.state.groups import Group
from jobs.state.model import Verdict
from jobs.state.reading import condition, moment, quote, text
from jobs.state.times import newest, oldest, words
from jobs.state.view import GRACE, Slot, View
from jobs.state.wording import after, created_of, placed_of, verb, what

# Why pods are refused -> code of the wait; what is not here leaves the job at PodsNotCreated.
_REFUSALS = {
    "NamespaceQuotaExceeded": "NamespaceQuotaExceeded",
    "QuotaNeedsResources": "AdmissionDenied",
    "AdmissionDenied": "AdmissionDenied",
    "PodSecurityDenied": "AdmissionDenied",
    "LimitRangeDenied": "AdmissionDenied",
    "PriorityClassMissing": "AdmissionDenied",
    "ServiceAccountMissing": "ServiceAccountMissing",
}


def decide(view: View) -> Verdict | None:
    """Return what the job waits for, or None when the minimum has machines."""
    return _not_created(view) or _not_placed(view)


def _not_created(view: View) -> Verdict | None:
    groups, needed, expected = view.members, view.needed, sum(group.count for group in view.members)
    if initializing.pending(view) and not initializing.training_here(view):
        groups = initializing.pending(view)
        needed = expected = sum(group.count for group in groups)
    here = sum(1 for slot in view.slots_in(groups) if slot.alive)
    if here >= needed:
        return None
    since = _since(view, groups)
    refusal = causes.creation(view)
    if refusal and refusal[0].code in _REFUSALS:
        return say(
            phases.WAITING,
            _REFUSALS[refusal[0].code],
            created=created_of(here, expected, what(groups)),
            detail=refusal[0].clause,
            since=since,
        )
    age = view.age(since)
    if age < GRACE and not refusal:
        recheck = (since or view.now) + GRACE
        return say(
            phases.CREATING,
            "CreatingPods",
            created=created_of(here, expected, what(groups)),
            since=since,
            recheck=recheck,
        )
    said = quote(refusal[1]) if refusal else quote(causes.jobset_trouble(view))
    return say(
        phases.WAITING,
        "PodsNotCreated",
        created=created_of(here, expected, what(groups)),
        age=words(age),
        detail=after(said) or ", and no reason is reported. Check the JobSet controller and the job's events",
        since=since,
        recheck=view.now + max(GRACE, age / 2),
    )


def _since(view: View, groups: tuple[Group, ...]) -> datetime | None:
    """Since when these pods could have been made: creation, resume, end of the initializers, restart, loss of one of them."""
    after_initializers = None if any(group.initializer for group in groups) else view.initialized_at
    restarted = moment(condition(view.jobset, "RestartingJobSet"), "lastTransitionTime")
    return newest(view.began, after_initializers, restarted)


def _not_placed(view: View) -> Verdict | None:
    have = gang.placed(view)
    if have >= view.needed:
        return None
    waiting = [slot for slot in view.member_slots if slot.alive and not slot.alive.placed]
    total, kind = sum(group.count for group in view.members), what(view.members)
    why = causes.placement(view, waiting)
    if any(slot.alive and slot.alive.gated for slot in waiting):
        return unplaced.verdict(waiting, total, kind, why)
    since = oldest(*(slot.alive.created for slot in waiting if slot.alive))
    queued = _volcano_queue(view, why, since)
    if queued:
        return queued
    silence = _silence(view, waiting, since)
    if view.gang:
        enough = "" if view.needed == total else f" ({view.needed} {verb(view.needed, 'is', 'are')} enough)"
        together = "" if total == 1 else f", and the gang starts only together{enough}"
        detail = after(why.cause) if why else silence
        placed = placed_of(have, total, kind)
        return say(phases.WAITING, "GangIncomplete", placed=placed, together=together, detail=detail, since=since)
    return unplaced.verdict(waiting, total, kind, why, silence)


def _volcano_queue(view: View, why: Explanation | None, since: datetime | None) -> Verdict | None:
    """Volcano has not taken the pod group out of its queue; the reason is told by an event only."""
    group = gang.pod_group(view)
    if gang.scheduler(view).name != "volcano" or text(group, "status", "phase") != "Pending":
        return None
    queue = text(view.record, "queue") or text(group, "spec", "queue") or "default"
    said = causes.queue_event(view, queue) or why
    return say(phases.QUEUED, "VolcanoQueue", queue=queue, detail=after(said.cause if said else ""), since=since)


def _silence(view: View, waiting: list[Slot], since: datetime | None) -> str:
    """Some waits are silent: a scheduler that does not run, a pod group that the scheduler does not see."""
    if any(slot.alive and slot.alive.unplaced for slot in waiting):
        return ": the scheduler gives no reason"
    if view.age(since or view.began) < GRACE:
        return ": the scheduler has not answered yet"
    names = sorted({slot.alive.scheduler for slot in waiting if slot.alive})
    return f": scheduler {', '.join(names)} has said nothing about them. Check that it runs"
