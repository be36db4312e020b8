"""What every tab of the job page has: the job, what may be done to it, progress, the age of what is shown."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from jobs.models import TrainJob
from jobs.queries.job import actions_for, freshness, visible_job
from jobs.services import retry_key
from jobs.spec.masking import mask_text
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import can

STALE_SECONDS = 60
_RUNS = (phases.RUNNING, phases.DEGRADED)
TABS = ("overview", "nodes", "logs", "metrics", "events", "manifest")


@dataclass(frozen=True)
class Progress:
    """How far the program says it is. seconds_left: counted from now, None when it did not say."""

    percent: int
    label: str
    tone: str


@dataclass(frozen=True)
class Age:
    """How old what is shown may be. problem: why nothing newer comes, "" when all is well."""

    seen_at: datetime | None
    stale: bool
    problem: str


def find(request: HttpRequest, job_id: uuid.UUID) -> TrainJob:
    """Return the job of an address, secrets in its sentence hidden. Raises Http404 for strangers as for a job that does not exist."""
    job = visible_job(_user(request), job_id)
    job.sentence = mask_text(job.sentence)  # it may quote a program or a registry; never saved from here
    return job


def frame(request: HttpRequest, job: TrainJob, tab: str) -> dict[str, Any]:
    """Return the context of head, actions and tabs."""
    actions = actions_for(_user(request), job)
    return {
        "job": job,
        "project": job.project,
        "tab": tab,
        "here": {tab: True},
        "actions": actions,
        "retry_key": retry_key(job) if phases.RETRY in actions else "",
        "progress": progress_of(job, timezone.now()),
        "age": age_of(job, timezone.now()),
        "archived": job.finished and not job.live,
        "runs": job.phase in _RUNS,
        "origin_id": origin_of(_user(request), job),
    }


def origin_of(user: User, job: TrainJob) -> uuid.UUID | None:
    """Return the id of the job that this one was made from, if it is still there and the user may see it."""
    origin = job.origin
    return origin.pk if origin is not None and can(user, "view", origin) else None


def progress_of(job: TrainJob, now: datetime) -> Progress | None:
    """Return the progress of a job; None when its program reported none. The last report before success may be lost: success is 100 %."""
    if job.progress_percent is None:
        return None
    if job.phase == phases.SUCCEEDED:
        return Progress(100, "Done", "ok")
    if job.finished:
        return Progress(job.progress_percent, "Ended here", "error" if job.phase == phases.FAILED else "neutral")
    if job.phase not in _RUNS:
        return Progress(job.progress_percent, "Last reported", "neutral")
    return Progress(job.progress_percent, _left(job, now), "active")


def age_of(job: TrainJob, now: datetime) -> Age:
    """Return how fresh the page is: nothing of a job that is gone for good changes any more."""
    if job.finished and not job.live:
        return Age(job.finished_at, False, "")
    alive_at, problem = freshness()
    stale = bool(problem) or alive_at is None or (now - alive_at).total_seconds() > STALE_SECONDS
    return Age(alive_at, stale, problem)


def _left(job: TrainJob, now: datetime) -> str:
    if job.eta_seconds is None or job.progress_at is None:
        return "Progress"
    left = job.eta_seconds - (now - job.progress_at).total_seconds()
    if left <= 0:
        return "Any moment now"
    if left < 60:
        return "Less than a minute left"
    minutes = round(left / 60)
    text = f"About {minutes} min left" if minutes < 90 else f"About {round(minutes / 60)} h left"
    return f"{text}, estimated" if job.eta_estimated else text


def _user(request: HttpRequest) -> User:
    user = request.user
    assert isinstance(user, User)  # LoginRequiredMiddleware lets nobody else in
    return user
