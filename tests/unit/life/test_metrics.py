"""Samples are bounded, numbers in short are exact, progress has an estimate."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.metrics import store
from jobs.metrics.store import Point, keep_points
from jobs.models import MetricSample, MetricSeries, TrainJob
from jobs.progress.status import record_status
from jobs.state import phases
from tests.unit.life.conftest import World

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_few_values_are_all_stored_with_their_steps(world: World) -> None:
    job = world.job()
    assert keep_points(job.pk, [Point("loss", at(n / 1000), 1 / (n + 1), n) for n in range(50)]) == 50
    assert MetricSample.objects.filter(job=job, name="loss", step=49).count() == 1
    row = MetricSeries.objects.get(job=job)
    assert (row.seen, row.kept, row.last, row.last_step, row.highest, row.lowest) == (50, 50, 0.02, 49, 1.0, 0.02)
    assert (row.first_at, row.last_at) == (at(0), at(0.049))


def test_a_flood_is_bounded_and_counted_exactly(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_KEPT", 600)
    job = world.job()
    for second in range(200):  # a thousand values a second
        points = [Point("loss", at(second + n / 1000), float(second * 1000 + n)) for n in range(1000)]
        keep_points(job.pk, points)
    row = MetricSeries.objects.get(job=job)
    assert (row.seen, row.lowest, row.highest, row.last) == (200_000, 0.0, 199_999.0, 199_999.0)
    stored = MetricSample.objects.filter(job=job).order_by("at", "id")
    assert row.kept == stored.count() <= 600 + 10
    assert stored[0].at == at(0)
    assert stored.last().at >= at(199.8)


def test_many_metrics_share_the_room_of_a_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_KEPT_OF_JOB", 6_000)
    job = world.job()
    for minute in range(12):
        keep_points(job.pk, [Point(f"m{name}", at(minute * 60 + n), float(n)) for name in range(10) for n in range(60)])
    assert all(row.kept <= 600 for row in MetricSeries.objects.filter(job=job))
    assert MetricSample.objects.filter(job=job).count() <= 6_000


def test_no_more_metrics_than_there_is_room_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SERIES", 3)
    job = world.job()
    keep_points(job.pk, [Point(f"loss_{n}", at(n), 1.0) for n in range(10)])
    keep_points(job.pk, [Point("loss_2", at(20), 2.0), Point("new", at(20), 2.0)])
    assert sorted(MetricSeries.objects.values_list("name", flat=True)) == ["loss_0", "loss_1", "loss_2"]
    assert MetricSample.objects.filter(job=job).count() == 4


def test_what_is_no_number_counts_for_nothing_and_late_values_do_not_become_the_newest(world: World) -> None:
    job = world.job()
    keep_points(job.pk, [Point("loss", at(10), 2.0), Point("loss", at(5), 1.0), Point("loss", at(11), float("nan"))])
    row = MetricSeries.objects.get(job=job)
    assert (row.seen, row.last, row.last_at, row.lowest, row.first_at) == (2, 2.0, at(10), 1.0, at(5))


def report(seconds: float, percent: int | None = None, eta: int | None = None, **metrics: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"lastUpdatedTime": at(seconds).isoformat(), "metrics": [{"name": k, "value": str(v)} for k, v in metrics.items()]}  # fmt: skip
    if percent is not None:
        body["progressPercentage"] = percent
    if eta is not None:
        body["estimatedRemainingSeconds"] = eta
    return {"trainerStatus": body}


def test_a_report_with_a_step_gives_it_to_its_other_metrics(world: World) -> None:
    job = world.job()
    record_status(job, report(1, loss=0.5, step=40))
    record_status(job, report(2, loss=0.4))
    assert list(MetricSample.objects.filter(name="loss").order_by("at").values_list("step", flat=True)) == [40, None]


def test_the_estimate_is_ours_only_where_the_program_gives_none(world: World) -> None:
    job = world.job(since=at(0), started_at=at(0))
    for second in range(0, 20, 2):
        record_status(job, report(second, second))
    job.refresh_from_db()
    assert (job.progress_percent, job.eta_seconds, job.eta_estimated) == (18, 82, True)
    record_status(job, report(20, 20, eta=7))
    job.refresh_from_db()
    assert (job.progress_percent, job.eta_seconds, job.eta_estimated) == (20, 7, False)
    record_status(job, report(22, loss=1))
    job.refresh_from_db()
    assert (job.progress_percent, job.eta_seconds, job.eta_estimated) == (None, None, False)


def test_a_job_that_was_resumed_is_judged_by_its_pace_since_then(world: World) -> None:
    job = world.job(since=at(0), started_at=at(0))
    for second in range(10):
        record_status(job, report(second, second))
    TrainJob.objects.filter(pk=job.pk).update(since=at(5000))  # it was suspended
    record_status(job, report(5001, 10))
    job.refresh_from_db()
    assert job.eta_seconds is None
    for second in range(1, 6):
        record_status(job, report(5001 + 2 * second, 10 + second))
    job.refresh_from_db()
    assert (job.phase, job.eta_seconds, job.eta_estimated) == (phases.RUNNING, 170, True)
