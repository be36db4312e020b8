"""From a pass to what is written: the snapshot for `observe`, the row's columns, the TrainJob's status."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from jobs.reconcile.marks import JOB_SET_NAME
from jobs.spec.masking import mask_text
from jobs.state import observe, phases
from jobs.state.model import JobState
from trainui.accounts.models import User
from trainui.claimed import claimed
from trainui.cluster import kinds
from trainui.cluster.errors import ClusterError

if TYPE_CHECKING:
    from jobs.reconcile.reconcile import Pass

Object = dict[str, Any]


def observed(this: "Pass", events: list[Object]) -> JobState:
    """Return the state of the job after a pass. A failure is judged by pods read now: watch may have seen the JobSet's end before theirs."""
    state = _observe(this, events)
    if state.phase == phases.FAILED and this.trainjob is not None and not this.job.finished and _read_pods(this):
        return _observe(this, events)
    return state


def _read_pods(this: "Pass") -> bool:
    """Put the job's pods as the cluster has them now in place of those that watch saw; False when there are none, or it does not answer."""
    try:
        this.cluster = this.cluster or claimed()
        pods, _ = this.cluster.list(kinds.POD, this.job.namespace, f"{JOB_SET_NAME}={this.name}")
    except ClusterError:
        return False
    if pods:
        this.mirror.objects[kinds.POD.key] = {pod["metadata"]["name"]: pod for pod in pods}
    return bool(pods)


def _observe(this: "Pass", events: list[Object]) -> JobState:
    snapshot = {
        "record": _record(this),
        "trainjob": this.trainjob,
        "jobset": this.mirror.one(kinds.JOB_SET, this.name),
        "jobs": this.mirror.all(kinds.JOB),
        "pods": this.mirror.all(kinds.POD),
        "podgroups": this.mirror.all(kinds.POD_GROUP, kinds.COSCHEDULING_POD_GROUP, kinds.VOLCANO_POD_GROUP),
        "workloads": this.workloads or [],
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
        "sentence": mask_text(state.sentence),
        "since": _time(state.since) or (job.since if job.phase == state.phase and job.since else this.now),
        "nodes_expected": state.counts.expected or job.nodes_expected,
        "nodes_ready": state.counts.ready,
        "scheduled_at": _time(state.scheduled_at),
        "started_at": _time(state.started_at),
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
    """Return what the database knows of the job, as docs/states.md lists it."""
    job = this.job
    expected = this.detail.get("expected") or job.detail.expected
    error = this.detail.get("push_error") or {}
    lasts = error.get("answered") or error.get("attempts", 0) > 1  # silence may be over in a moment
    return {
        "uid": job.uid,
        "name": job.name,
        "namespace": job.namespace,
        "submission_id": str(job.pk),
        "expected": expected.get("replicated_jobs", []),
        "gang": expected.get("gang"),
        "runtime_exists": job.detail.runtime is not None or not this.trouble,
        "accepted_at": _text(job.created_at),
        "push_error": error if job.uid is None else None,
        "apply_error": error if job.uid is not None and lasts else None,
        "refused": _refused(this),
        "scheduled_at": _text(job.scheduled_at),
        "started_at": _text(job.started_at),
        "finished_at": _text(job.finished_at),
        "since": _text(job.since),
        "phase": job.phase,
        "code": job.code,
        "state": job.detail.state or {},
        "last_seen": _text(job.observed_at),
        "cancel_requested_by": _who(job.cancel_requested_by) if job.cancel_requested_at else None,
        "cancel_requested_at": _text(job.cancel_requested_at),
        "suspended_by": job.suspended_by.get_username() if job.suspended_by else None,
    }


def _who(user: User | None) -> str:
    return user.get_username() if user else "a deleted user"


def _refused(this: "Pass") -> Object | None:
    """Return what says that the job can never be built, or None."""
    if not this.findings:
        return None
    message = "; ".join(f"{f.path}: {f.message}" if f.path else f.message for f in this.findings)
    return {"message": message, "time": _text(this.now)}


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
