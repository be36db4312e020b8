"""Storing samples: numbers in short are exact, samples themselves are bounded per metric and per job."""

import math
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from jobs.metrics.thinning import Sample, surplus
from jobs.models import MetricSample, MetricSeries, TrainJob

MAX_NAME = 64
MAX_SERIES = 256  # metrics of one job, as many as one report of Kubeflow's may hold
MAX_KEPT = 4_000  # samples of one metric; of many metrics each keeps fewer
MAX_KEPT_OF_JOB = 200_000
LEAST_KEPT = 500
FREE = 500  # so many samples of a metric are kept however fast they come
PAUSE = timedelta(milliseconds=100)  # between two samples after that
_CHUNK = 500
_SERIES_CHUNK = 64
_CHANGING = ("seen", "kept", "first_at", "last_at", "last_step", "last", "lowest", "highest", "sampled_at")


@dataclass(frozen=True, slots=True)
class Point:
    """One value as a program reported it."""

    name: str
    at: datetime
    value: float
    step: int | None = None


def keep_points(job_id: uuid.UUID, points: Iterable[Point]) -> int:
    """Store what may be stored of new values and return how many samples that is.

    Values that are no numbers count for nothing. Every other one counts in its metric's row (`MetricSeries`); a sample is stored of
    all when they are few, of at most ten a second after that, and old ones are thinned beyond the limit. Metrics beyond MAX_SERIES are left out.
    """
    given = [p for p in points if math.isfinite(p.value) and p.name]
    if not given:
        return 0
    with transaction.atomic():
        # One at a time for each job: threads of log capture and reports come together, and count the same rows.
        if TrainJob.objects.select_for_update(no_key=True).filter(pk=job_id).only("pk").first() is None:
            return 0
        rows = _rows(job_id, {p.name[:MAX_NAME] for p in given})
        samples = [sample for point in given if (sample := _count(rows, job_id, point)) is not None]
        MetricSample.objects.bulk_create(samples, batch_size=_CHUNK)
        limit = _limit(job_id, rows)
        for row in rows.values():
            if row is not None and row.kept > limit:
                row.kept = _thin(row, limit)
        _save([row for row in rows.values() if row is not None])
    return len(samples)


def _rows(job_id: uuid.UUID, names: set[str]) -> dict[str, MetricSeries | None]:
    """The rows of these metrics; None for a new one that there is room for, nothing for one too many."""
    held = MetricSeries.objects.filter(job_id=job_id)
    rows: dict[str, MetricSeries | None] = {row.name: row for row in held.filter(name__in=names)}
    new = sorted(names - rows.keys())
    room = MAX_SERIES - MetricSeries.objects.filter(job_id=job_id).count() if new else 0
    return rows | dict.fromkeys(new[: max(room, 0)])


def _count(rows: dict[str, MetricSeries | None], job_id: uuid.UUID, point: Point) -> MetricSample | None:
    """Count a value in its row, and return its sample if one is to be stored."""
    name = point.name[:MAX_NAME]
    if name not in rows:
        return None
    row = rows[name]
    if row is None:
        row = rows[name] = MetricSeries(
            job_id=job_id, name=name, first_at=point.at, last_at=point.at, sampled_at=point.at, last=point.value, lowest=point.value, highest=point.value
        )  # fmt: skip
    row.seen += 1
    row.first_at = min(row.first_at, point.at)
    row.lowest, row.highest = min(row.lowest, point.value), max(row.highest, point.value)
    if point.at >= row.last_at:
        row.last_at, row.last, row.last_step = point.at, point.value, point.step
    if row.kept >= FREE and abs(point.at - row.sampled_at) < PAUSE:
        return None
    row.kept += 1
    row.sampled_at = max(row.sampled_at, point.at)
    return MetricSample(job_id=job_id, name=name, at=point.at, step=point.step, value=point.value)


def _save(rows: list[MetricSeries]) -> None:
    """Write rows by what identifies them, whether they are new or another process made them meanwhile: one statement for all."""
    for row in rows:
        row.pk = None
    MetricSeries.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["job", "name"], update_fields=list(_CHANGING), batch_size=_SERIES_CHUNK
    )  # fmt: skip


def _limit(job_id: uuid.UUID, rows: dict[str, MetricSeries | None]) -> int:
    if not any(row is not None and row.kept > LEAST_KEPT for row in rows.values()):
        return MAX_KEPT
    number = max(MetricSeries.objects.filter(job_id=job_id).count(), len(rows))
    return max(LEAST_KEPT, min(MAX_KEPT, MAX_KEPT_OF_JOB // number))


def _thin(row: MetricSeries, limit: int) -> int:
    """Thin the stored samples of a metric to half of the limit and return how many remain."""
    stored = MetricSample.objects.filter(job_id=row.job_id, name=row.name).order_by("at", "id")
    samples = [Sample(pk, at.timestamp(), value) for pk, at, value in stored.values_list("pk", "at", "value")]
    gone = surplus(samples, newest=limit // 8, older=limit // 2 - limit // 8)
    for chunk in _chunks(gone):
        MetricSample.objects.filter(pk__in=chunk).delete()
    return len(samples) - len(gone)


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK))
