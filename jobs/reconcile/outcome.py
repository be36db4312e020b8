"""From a pass to what is written: the snapshot for `observe`, the row's columns, the TrainJob's status."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.models import TrainJob
from jobs.state import observe, phases
from jobs.state.model import JobState
from trainui.cluster import kinds

if TYPE_CHECKING:
    from jobs.reconcile.reconcile import Pass

Object = dict[str, Any]
REFUSED = "Refused"


def observed(this: "Pass", events: list[Object]) -> JobState:
    """Return the state of the job after a pass."""
    if this.findings and this.trainjob is None:
        return _never_created(this)
    snapshot = {
        "record": _record(this),
        "trainjob": _with_refusal(this),
        "jobset": this.mirror.one(kinds.JOB_SET, this.name),
        "jobs": this.mirror.all(kinds.JOB),
        "pods": this.mirror.all(kinds.POD),
        "podgroups": this.mirror.all(kinds.POD_GROUP, kinds.COSCHEDULING_POD_GROUP, kinds.VOLCANO_POD_GROUP),
        "workloads": [],
        "events": events,
    }
    return observe(snapshot, this.now)


def columns(this: "Pass", state: JobState, live: bool) -> dict[str, Any]:
    """Return the derived columns of the row."""
    job = this.job
    finished_at = _time(state.finished_at) or job.finished_at or (this.now if state.finished else None)
    return {
        "phase": state.phase,
        "code": state.code,
        "tone": state.tone,
        "sentence": state.sentence,
        "since": _time(state.since) or (job.since if job.phase == state.phase and job.since else this.now),
        "nodes_expected": state.counts.expected or job.nodes_expected,
        "nodes_ready": state.counts.ready,
        "scheduled_at": job.scheduled_at or _time(state.scheduled_at),
        "started_at": job.started_at or _time(state.started_at),
        "finished_at": finished_at if state.finished else None,
        "live": live,
        "reconciled_at": this.now,
    }


def status_patch(trainjob: Object, state: JobState, trainer_status: Object | None) -> Object | None:
    """Return the merge patch that makes the TrainJob's status true, or None when it already is.

    Only Suspended, Complete and Failed may stand in `conditions`: anything else breaks Kubeflow's SDK (kubeflow/sdk#803).
    """
    status = trainjob.get("status") or {}
    patch: Object = {}
    if list(state.conditions) != (status.get("conditions") or []):
        patch["conditions"] = list(state.conditions)
    if list(state.jobs_status) != (status.get("jobsStatus") or []) and state.jobs_status:
        patch["jobsStatus"] = list(state.jobs_status)
    if trainer_status and trainer_status != status.get("trainerStatus"):
        patch["trainerStatus"] = trainer_status
    return {"status": patch} if patch else None


def _record(this: "Pass") -> Object:
    job = this.job
    expected = this.detail.get("expected") or job.detail.expected
    return {
        "uid": job.uid,
        "expected": expected.get("replicated_jobs", []),
        "gang": expected.get("gang"),
        "runtime_exists": job.detail.runtime is not None or not this.trouble,
        "accepted_at": _text(job.created_at),
        "push_error": this.detail.get("push_error") if job.uid is None else None,
        "scheduled_at": _text(job.scheduled_at),
        "started_at": _text(job.started_at),
        "phase": job.phase,
        "code": job.code,
        "last_seen": _text(job.observed_at),
        "cancel_requested_by": _who(job) if job.cancel_requested_at else None,
        "suspended_by": None,
    }


def _who(job: TrainJob) -> str:
    return job.cancel_requested_by.get_username() if job.cancel_requested_by else "a deleted user"


def _with_refusal(this: "Pass") -> Object | None:
    """Return the TrainJob, with the condition Failed when it can never be built."""
    if this.trainjob is None or not this.findings:
        return this.trainjob
    message = " ".join(f"{f.path}: {f.message}" if f.path else f.message for f in this.findings)
    condition = {
        "type": "Failed",
        "status": "True",
        "reason": REFUSED,
        "message": message[:32000],
        "lastTransitionTime": _stamp(this.now),
    }
    status = this.trainjob.get("status") or {}
    others = [c for c in status.get("conditions") or [] if c["type"] != "Failed"]
    return this.trainjob | {"status": status | {"conditions": [*others, condition]}}


def _never_created(this: "Pass") -> JobState:
    sentence = "The cluster refused the job: " + " ".join(f.message for f in this.findings)
    return JobState(
        phases.FAILED,
        REFUSED,
        "error",
        sentence,
        since=_text(this.now),
        recheck_at=None,
        finished=True,
        finished_at=_text(this.now),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
