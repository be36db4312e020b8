"""Suspend and resume that follow each other closely: neither is lost, whatever row and mirror have not seen yet. On a real API server."""

import uuid
from collections.abc import Iterator

import pytest
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile.mirror import Mirror
from jobs.reconcile.reconcile import Pass, _apply_suspend
from jobs.services import actions
from jobs.state import phases
from tests.unit.life.conftest import World, _settings, world
from tests.unit.localcluster_api.rig import serving
from trainui.cluster import kinds
from trainui.cluster.client import Cluster, Object

__all__ = ["_settings", "world"]  # fixtures of the services' own tests


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with serving(tmp_path_factory.mktemp("data")) as running:
        yield Cluster.from_kubeconfig(str(running.folder.kubeconfig))


@pytest.fixture
def job(world: World, cluster: Cluster) -> Iterator[TrainJob]:
    """A running job, its TrainJob in the cluster, and our lease on its row."""
    namespace = world.project.namespace
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    made = cluster.create(world.manifest("llama"))
    yield world.job(uid=made["metadata"]["uid"], lease_token=uuid.uuid4())
    cluster.delete(kinds.NAMESPACE, None, namespace)


def carry_out(job: TrainJob, cluster: Cluster, mirrored: Object) -> bool:
    """Let reconcile carry out the intent with a mirror of its own age; return whether the TrainJob is suspended now."""
    row = TrainJob.objects.get(pk=job.pk)
    assert row.lease_token is not None
    _apply_suspend(Pass(row, row.lease_token, timezone.now(), Mirror(), cluster=cluster, trainjob=mirrored))
    assert TrainJob.objects.get(pk=job.pk).desired_suspend is None
    return bool(cluster.get(kinds.TRAIN_JOB, job.namespace, job.name)["spec"].get("suspend"))


def test_a_resume_before_the_suspend_is_seen(world: World, job: TrainJob, cluster: Cluster) -> None:
    before = cluster.get(kinds.TRAIN_JOB, job.namespace, job.name)
    owner = world.users["owner"]
    actions.suspend(owner, job)
    assert carry_out(job, cluster, before)
    actions.resume(owner, job)  # the row still says Running
    assert not carry_out(job, cluster, before)  # and the mirror still has the TrainJob as it was before both


def test_a_suspend_before_the_resume_is_seen(world: World, job: TrainJob, cluster: Cluster) -> None:
    owner = world.users["owner"]
    actions.suspend(owner, job)
    assert carry_out(job, cluster, cluster.get(kinds.TRAIN_JOB, job.namespace, job.name))
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.SUSPENDED)
    suspended = cluster.get(kinds.TRAIN_JOB, job.namespace, job.name)
    actions.resume(owner, job)
    assert not carry_out(job, cluster, suspended)
    actions.suspend(owner, job)
    assert carry_out(job, cluster, suspended)


def test_who_suspended_first_stays_on_record(world: World, job: TrainJob) -> None:
    actions.suspend(world.users["owner"], job)
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.SUSPENDED, desired_suspend=None)
    actions.suspend(world.users["chief"], job)
    assert TrainJob.objects.get(pk=job.pk).suspended_by == world.users["owner"]
