"""Step 1: the TrainJob is not in the cluster, or another one stands in its place.

Absence proves nothing before a uid was seen: until then the submission waits here.
"""

import re
from datetime import datetime, timedelta

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.memory import kept
from jobs.state.model import Verdict
from jobs.state.reading import MAX_ERROR, Object, mapping, moment, number, quote, text
from jobs.state.times import words
from jobs.state.view import View

_SILENT = re.compile(
    r"refused|timed? ?out|unreachable|no route|resol|reset|\bEOF\b|unavailable|\b50[234]\b|connect|handshake|aborted",
    re.IGNORECASE,
)
SOON = timedelta(seconds=10)


def decide(view: View) -> Verdict | None:
    """Return what to say of a job whose TrainJob is not there, or None if it is."""
    if view.seen:
        return None
    if text(view.record, "phase") in phases.FINISHED:
        return kept(view)
    if cancelled(view):
        never = "" if view.recorded_uid else " before it reached the cluster; nothing was created"
        return say(phases.CANCELLED, "CancelledByUser", by=canceller(view), detail=never, since=_cancelled_at(view))
    if not view.recorded_uid:
        return refused(view) or _awaiting(view)
    if view.trainjob:
        return say(phases.LOST, "Replaced", since=view.created_at)
    seen = moment(view.record, "last_seen")
    ago = f"; it was last seen {words(view.age(seen))} ago" if seen else ""
    return say(phases.LOST, "DeletedExternally", seen=ago, since=seen)


def cancelled(view: View) -> bool:
    """Return whether somebody asked us to cancel the job."""
    return bool(view.record.get("cancel_requested_by") or view.record.get("cancel_requested_at"))


def canceller(view: View) -> str:
    """Return who asked us to cancel the job."""
    return text(view.record, "cancel_requested_by") or "its owner"


def refused(view: View) -> Verdict | None:
    """Return Failed for a job that can never be built: our own finding, or the API server's 422 on the submission."""
    error = mapping(view.record, "push_error")
    ours = view.record.get("refused")
    said = text(ours) or text(ours, "message") or (_said(error) if number(error, "status") == 422 else "")
    if not ours and not said:
        return None
    at = moment(ours, "time") or moment(error, "time") or view.created_at
    return say(phases.FAILED, "Refused", detail=quote(said) or "its specification is not valid", since=at)


def _awaiting(view: View) -> Verdict:
    accepted = moment(view.record, "accepted_at")
    age = view.age(accepted)
    error = mapping(view.record, "push_error")
    if not error:
        state = (
            "it is on its way to the cluster."
            if age < 6 * SOON
            else "it has not been sent to the cluster yet. Check that a worker runs."
        )
    else:
        said = quote(_said(error), MAX_ERROR)
        # The words of an answer may hold any name: a job `super-resolution` is no name that cannot be resolved.
        silent = error.get("answered") is not True and (not said or _SILENT.search(said))
        answer = "the cluster does not answer" if silent else "the cluster has not taken it yet"
        tries = f"{number(error, 'attempts')} tries, last: " if number(error, "attempts") > 1 else ""
        state = f"{answer} ({tries}{said or 'no answer'}). It is sent again on its own."
    recheck = accepted + 6 * SOON if accepted and age < 6 * SOON else view.now + max(6 * SOON, age / 2)
    return say(phases.CREATING, "AwaitingCluster", age=words(age), state=state, since=accepted, recheck=recheck)


def _said(error: Object) -> str:
    return text(error, "text") or text(error, "message")


def _cancelled_at(view: View) -> datetime | None:
    return moment(view.record, "cancel_requested_at")
