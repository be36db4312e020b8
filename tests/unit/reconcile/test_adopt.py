"""Rows of TrainJobs that watch brings: of whom there is none yet, and of whom there was one."""

from typing import Any

import pytest
from django.utils import timezone

from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile.adopt import row_of_trainjob
from jobs.reconcile.retire import purge
from runtimes.mirror import save_runtime
from runtimes.models import Runtime
from trainui.accounts.models import Project

UID = "8b6fb66a-6f0e-4ff0-9d5c-1f7c2f4f7d11"
OTHER = "0e0cbb2b-94be-4c3f-9f0e-3b1c9c4e7a22"


@pytest.fixture(autouse=True)
def _project(db: Any, settings: Any, tmp_path: Any) -> None:
    settings.LOGS_DIR, settings.ARTIFACTS_DIR = tmp_path / "logs", tmp_path / "artifacts"
    Project.objects.create(name="team-nlp")


def trainjob(uid: str = UID) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "llama", "namespace": "team-nlp", "uid": uid, "creationTimestamp": "2026-11-01T10:00:00Z"},
        "spec": {"runtimeRef": {"name": "plain"}},
    }


def removed(uid: str) -> None:
    now = timezone.now()
    job = TrainJob.objects.create(
        project=Project.objects.get(), namespace="team-nlp", name="llama", uid=uid, created_at=now, phase="Cancelled", live=False,
        runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
    )  # fmt: skip
    TrainJobDetail.objects.create(job=job, manifest=trainjob())
    purge(job, "Cancelled")


def test_a_trainjob_made_elsewhere_gets_one_row() -> None:
    first = row_of_trainjob(trainjob())
    assert first is not None
    assert row_of_trainjob(trainjob()) == first
    assert TrainJob.objects.get().uid == UID


def test_late_events_of_a_removed_job_make_no_row() -> None:
    removed(UID)
    assert row_of_trainjob(trainjob()) is None
    assert not TrainJob.objects.exists()


def test_a_new_trainjob_of_a_removed_name_gets_a_row() -> None:
    removed(OTHER)
    assert row_of_trainjob(trainjob()) is not None
    assert TrainJob.objects.get().uid == UID


def test_a_runtime_reference_longer_than_any_runtime_is_cut_to_its_columns() -> None:
    made = trainjob() | {"spec": {"runtimeRef": {"kind": "K" * 300, "name": "n" * 300}}}
    assert row_of_trainjob(made) is not None
    row = TrainJob.objects.get()
    assert (len(row.runtime_kind), len(row.runtime_name)) == (40, 253)


def test_a_runtime_with_the_longest_name_is_in_the_catalog() -> None:
    name = "n" * 253
    save_runtime(
        "ClusterTrainingRuntime",
        {"metadata": {"name": name, "uid": UID, "resourceVersion": "1"}, "spec": {}},
    )
    row = Runtime.objects.get(name=name)
    assert (row.title, row.uid) == ("n" * 120, UID)
