"""Running without a sign of life for too long is said, and no longer said as soon as there is one."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.logs.captures import Container, LogProgress
from jobs.metrics.store import Point, keep_points
from jobs.models import LogStream, TrainJob
from jobs.reconcile.log_rows import LogRows
from jobs.reconcile.stalled import Silence, silence, stalled_since
from jobs.state import phases
from tests.unit.life.conftest import World

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMIT = timedelta(minutes=15)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ("signs", "since", "recheck"),
    [
        ([], None, None),
        ([None, None], None, None),
        ([ago(1)], None, ago(-14)),
        ([ago(14.9)], None, ago(-0.1)),
        ([ago(15)], ago(15), None),
        ([ago(600), None, ago(20)], ago(20), None),
        ([ago(600), ago(3)], None, ago(-12)),
        ([ago(-90)], None, ago(-15)),  # a machine's clock is ahead
    ],
)
def test_silence(signs: list[datetime | None], since: datetime | None, recheck: datetime | None) -> None:
    assert silence(signs, NOW, LIMIT) == Silence(since, recheck)


def test_no_limit_is_no_stall() -> None:
    assert silence([ago(6000)], NOW, timedelta()) == Silence()


def looked(job: TrainJob, phase: str = phases.RUNNING) -> tuple[datetime | None, datetime | None]:
    """Return what a pass finds, and when it wants to look again."""
    asked: list[datetime | None] = []
    state = SimpleNamespace(phase=phase, since=ago(60).isoformat(), started_at=ago(60).isoformat())
    this: Any = SimpleNamespace(job=job, now=NOW, look_again=asked.append)
    found = stalled_since(this, state)  # type: ignore[arg-type]
    return found, asked[0] if asked else None


def stream(job: TrainJob, minutes: float) -> LogStream:
    return LogStream.objects.create(
        job=job, pod="p", pod_uid="u", container="node", folder="f", lines=5, last_at=ago(minutes)
    )


@pytest.mark.parametrize(
    ("line", "metric", "since", "recheck"),
    [
        (None, None, ago(60), None),
        (5, None, None, ago(-10)),
        (30, None, ago(30), None),
        (30, 10, None, ago(-5)),
        (30, 20, ago(20), None),
    ],
)
def test_lines_and_metrics_are_signs_of_life(
    world: World, line: float | None, metric: float | None, since: datetime | None, recheck: datetime | None
) -> None:
    job = world.job(since=ago(60), started_at=ago(60))
    if line is not None:
        stream(job, line)
    if metric is not None:
        keep_points(job.pk, [Point("loss", ago(metric), 1.0)])
    assert looked(job) == (since, recheck)


def test_only_running_jobs_stall(world: World) -> None:
    job = world.job(since=ago(600), started_at=ago(600))
    for phase in set(phases.PHASES) - {phases.RUNNING, phases.DEGRADED}:
        assert looked(job, phase) == (None, None)


def test_a_job_that_was_just_resumed_has_its_time(world: World) -> None:
    job = world.job(since=ago(2), started_at=ago(600))
    stream(job, 500)
    assert looked(job) == (None, ago(-13))


def test_a_watch_that_lost_the_lead_writes_no_row_of_a_log(world: World) -> None:
    job = world.job(stalled_since=ago(30), due_at=None)
    row, leads = stream(job, 30), [True, False]
    rows, container = LogRows(lambda: leads.pop(0)), Container(str(job.pk), "ns", "p", "u", "node", 0)
    rows._rows[container] = row.pk
    stamp = int(NOW.timestamp() * 1e9)
    rows.progress(container, LogProgress(10, 5, stamp, stamp, False))
    rows.finished(container, LogProgress(99, 60, stamp, stamp, False), "gone")  # it was paused, and another leads now
    row.refresh_from_db()
    assert (row.bytes, row.lines, row.complete, row.problem) == (10, 5, False, "")
    assert world.rung == []


def test_a_line_of_a_stalled_job_makes_somebody_look(world: World) -> None:
    job = world.job(stalled_since=ago(30), due_at=None)
    row = stream(job, 30)
    rows, container = LogRows(), Container(str(job.pk), "ns", "p", "u", "node", 0)
    rows._rows[container] = row.pk
    stamp = int(NOW.timestamp() * 1e9)
    rows.progress(container, LogProgress(9, 5, stamp, stamp, False))
    assert world.rung == []  # nothing new in it
    rows.progress(container, LogProgress(12, 6, stamp, stamp, False))
    assert world.rung == [job.pk]
    job.refresh_from_db()
    assert job.due_at is not None
