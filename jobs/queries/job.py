"""What the page and the REST resources of one job read."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from jobs.models import (
    CLAIM,
    Artifact,
    JobEvent,
    LogStream,
    MetricSample,
    MetricSeries,
    MirrorObject,
    TrainJob,
    WatchState,
)
from jobs.spec.masking import mask_object
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import can, require
from trainui.cluster import kinds

MAX_POINTS = 2_000
EVENTS_LIMIT = 200


def visible_job(user: User, job_id: uuid.UUID) -> TrainJob:
    """Return a job with its detail. Raises Http404 for a stranger as for a job that does not exist."""
    job = TrainJob.objects.select_related("detail", "project", "owner", "cancel_requested_by").filter(pk=job_id).first()
    require(user, "view", job or _Nothing())
    assert job is not None
    return job


class _Nothing:
    """Stands for a job that does not exist: nobody may view it, so it answers like one that must not be seen."""

    project_id = None


def actions_for(user: User, job: TrainJob) -> list[str]:
    """Return the actions that the job's phase allows and that the user may do, in the order of the page."""
    may_operate, may_submit = can(user, "operate", job), can(user, "submit", job.project)
    allowed = []
    for action in phases.actions(job.phase):
        if action in (phases.CLONE, phases.RETRY):
            if may_submit:
                allowed.append(action)
        elif may_operate and not (job.delete_requested_at or (action != phases.DELETE and job.cancel_requested_at)):
            allowed.append(action)
    return allowed


def events(job: TrainJob, before: int | None = None, limit: int = EVENTS_LIMIT) -> list[JobEvent]:
    """Return kept events of a job, newest first; `before` is the id of the last one of the page before."""
    kept = JobEvent.objects.filter(job=job).defer("raw").order_by("-last_at", "-id")
    if before is not None:
        place = JobEvent.objects.filter(job=job, pk=before).values_list("last_at", flat=True).first()
        if place is not None:
            kept = kept.filter(last_at__lte=place).exclude(pk=before).exclude(last_at=place, pk__gt=before)
    return list(kept[:limit])


@dataclass(frozen=True)
class Series:
    """One metric over time: x in epoch seconds, y as reported; thinned to MAX_POINTS keeping each bucket's extremes."""

    name: str
    times: list[float]
    values: list[float]
    last: float
    last_at: datetime
    best_low: float
    best_high: float


def metric_series(job: TrainJob, name: str = "") -> list[Series]:
    """Return the series of a job, all or one, by name: two queries. Newest, lowest and highest are exact, whatever was thinned."""
    rows = MetricSeries.objects.filter(job=job).order_by("name")
    samples = MetricSample.objects.filter(job=job).order_by("name", "at", "id")
    if name:
        rows, samples = rows.filter(name=name), samples.filter(name=name)
    points: dict[str, list[tuple[float, float]]] = {}
    for series, at, value in samples.values_list("name", "at", "value"):
        points.setdefault(series, []).append((at.timestamp(), value))
    found = []
    for row in rows:
        thinned = thin(points.get(row.name, []), MAX_POINTS)
        times, values = [t for t, _ in thinned], [v for _, v in thinned]
        found.append(Series(row.name, times, values, row.last, row.last_at, row.lowest, row.highest))
    return found


def thin(points: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Return at most about `most` points that draw the same line: of each bucket its lowest and highest, in order of time."""
    if len(points) <= most:
        return points
    size = -(-2 * len(points) // most)
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        bucket = points[start : start + size]
        kept.extend(sorted({min(bucket, key=lambda p: p[1]), max(bucket, key=lambda p: p[1])}))
    if kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept


def log_streams(job: TrainJob) -> list[LogStream]:
    """Return the archived logs of a job, ranks first in their order."""
    return list(LogStream.objects.filter(job=job).order_by("order", "attempt", "restart", "pk"))


def artifacts(job: TrainJob) -> list[Artifact]:
    """Return the files that a job handed over, by name."""
    return list(Artifact.objects.filter(job=job).order_by("name"))


def artifact_path(artifact: Artifact) -> Path:
    """Return where the bytes of an artifact lie."""
    return Path(settings.ARTIFACTS_DIR) / artifact.path


def state_of(job: TrainJob) -> dict[str, Any]:
    """Return the last observed state as plain data (JobState.as_dict) without secrets; empty before the first reconcile."""
    return mask_object(job.detail.state or {})[0]  # what programs and the cluster say may hold one


def live_manifest(job: TrainJob) -> dict[str, Any]:
    """Return the TrainJob as the cluster has it; as it was submitted when it is not there (any more)."""
    seen = MirrorObject.objects.filter(job=job, kind=kinds.TRAIN_JOB.key, uid=job.uid or "").values_list(
        "raw", flat=True
    )
    return dict(seen.first() or job.detail.manifest)


def freshness() -> tuple[datetime | None, str]:
    """Return when watch was last known alive, and what keeps it from living ("" when nothing does)."""
    rows = {row.kind: row for row in WatchState.objects.filter(kind__in=(kinds.POD.key, CLAIM))}
    row = rows.get(kinds.POD.key)
    if CLAIM in rows:
        return (row.alive_at if row else None), rows[CLAIM].problem
    return (row.alive_at, row.problem) if row else (None, "watch has not started yet")
