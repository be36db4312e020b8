"""What a person may ask of a job that exists. Each writes intent in one transaction and is idempotent by state."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile.doorbell import ring_on_commit
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import require
from trainui.audit.services import record
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


@dataclass(frozen=True)
class BulkResult:
    """How one job of a bulk action fared: `error` is "" when it was done."""

    job: TrainJob
    error: str = ""


def bulk(user: User, action: str, jobs: Iterable[TrainJob]) -> list[BulkResult]:
    """Do one action to many jobs; each succeeds or fails by itself. Raises Problem 422 for an unknown action."""
    known: dict[str, Callable[[User, TrainJob], TrainJob]] = {
        "suspend": suspend,
        "resume": resume,
        "cancel": cancel,
        "delete": delete,
    }
    if action not in known:
        raise Problem(422, "unknown_action", f"“{action}” is no action; there are {', '.join(known)}.")
    results = []
    for job in jobs:
        try:
            results.append(BulkResult(known[action](user, job)))
        except Problem as problem:
            results.append(BulkResult(job, problem.detail))
        except (PermissionDenied, Http404):
            results.append(BulkResult(job, "Your role does not allow this for that job."))
    return results


def clone_values(user: User, job: TrainJob) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return (blueprint, parameters, manifest) with which the submit form opens as a copy of a job. Raises Http404."""
    require(user, "view", job)
    return job.detail.blueprint, job.detail.parameters, job.detail.manifest


def _set_suspend(user: User, job: TrainJob, wanted: bool, reason: str) -> TrainJob:
    verb = phases.SUSPEND if wanted else phases.RESUME
    require(user, "operate", job)
    with transaction.atomic():
        job = _locked(job)
        already = (
            job.desired_suspend
            if job.desired_suspend is not None
            else job.phase in (phases.SUSPENDED, phases.SUSPENDING)
        )
        if already == wanted and not job.finished:
            return job
        if job.finished or job.phase == phases.DELETING or job.cancel_requested_at:
            raise _not_now(job, verb)
        job.desired_suspend = wanted
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
    return TrainJob.objects.select_for_update().select_related("project").get(pk=job.pk)


def _not_now(job: TrainJob, action: str) -> Problem:
    allowed = ", ".join(phases.actions(job.phase)) or "nothing"
    return Problem(
        409, "not_in_this_phase", f"{job} is {job.phase}: {action} is not possible now. Possible: {allowed}."
    )
