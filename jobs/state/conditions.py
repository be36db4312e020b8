"""What `status.conditions` and `status.jobsStatus` of the TrainJob must become.

Only Suspended, Complete and Failed: any other type makes Kubeflow's SDK report a running job as Created (kubeflow/sdk#803). Unlike
upstream v2.3.0, Failed is never taken back (kubeflow/trainer#3779), and a suspend after the end does not add Suspended
(kubeflow/trainer#3666: readers that look at the last condition would see a finished job as suspended).
"""

from typing import Any

from jobs.state import phases
from jobs.state.model import Verdict
from jobs.state.reading import Object, condition, holds, number, objects, quote, text
from jobs.state.terminal import DEADLINE_MESSAGE, deadline
from jobs.state.times import stamp
from jobs.state.view import View

TYPES = ("Suspended", "Complete", "Failed")


def wanted(view: View, verdict: Verdict) -> tuple[dict[str, Any], ...]:
    """Return the conditions as they must be written, the terminal one last. Unchanged ones keep their time of transition."""
    if not view.seen:
        return ()
    suspended = _plain(condition(view.trainjob, "Suspended"))
    kept = [_plain(condition(view.trainjob, kind)) for kind in ("Complete", "Failed")]
    ended = [item for item in kept if item and item["status"] == "True"]
    fresh = [] if ended else _terminal(view, verdict)
    if not ended and not fresh and verdict.phase != phases.DELETING:
        suspended = _suspended(view, suspended)
    replaced = {item["type"] for item in fresh}
    others = [item for item in kept if item and item not in ended and item["type"] not in replaced]
    return tuple(item for item in [suspended, *others, *ended, *fresh] if item)


def unknown(view: View) -> tuple[str, ...]:
    """Return the types of conditions that nobody has told us about; they change nothing."""
    types = {text(item, "type") for item in objects(view.trainjob, "status", "conditions")}
    return tuple(sorted(types - {*TYPES, "Created", ""}))


def jobs_status(view: View) -> tuple[dict[str, Any], ...]:
    """Return upstream's jobsStatus, which counts Jobs: a copy of the JobSet's replicatedJobsStatus, by name.

    Without a JobSet, what the TrainJob holds already stays.
    """
    source = (view.jobset, "replicatedJobsStatus") if view.jobset else (view.trainjob, "jobsStatus")
    keys = ("ready", "succeeded", "failed", "active", "suspended")
    entries = [
        {"name": text(item, "name"), **{key: number(item, key) for key in keys}}
        for item in objects(source[0], "status", source[1])
        if text(item, "name")
    ]
    return tuple(sorted(entries, key=lambda entry: str(entry["name"])))


def _plain(item: Object) -> dict[str, Any] | None:
    if not item:
        return None
    keys = ("type", "status", "reason", "message", "lastTransitionTime", "observedGeneration")
    return {key: item[key] for key in keys if key in item} | {
        "type": text(item, "type"),
        "status": text(item, "status"),
    }


def _made(view: View, kind: str, status: str, reason: str, message: str, at: str | None = None) -> dict[str, Any]:
    time = at or stamp(view.now.replace(microsecond=0))
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time}


def _suspended(view: View, now: dict[str, Any] | None) -> dict[str, Any] | None:
    if view.suspended:
        if now and now["status"] == "True":
            return now
        return _made(view, "Suspended", "True", "Suspended", "TrainJob is suspended")
    if now and now["status"] == "True":
        return _made(view, "Suspended", "False", "Resumed", "TrainJob is resumed")
    return now


def _terminal(view: View, verdict: Verdict) -> list[dict[str, Any]]:
    """The terminal condition that follows from the JobSet, the deadline or our refusal; copied as upstream copies it."""
    if verdict.phase not in (phases.SUCCEEDED, phases.FAILED):
        return []
    completed, failed = condition(view.jobset, "Completed"), condition(view.jobset, "Failed")
    if verdict.phase == phases.SUCCEEDED:
        reason = text(completed, "reason") or "AllJobsCompleted"
        message = text(completed, "message") or "jobset completed successfully"
        return [_made(view, "Complete", "True", reason, message, text(completed, "lastTransitionTime"))]
    if holds(failed):
        return [
            _made(
                view,
                "Failed",
                "True",
                text(failed, "reason") or "FailedJobs",
                text(failed, "message"),
                text(failed, "lastTransitionTime"),
            )
        ]
    if verdict.code == "Refused":
        return [_made(view, "Failed", "True", "Refused", quote(verdict.sentence, 900), stamp(verdict.since))]
    if verdict.code == "DeadlineExceeded":
        return [_made(view, "Failed", "True", "DeadlineExceeded", DEADLINE_MESSAGE, stamp(deadline(view)))]
    return [_made(view, "Failed", "True", "FailedJobs", quote(verdict.sentence, 900), stamp(verdict.since))]
