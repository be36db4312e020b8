"""What a person may ask of a job that exists. Each writes intent in one transaction and is idempotent by state."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile.doorbell import ring_on_commit
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import require
from trainui.audit.services import record
from trainui.events.changes import Change, publish_on_commit
from trainui.problems import Problem


def suspend(user: User, job: TrainJob, reason: str = "") -> TrainJob:
    """Ask that a job gives its machines back and waits. A suspended one stays as it is.

    Raises Http404, PermissionDenied, Problem 409 when the job's phase does not allow it.
    """
    return _set_suspend(user, job, True, reason)


def resume(user: User, job: TrainJob, reason: str = "") -> TrainJob:
    """Ask that a suspended job runs again. A running one stays as it is. Raises as `suspend`."""
    return _set_suspend(user, job, False, reason)


def cancel(user: User, job: TrainJob, reason: str = "") -> TrainJob:
    """Ask that a job ends and leaves the cluster; its row, logs and events stay. Raises as `suspend`."""
    require(user, "operate", job)
    with transaction.atomic():
        job = _locked(job)
        if job.phase == phases.CANCELLED or job.cancel_requested_at:
            return job
        if job.finished:
            raise _not_now(job, phases.CANCEL)
        _ask_cancel(user, job, reason)
        record(user, "job.cancel", job, detail={"reason": reason})
    return job


def delete(user: User, job: TrainJob, reason: str = "") -> TrainJob:
    """Ask that our record goes too, with logs and artifacts; a job that still lives is cancelled first. Raises Http404, PermissionDenied."""
    require(user, "operate", job)
    with transaction.atomic():
        job = _locked(job)
        if job.delete_requested_at:
            return job
        job.delete_requested_at = job.due_at = timezone.now()
        job.save(update_fields=["delete_requested_at", "due_at"])
        if job.cancel_requested_at:
            ring_on_commit(job)
        else:
            _ask_cancel(user, job, reason)
        record(user, "job.delete", job, detail={"reason": reason})
    return job


def keep(user: User, job: TrainJob, kept: bool = True) -> TrainJob:
    """Choose whether retention passes a job by. Its owner and admins of the project may. Raises Http404, PermissionDenied."""
    require(user, "operate", job)
    with transaction.atomic():
        job = _locked(job)
        if job.kept != kept:
            job.kept = kept
            job.save(update_fields=["kept"])
            record(user, "job.keep" if kept else "job.release", job)
            publish_on_commit(Change("job-changed", str(job.project_id), str(job.pk)))
    return job


def clone_values(user: User, job: TrainJob) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return (blueprint, parameters, manifest) with which the submit form opens as a copy of a job. Raises Http404."""
    require(user, "view", job)
    return job.detail.blueprint, job.detail.parameters, job.detail.manifest


def _set_suspend(user: User, job: TrainJob, wanted: bool, reason: str) -> TrainJob:
    verb = phases.SUSPEND if wanted else phases.RESUME
    require(user, "operate", job)
    with transaction.atomic():
        job = _locked(job)
        if job.finished or job.phase == phases.DELETING or job.cancel_requested_at:
            raise _not_now(job, verb)
        if job.desired_suspend == wanted:
            return job
        # Not compared with the phase: that is older than the cluster, and a resume soon after a suspend would be lost.
        job.desired_suspend = wanted
        if not wanted or job.phase != phases.SUSPENDED:
            job.suspended_by = user if wanted else None
        job.due_at = timezone.now()
        job.save(update_fields=["desired_suspend", "suspended_by", "due_at"])
        record(user, f"job.{verb}", job, detail={"reason": reason})
        ring_on_commit(job)
    return job


def _ask_cancel(user: User, job: TrainJob, reason: str) -> None:
    job.cancel_requested_at = job.due_at = timezone.now()
    job.cancel_requested_by = user
    job.cancel_reason = reason[:300]
    job.save(update_fields=["cancel_requested_at", "cancel_requested_by", "cancel_reason", "due_at"])
    ring_on_commit(job)


def _locked(job: TrainJob) -> TrainJob:
    """Return the row as it is now, held until the transaction ends. Raises Problem 404 when its record was removed since it was read."""
    found = TrainJob.objects.select_for_update(of=("self",)).select_related("project").filter(pk=job.pk).first()
    if found is None:
        raise Problem(404, "not_found", "It was deleted meanwhile.")
    return found


def _not_now(job: TrainJob, action: str) -> Problem:
    allowed = ", ".join(phases.actions(job.phase)) or "nothing"
    return Problem(
        409, "not_in_this_phase", f"{job} is {job.phase}: {action} is not possible now. Possible: {allowed}."
    )
