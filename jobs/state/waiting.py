"""Steps 10 and 11: pods are missing, or have no machine."""

from datetime import datetime

from jobs.state import causes, gang, initializing, phases
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.reading import condition, moment, quote, text
from jobs.state.times import newest, oldest, words
from jobs.state.view import GRACE, Group, View
from jobs.state.wording import after, what

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
    if initializing.pending(view) and not any(slot.pod and slot.current for slot in view.slots_in(view.training)):
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
            created=here,
            needed=expected,
            what=what(groups),
            detail=refusal[0].clause,
            since=since,
        )
    age = view.age(since)
    if age < GRACE and not refusal:
        recheck = (since or view.now) + GRACE
        return say(
            phases.CREATING,
            "CreatingPods",
            created=here,
            needed=expected,
            what=what(groups),
            since=since,
            recheck=recheck,
        )
    said = quote(refusal[1]) if refusal else quote(causes.jobset_trouble(view))
    return say(
        phases.WAITING,
        "PodsNotCreated",
        created=here,
        needed=expected,
        what=what(groups),
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
    total = sum(group.count for group in view.members)
    why = causes.placement(view, waiting)
    clause = why.clause if why else ""
    if any(slot.alive and slot.alive.gated for slot in waiting):
        return initializing.unplaced(view, waiting, total, what(view.members), "SchedulingGated", clause)
    since = oldest(*(slot.alive.created for slot in waiting if slot.alive))
    group = gang.pod_group(view)
    if gang.scheduler(view).name == "volcano" and text(group, "status", "phase") == "Pending":
        queue = text(view.record, "queue") or text(group, "spec", "queue") or "default"
        said = causes.queue_event(view, queue)
        return say(
            phases.QUEUED, "VolcanoQueue", queue=queue, detail=after(said.clause if said else clause), since=since
        )
    detail = after(clause) or _silence(view, since)
    if view.gang:
        return say(
            phases.WAITING,
            "GangIncomplete",
            placed=have,
            needed=total,
            enough=_enough(view, total),
            detail=detail,
            since=since,
        )
    code = why.code if why else ""
    if not clause:
        return say(
            phases.WAITING,
            "Unschedulable",
            count=len(waiting),
            needed=total,
            what=what(view.members),
            detail=detail,
            since=since,
        )
    return initializing.unplaced(view, waiting, total, what(view.members), code, clause)


def _enough(view: View, total: int) -> str:
    return "" if view.needed == total else f" ({view.needed} are enough)"


def _silence(view: View, since: datetime | None) -> str:
    """Some waits are silent: a scheduler that does not run, a pod group that the scheduler does not see."""
    if causes.has_status(view) or view.age(since or view.began) < GRACE:
        return ": the scheduler has not answered yet"
    names = sorted({slot.alive.scheduler for slot in view.member_slots if slot.alive and not slot.alive.placed})
    return f": scheduler {', '.join(names)} has said nothing about them. Check that it runs"
