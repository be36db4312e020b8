"""One action for many jobs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404

from jobs.models import TrainJob
from jobs.services.actions import cancel, delete, keep, resume, suspend
from jobs.services.again import retry
from trainui.accounts.models import User
from trainui.problems import Problem

_FORBIDDEN = "Your role does not allow this for that job."
_Act = Callable[[User, TrainJob, str], TrainJob]
_ACTS: dict[str, _Act] = {
    "suspend": suspend,
    "resume": resume,
    "cancel": cancel,
    "delete": delete,
    "retry": lambda user, job, reason: retry(user, job)[0],
    "keep": lambda user, job, reason: keep(user, job),
    "release": lambda user, job, reason: keep(user, job, kept=False),
}
BULK_ACTIONS = tuple(_ACTS)


@dataclass(frozen=True)
class BulkResult:
    """How one job of a bulk action fared. job: as it is now, or the new one of a retry. error: "" when it was done. status: as REST says it."""

    job: TrainJob
    error: str = ""
    status: int = 202
    code: str = ""


def bulk(user: User, action: str, jobs: Iterable[TrainJob], reason: str = "") -> list[BulkResult]:
    """Do one action to many jobs; each succeeds or fails by itself. Raises Problem 422 for an unknown action."""
    if action not in _ACTS:
        raise Problem(422, "unknown_action", f"“{action}” is no action; there are {', '.join(_ACTS)}.")
    results = []
    for job in jobs:
        try:
            results.append(BulkResult(_ACTS[action](user, job, reason)))
        except Problem as problem:
            results.append(BulkResult(job, problem.detail, problem.status, problem.code))
        except (PermissionDenied, Http404):
            results.append(BulkResult(job, _FORBIDDEN, 403, "forbidden"))
    return results
