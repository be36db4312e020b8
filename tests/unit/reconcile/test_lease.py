"""Leases of processes that were killed: nobody waits until they run out."""

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile import tasks
from jobs.reconcile.lease import job_lease, this_process
from trainui.accounts.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> TrainJob:
    now = timezone.now()
    return TrainJob.objects.create(
        project=Project.objects.create(name="team-nlp"), namespace="team-nlp", name="llama", created_at=now, due_at=now, reconciled_at=now,
        runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
    )  # fmt: skip


@pytest.fixture
def gone() -> str:
    """A process beside this one that has ended."""
    where = this_process().rpartition(":")[0]
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    return f"{where}:{ended.pid}"


def hold(job: TrainJob, holder: str) -> None:
    until = timezone.now() + timedelta(seconds=50)
    TrainJob.objects.filter(pk=job.pk).update(lease_holder=holder, lease_until=until)


def rung(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(tasks, "ring", found.append)
    tasks.sweep()
    return found


def test_a_lease_names_its_process_while_it_is_held(job: TrainJob) -> None:
    with job_lease(job.pk):
        job.refresh_from_db()
        assert job.lease_holder.endswith(f":{os.getpid()}")
    job.refresh_from_db()
    assert (job.lease_holder, job.lease_token, job.lease_until) == ("", None, None)


def test_what_a_killed_process_held_is_free(job: TrainJob, gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(job, gone)
    assert rung(monkeypatch) == [job.pk]
    with job_lease(job.pk) as token:
        assert token is not None
        with job_lease(job.pk) as second:
            assert second is None


@pytest.mark.parametrize(
    "holder", ["", "another-machine:boot:pid:[1]:1", this_process()], ids=["nobody", "elsewhere", "this process"]
)
def test_what_others_may_hold_is_not(job: TrainJob, holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(job, holder)
    assert rung(monkeypatch) == []
    with job_lease(job.pk) as token:
        assert token is None
