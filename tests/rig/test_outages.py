"""What jobs say while a part of the cluster is away, and that they go on when it is back: on a cluster of their own."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.jobs.tools import submissions, submit_trainjob, wait_said
from tests.rig.api import wait_until
from tests.rig.instance import ClusterStack, instance_on
from tests.rig.manifests import life
from tests.rig.rig import Rig
from tests.stack import Json

pytestmark = pytest.mark.xdist_group("own-rig")
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "jobsets.jobset.x-k8s.io")


@pytest.fixture(scope="module")
def instance(own_rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterStack]:
    """trainui on a cluster whose programs may be stopped, with one fake machine."""
    own_rig.add_machines(1, "fake", gpus=0, taints=[])
    with instance_on(own_rig, tmp_path_factory.mktemp("outages") / "data") as started:
        yield started


def submit(instance: ClusterStack, name: str) -> Json:
    """Submit a job whose pod ends a second after its start."""
    pod = {"metadata": {"annotations": life(run_for="1s")}}
    jobs = [{"name": "node", "template": {"spec": {"template": pod}}}]
    patch = {
        "manager": "tests.trainui.dev/life",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    return submit_trainjob(instance, name, ["true"], runtimePatches=[patch])


def ended_well(instance: ClusterStack, job: Json) -> None:
    assert instance.wait(job["id"], seconds=60)["phase"] == "Succeeded"
    assert submissions(instance, job["id"]) == [job["name"]]


def test_a_submission_is_kept_while_the_api_server_is_away(own_rig: Rig, instance: ClusterStack) -> None:
    own_rig.stop_program("kube-apiserver", "SIGKILL")
    try:
        job = submit(instance, "kept")
        waits = wait_said(instance, job["id"], "the cluster does not answer", "It is sent again on its own")
        assert (waits["phase"], waits["reason"]["code"]) == ("Creating", "AwaitingCluster")
        address = own_rig.server.removeprefix("https://")
        assert f"the API server {address} does not answer" in waits["reason"]["sentence"]
    finally:
        own_rig.start_program("kube-apiserver")
    ended_well(instance, job)


@contextmanager
def no_jobsets(rig: Rig) -> Iterator[None]:
    """Take the kind JobSet out of the cluster for a block, with its controller, which cannot live without."""
    crd = rig.admin.get(*CRD)
    assert crd is not None
    rig.stop_program("jobset", "SIGKILL")
    try:
        rig.admin.delete(crd)
        wait_until(lambda: rig.admin.get(*CRD) is None, "JobSet to be gone")
        yield
    finally:
        kept = {key: crd["metadata"][key] for key in ("name", "annotations", "labels") if key in crd["metadata"]}
        rig.admin.create({"apiVersion": crd["apiVersion"], "kind": crd["kind"], "metadata": kept, "spec": crd["spec"]})
        rig.start_program("jobset")


def test_a_kind_that_is_missing_is_named_with_what_installs_it(own_rig: Rig, instance: ClusterStack) -> None:
    with no_jobsets(own_rig):
        job = submit(instance, "no-jobsets")
        lacks = "The cluster does not serve jobsets of jobset.x-k8s.io/v1alpha2"
        waits = wait_said(instance, job["id"], lacks, "an administrator has to install JobSet: kubectl apply")
        assert (waits["phase"], waits["reason"]["code"]) == ("Misconfigured", "CreateFailed")
    ended_well(instance, job)
