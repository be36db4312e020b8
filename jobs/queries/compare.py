"""One metric of several jobs, for a chart and a table to compare them."""

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, OuterRef

from jobs.models import MetricSample, MetricSeries, TrainJob
from jobs.queries.job_page import main_metric
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects

MAX_JOBS = 8  # as many as there are colours that can be told apart
MAX_POINTS = 1_000
OFFERED = 50


@dataclass(frozen=True, slots=True)
class Point:
    """One value: when in epoch seconds, at which step if it was said."""

    at: float
    value: float
    step: int | None


@dataclass(frozen=True)
class Extreme:
    """The lowest or highest value that is stored, and where."""

    value: float
    at: float
    step: int | None


@dataclass(frozen=True)
class Curve:
    """The metric of one job. began: what relative times count from. points: thinned, in order of time."""

    job: TrainJob
    series: MetricSeries | None = None
    points: list[Point] = field(default_factory=list)
    lowest: Extreme | None = None
    highest: Extreme | None = None
    began: float = 0.0

    @property
    def has_steps(self) -> bool:
        """Whether its values belong to steps."""
        return any(point.step is not None for point in self.points)


def parse_ids(texts: Iterable[str]) -> tuple[list[uuid.UUID], list[str]]:
    """Return the ids in texts with commas, each once and in order, and what is none."""
    ids: dict[uuid.UUID, None] = {}
    wrong = []
    for text in (part.strip() for given in texts for part in given.split(",")):
        try:
            if text:
                ids[uuid.UUID(text)] = None
        except ValueError:
            wrong.append(text)
    return list(ids), wrong


def visible_jobs(user: User, ids: Sequence[uuid.UUID]) -> list[TrainJob]:
    """Return the jobs of these ids that the user may see, in the order of the ids, with their details."""
    jobs = TrainJob.objects.filter(pk__in=ids).select_related("detail", "project", "owner")
    if not user.is_superuser:
        jobs = jobs.filter(project_id__in=list(visible_projects(user).values_list("pk", flat=True)))
    found = {job.pk: job for job in jobs}
    return [found[job_id] for job_id in ids if job_id in found]


def names_of(jobs: Sequence[TrainJob]) -> list[tuple[str, int]]:
    """Return the metrics of some jobs with how many of them have each, those of most jobs first."""
    names = MetricSeries.objects.filter(job__in=jobs).order_by("name").values_list("name", flat=True)
    return sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))


def usual_metric(names: Sequence[tuple[str, int]]) -> str:
    """Return the metric to show when none is chosen: one that most jobs have, a loss if there is one; "" for none."""
    most = max((count for _, count in names), default=0)
    return main_metric([name for name, count in names if count == most])


def curves_of(jobs: Sequence[TrainJob], metric: str, most: int = MAX_POINTS) -> list[Curve]:
    """Return the metric of each job, in their order; a job without it has a curve without points."""
    series = {row.job_id: row for row in MetricSeries.objects.filter(job__in=jobs, name=metric)}
    return [_curve(job, series.get(job.pk), metric, most) for job in jobs]


def comparable(user: User, beside: Sequence[TrainJob]) -> list[TrainJob]:
    """Return the newest jobs with metrics that may be added to a comparison."""
    measured = Exists(MetricSeries.objects.filter(job=OuterRef("pk")))
    jobs = TrainJob.objects.filter(measured).exclude(pk__in=[job.pk for job in beside])
    if not user.is_superuser:
        jobs = jobs.filter(project_id__in=list(visible_projects(user).values_list("pk", flat=True)))
    return list(jobs.select_related("project").order_by("-created_at", "-pk")[:OFFERED])


def began_at(job: TrainJob, first: datetime | None = None) -> float:
    """Return what relative times of a job count from: its start, else its first value."""
    begin = job.started_at if first is None or (job.started_at and job.started_at <= first) else first
    return (begin or job.created_at).timestamp()


def _curve(job: TrainJob, series: MetricSeries | None, metric: str, most: int) -> Curve:
    if series is None:
        return Curve(job)
    rows = MetricSample.objects.filter(job=job, name=metric).order_by("at", "id").values_list("at", "value", "step")
    points = [Point(at.timestamp(), value, step) for at, value, step in rows]
    if not points:
        return Curve(job, series)
    low, high = min(points, key=lambda p: p.value), max(points, key=lambda p: p.value)
    return Curve(
        job, series, thinned(points, most), Extreme(low.value, low.at, low.step), Extreme(high.value, high.at, high.step), began_at(job, series.first_at)
    )  # fmt: skip


def thinned(points: list[Point], most: int) -> list[Point]:
    """Return at most about `most` points that draw the same line: of each bucket the lowest and highest, and the last of all."""
    if len(points) <= most:
        return points
    size = -(-2 * len(points) // most)
    kept: list[Point] = []
    for start in range(0, len(points), size):
        bucket = range(start, min(start + size, len(points)))
        ends = {min(bucket, key=lambda n: points[n].value), max(bucket, key=lambda n: points[n].value)}
        kept.extend(points[n] for n in sorted(ends))
    return kept if kept[-1] is points[-1] else [*kept, points[-1]]
