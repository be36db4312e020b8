"""What only the page of one job reads; the job itself comes from `visible_job`, so whoever gets here may see it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, Min, Q

from jobs.models import JobEvent, LogStream, MetricSample, MetricSeries, MirrorObject, TrainJob
from jobs.spec.masking import mask_text
from trainui.cluster import kinds

MAIN_METRICS = ("loss", "train_loss", "train/loss", "training_loss")
MAX_NEW_POINTS = 5_000


@dataclass(frozen=True)
class Newest:
    """The newest value of one metric."""

    name: str
    value: float
    at: datetime


@dataclass(frozen=True)
class EventPage:
    """One page of kept events, newest first. next: where the page after begins, None at the end."""

    events: list[JobEvent]
    next: int | None
    warnings: int


def newest_values(job: TrainJob) -> list[Newest]:
    """Return the newest value of each metric, by name."""
    rows = MetricSeries.objects.filter(job=job).order_by("name").values_list("name", "last", "last_at")
    return [Newest(*row) for row in rows]


def main_metric(names: list[str]) -> str:
    """Return the metric that stands for a job at a glance: a loss if there is one, else the first; "" for none."""
    lower = {name.lower(): name for name in reversed(names)}
    known = next((lower[name] for name in MAIN_METRICS if name in lower), "")
    return known or next((name for name in names if "loss" in name.lower()), names[0] if names else "")


def first_report(job: TrainJob) -> datetime | None:
    """Return when the program first reported a metric."""
    at: datetime | None = MetricSeries.objects.filter(job=job).aggregate(at=Min("first_at"))["at"]
    return at


def first_sign(job: TrainJob, since: datetime) -> tuple[datetime | None, str]:
    """Return when the program first reported or said anything after a time, and which: "metric", "line" or "" for nothing yet."""
    metric = MetricSample.objects.filter(job=job, at__gte=since).aggregate(at=Min("at"))["at"]
    if metric is not None:
        return metric, "metric"
    line = LogStream.objects.filter(job=job, rank__isnull=False, first_at__gte=since).aggregate(at=Min("first_at"))[
        "at"
    ]
    return line, "line" if line is not None else ""


def last_sample(job: TrainJob) -> int:
    """Return the id of the newest sample, from which `points_after` goes on; 0 for none."""
    return MetricSample.objects.filter(job=job).aggregate(id=Max("id"))["id"] or 0


def points_after(job: TrainJob, after: int) -> tuple[dict[str, list[tuple[float, float]]], int, bool]:
    """Return the points stored after a sample by metric, the id of the last, and whether there are more than are returned."""
    rows = list(
        MetricSample.objects.filter(job=job, pk__gt=after)
        .order_by("pk")
        .values_list("pk", "name", "at", "value")[: MAX_NEW_POINTS + 1]
    )
    points: dict[str, list[tuple[float, float]]] = {}
    for _, name, at, value in rows[:MAX_NEW_POINTS]:
        points.setdefault(name, []).append((at.timestamp(), value))
    kept = rows[:MAX_NEW_POINTS]
    return points, kept[-1][0] if kept else after, len(rows) > MAX_NEW_POINTS


def events_page(job: TrainJob, warnings_only: bool, before: int | None, limit: int) -> EventPage:
    """Return kept events of all objects of a job, secrets hidden; `before` is the id of the last one of the page before."""
    kept = JobEvent.objects.filter(job=job).defer("raw").order_by("-last_at", "-id")
    warnings = JobEvent.objects.filter(job=job).exclude(type="Normal")
    if warnings_only:
        kept = kept.exclude(type="Normal")
    if before is not None:
        place = JobEvent.objects.filter(job=job, pk=before).values_list("last_at", flat=True).first()
        if place is not None:
            kept = kept.filter(Q(last_at__lt=place) | Q(last_at=place, pk__lt=before))
    rows = list(kept[: limit + 1])
    for row in rows:
        row.message = mask_text(row.message)
    return EventPage(rows[:limit], rows[limit - 1].pk if len(rows) > limit else None, warnings.count())


def pods_of(job: TrainJob) -> dict[str, dict[str, Any]]:
    """Return the pods of a job that the cluster has now, by name, as watch saw them last."""
    rows = MirrorObject.objects.filter(job=job, kind=kinds.POD.key).values_list("name", "raw")
    return dict(rows)
