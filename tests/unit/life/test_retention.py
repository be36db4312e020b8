"""Jobs that ended long ago go, with everything of theirs; what lives or is kept stays; what went is remembered."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobs import services
from jobs.metrics.store import Point, keep_points
from jobs.models import Artifact, JobEvent, LogStream, MetricSample, MetricSeries, TrainJob
from jobs.progress.artifacts import store_artifact
from jobs.reconcile import retention
from jobs.reconcile.reconcile import reconcile_job
from jobs.state import phases
from tests.unit.life.conftest import World
from trainui.audit.models import AuditEntry

NOW = datetime(2026, 3, 31, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=40)


@pytest.fixture(autouse=True)
def _days(settings: Any) -> None:
    settings.RETENTION_DAYS = 30


def furnish(job: TrainJob, settings: Any) -> list[Path]:
    """Give a job logs, artifacts, events and metrics, and return its folders."""
    folder = settings.LOGS_DIR / str(job.pk)
    (folder / "pod--node--0").mkdir(parents=True)
    (folder / "pod--node--0" / "log").write_bytes(b"x" * 1000)
    LogStream.objects.create(
        job=job, pod="pod", pod_uid=str(job.pk), container="node", folder=f"{job.pk}/x", bytes=1000
    )
    store_artifact(job, "model.bin", [b"m" * 500], 1000)
    JobEvent.objects.create(
        job=job, uid=str(job.pk), type="Normal", reason="r", message="m", object_kind="Pod", object_name="p", first_at=NOW, last_at=NOW
    )  # fmt: skip
    keep_points(job.pk, [Point("loss", NOW, 1.0)])
    return [folder, settings.ARTIFACTS_DIR / str(job.pk)]


@pytest.mark.parametrize("phase", sorted(phases.FINISHED))
def test_a_job_that_ended_long_ago_goes_with_everything(world: World, settings: Any, phase: str) -> None:
    job = world.job(phase=phase, finished_at=LONG_AGO, live=False)
    other = world.job("other", phase, finished_at=NOW - timedelta(days=29), live=False)
    folders, others = furnish(job, settings), furnish(other, settings)
    assert retention.expire(NOW) == 1
    assert world.rung == [job.pk]
    reconcile_job(job.pk)
    assert not any(folder.exists() for folder in folders)
    assert all(folder.exists() for folder in others)
    for model in (JobEvent, LogStream, MetricSample, MetricSeries, Artifact):
        assert [row.job_id for row in model.objects.all()] == [other.pk]
    assert list(TrainJob.objects.all()) == [other]
    entry = AuditEntry.objects.get(verb="job.remove")
    assert (entry.object_name, entry.project, entry.actor) == ("llama", world.project, None)
    assert (entry.detail["phase"], entry.detail["owner"], entry.detail["why"]) == (phase, "owner", "retention")


def test_a_finished_job_that_is_still_in_the_cluster_leaves_it_first(world: World) -> None:
    job = world.job(phase=phases.SUCCEEDED, finished_at=LONG_AGO, live=True)
    assert retention.expire(NOW) == 1
    job.refresh_from_db()  # as after a person's delete: reconcile takes the TrainJob away, then the record
    assert job.delete_requested_at == job.cancel_requested_at == job.due_at == NOW


@pytest.mark.parametrize("phase", sorted(set(phases.PHASES) - phases.FINISHED))
def test_live_jobs_are_never_touched(world: World, phase: str) -> None:
    world.job(phase=phase, created_at=LONG_AGO, finished_at=LONG_AGO)
    assert retention.expire(NOW) == 0


def test_kept_jobs_stay_until_they_are_released(world: World) -> None:
    job = world.job(phase=phases.SUCCEEDED, finished_at=LONG_AGO, live=False)
    services.keep(world.users["owner"], job)
    assert retention.expire(NOW) == 0
    services.keep(world.users["owner"], job, kept=False)
    assert retention.expire(NOW) == 1


def test_zero_days_keep_everything(world: World, settings: Any) -> None:
    settings.RETENTION_DAYS = 0
    world.job(phase=phases.SUCCEEDED, finished_at=LONG_AGO, live=False)
    assert retention.expire(NOW) == 0


def test_the_oldest_go_first_in_small_batches_and_none_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    jobs = [world.job(f"j{n}", phases.FAILED, finished_at=LONG_AGO - timedelta(days=n), live=False) for n in range(5)]
    assert [retention.expire(NOW) for _ in range(4)] == [2, 2, 1, 0]
    assert world.rung == [job.pk for job in reversed(jobs)]


def test_until_when_a_job_is_kept(world: World, settings: Any) -> None:
    job = world.job(phase=phases.FAILED, finished_at=LONG_AGO)
    assert retention.kept_until(job) == LONG_AGO + timedelta(days=30)
    job.kept = True
    assert retention.kept_until(job) is None
    assert retention.kept_until(world.job("other")) is None
    settings.RETENTION_DAYS = 0
    job.kept = False
    assert retention.kept_until(job) is None


def test_a_person_s_delete_is_remembered_with_name_reason_and_final_phase(world: World) -> None:
    job = world.job(phase=phases.FAILED, live=False)
    services.delete(world.users["chief"], job, "wrong data")
    reconcile_job(job.pk)
    entry = AuditEntry.objects.get(verb="job.remove")
    assert entry.actor == world.users["chief"]
    assert entry.detail["why"] == "deleted"
    assert (entry.detail["by"], entry.detail["reason"], entry.detail["phase"]) == ("chief", "wrong data", "Failed")
    assert datetime.fromisoformat(entry.detail["finished_at"]) < timezone.now()
