"""What happens to jobs and to watch while somebody else reconciles the cluster: nothing is written, and every page says who it is."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import trainui.claimed
from jobs.models import TrainJob
from jobs.queries.job import freshness
from jobs.reconcile.reconcile import reconcile_job
from jobs.reconcile.survey import note_claim
from jobs.state import phases
from runtimes.models import Runtime
from runtimes.sync import sync_runtimes
from tests.unit.life.conftest import RUNTIME, World
from tests.unit.localcluster_api.rig import RunningServer, serving
from trainui.cluster import kinds
from trainui.cluster.claim import Claim
from trainui.cluster.client import Cluster
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(tmp_path_factory.mktemp("data"), LEASE_NAMESPACE, "team-nlp") as running:
        yield running


@pytest.fixture
def cluster(server: RunningServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster that is not our own local one, whose Lease another installation holds."""
    settings.KUBECONFIG, settings.OWN_CLUSTER = str(server.folder.kubeconfig), False
    monkeypatch.setattr(trainui.claimed, "_claim", Claim("me.example_1"))
    found = Cluster.from_kubeconfig(settings.KUBECONFIG)
    hold(found, "you.example_2")
    for left in found.list(kinds.TRAIN_JOB, "team-nlp")[0]:
        found.delete(kinds.TRAIN_JOB, "team-nlp", left["metadata"]["name"])
    return found


def hold(cluster: Cluster, who: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": who, "leaseDurationSeconds": 30, "renewTime": now}
    metadata = {"name": LEASE_NAME, "namespace": LEASE_NAMESPACE}
    cluster.apply(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}, force=True
    )


def pushed(world: World, name: str) -> TrainJob:
    job = world.job(name, phases.CREATING, uid=None, started_at=None)
    reconcile_job(job.pk)
    return TrainJob.objects.select_related("detail").get(pk=job.pk)


def test_a_submission_waits_and_says_for_whom(world: World, cluster: Cluster) -> None:
    job = pushed(world, "llama-a")
    assert (job.uid, job.phase) == (None, phases.CREATING)
    assert "another installation of trainui, you.example_2" in job.detail.push_error["text"]
    assert job.due_at is not None
    assert cluster.list(kinds.TRAIN_JOB, "team-nlp")[0] == []
    hold(cluster, "")  # it was stopped
    reconcile_job(job.pk)
    assert [obj["metadata"]["name"] for obj in cluster.list(kinds.TRAIN_JOB, "team-nlp")[0]] == ["llama-a"]
    assert cluster.get(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME)["spec"]["holderIdentity"] == "me.example_1"


def test_blueprints_are_not_applied_either(world: World, cluster: Cluster) -> None:
    Runtime.objects.filter(name="plain").update(managed=True, manifest=RUNTIME, observed=None)
    sync_runtimes()
    assert "another installation" in Runtime.objects.get(name="plain").apply_error
    assert cluster.list(kinds.CLUSTER_TRAINING_RUNTIME)[0] == []


def test_our_own_local_cluster_has_no_other(world: World, cluster: Cluster, settings: Any) -> None:
    settings.OWN_CLUSTER = True
    assert pushed(world, "llama-b").uid


def test_pages_say_who_has_the_cluster(world: World) -> None:
    note_claim("another installation reconciles this cluster")
    assert freshness() == (None, "another installation reconciles this cluster")
    note_claim("")
    assert freshness() == (None, "watch has not started yet")
