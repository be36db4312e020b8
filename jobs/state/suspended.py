"""Step 3: the job is suspended: by a person, or by Kueue that holds it in its queue."""

from datetime import datetime

from jobs.state import kueue, phases
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.reading import condition, holds, moment, text
from jobs.state.times import words
from jobs.state.view import View
from jobs.state.wording import count, verb


def decide(view: View) -> Verdict | None:
    """Return why a suspended job does not run, or None for one that is not suspended."""
    if not view.suspended:
        return None
    preempted = kueue.preempted(view)
    if preempted:
        return preempted
    since = _suspended_at(view)
    live = sum(1 for pod in view.pods if not pod.over)
    if live:
        by = text(view.record, "suspended_by")
        return say(
            phases.SUSPENDING,
            "PodsTerminating",
            pods=f"{count(live, 'pod')} {verb(live, 'is', 'are')}",
            by=f" by {by}" if by else "",
            since=since,
        )
    if view.workload:
        return kueue.verdict(view)
    if view.queue:
        age = view.age(view.began)
        return say(phases.QUEUED, "AwaitingKueue", queue=view.queue, age=f" {words(age)} ago", since=view.began)
    by = text(view.record, "suspended_by") or "its TrainJob (spec.suspend is true)"
    return say(phases.SUSPENDED, "SuspendedByUser", by=by, since=since)


def _suspended_at(view: View) -> datetime | None:
    suspended = condition(view.trainjob, "Suspended")
    return moment(suspended, "lastTransitionTime") if holds(suspended) else None
