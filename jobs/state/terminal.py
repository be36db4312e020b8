"""Step 2: the job has ended, or is being deleted. What has ended stays ended, whatever is deleted or suspended later."""

from datetime import datetime, timedelta

from jobs.state import failure, phases
from jobs.state.cluster_gone import cancelled, canceller, refused
from jobs.state.codes import say
from jobs.state.memory import kept
from jobs.state.model import Verdict
from jobs.state.reading import condition, dig, holds, moment, number, text
from jobs.state.times import words
from jobs.state.view import View
from jobs.state.wording import count, listed

# A deletion that takes longer waits for somebody.
SLOW = timedelta(minutes=5)
DEADLINE_MESSAGE = "TrainJob exceeded its active deadline"


def decide(view: View) -> Verdict | None:
    """Return how the job ended, or that it is being deleted, or None while it goes on."""
    complete, failed = condition(view.trainjob, "Complete"), condition(view.trainjob, "Failed")
    if holds(complete):
        return _completed(view, moment(complete, "lastTransitionTime"))
    if holds(failed):
        return failure.verdict(
            view, text(failed, "reason"), text(failed, "message"), moment(failed, "lastTransitionTime")
        )
    if text(view.record, "phase") in (phases.SUCCEEDED, phases.FAILED):
        return kept(view)
    return _deleting(view) or refused(view) or _jobset(view) or _deadline(view)


def _completed(view: View, at: datetime | None) -> Verdict:
    started = moment(view.record, "started_at")
    took = f" after {words(at - started)}" if at and started and at > started else ""
    nodes = sum(group.count for group in view.ranked)
    summary = f"{'The node' if nodes == 1 else f'All {nodes} nodes' if nodes else 'All nodes'} finished{took}."
    return say(phases.SUCCEEDED, "Completed", summary=summary, since=at)


def _deleting(view: View) -> Verdict | None:
    going = moment(view.trainjob, "metadata", "deletionTimestamp")
    if not dig(view.trainjob, "metadata", "deletionTimestamp") and not cancelled(view):
        return None
    by = f" because {canceller(view)} cancelled it" if cancelled(view) else " from outside trainui"
    since = going or moment(view.record, "cancel_requested_at")
    recheck = since + SLOW if since and view.now < since + SLOW else None
    return say(phases.DELETING, "BeingDeleted", by=by, detail=_still(view, since), since=since, recheck=recheck)


def _still(view: View, since: datetime | None) -> str:
    """What a deletion waits for: pods that stop, or finalizers of somebody who does not come back."""
    live = sum(1 for pod in view.pods if not pod.over)
    if live:
        return f"; {count(live, 'pod')} still to stop"
    finalizers = dig(view.trainjob, "metadata", "finalizers")
    names = sorted(str(name) for name in finalizers) if isinstance(finalizers, list) else []
    slow = view.age(since) >= SLOW and names
    return (
        f"; for {words(view.age(since))} it has been waiting for the finalizer{'s' if len(names) > 1 else ''} {listed(names)}"
        if slow
        else ""
    )


def _jobset(view: View) -> Verdict | None:
    """The JobSet says it before the TrainJob's own condition is written."""
    completed, failed = condition(view.jobset, "Completed"), condition(view.jobset, "Failed")
    if holds(completed):
        return _completed(view, moment(completed, "lastTransitionTime"))
    if holds(failed):
        return failure.verdict(
            view, text(failed, "reason"), text(failed, "message"), moment(failed, "lastTransitionTime")
        )
    return None


def deadline(view: View) -> datetime | None:
    """Return when the job's own deadline passes, if it has one that runs.

    A suspended job's clock stands still and starts anew with the transition of the condition Suspended, which we write: it is to come yet.
    """
    seconds = number(view.trainjob, "spec", "activeDeadlineSeconds")
    held = view.suspended or holds(condition(view.trainjob, "Suspended"))
    if not seconds or held or not view.began or text(view.record, "reconciler") == "kubeflow":
        return None
    return view.began + timedelta(seconds=seconds)


def _deadline(view: View) -> Verdict | None:
    ends = deadline(view)
    if ends is None or view.now < ends:
        return None
    return failure.verdict(view, "DeadlineExceeded", DEADLINE_MESSAGE, ends)
