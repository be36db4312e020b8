"""What is planned for the children of a job, and how it is carried out on a cluster: nothing is taken from others, nothing is lost."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.reconcile.carry_out import Blocked, Done, Refused, carry_out
from jobs.reconcile.children import Applied, Plan, key_of, plan
from jobs.reconcile.mirror import Mirror
from tests.unit.cluster.server import answer, in_turn, refusal, serving, write_kubeconfig
from tests.unit.localcluster_api.rig import RunningServer
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.errors import NotFound

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
UID = "8b6fb66a-6f0e-4ff0-9d5c-1f7c2f4f7d11"
OTHER = "0e0cbb2b-94be-4c3f-9f0e-3b1c9c4e7a22"
Object = dict[str, Any]
_numbers = itertools.count(1)


def owned(kind: str, api_version: str, name: str, namespace: str = "ns", uid: str = UID, **content: Any) -> Object:
    owner = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "job",
        "uid": uid,
        "controller": True,
    }
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def config_map(namespace: str = "ns", **data: str) -> Object:
    return owned("ConfigMap", "v1", "job-x", namespace, data=data)


def jobset(namespace: str = "ns", suspend: bool = False, nodes: int = 1, **spec: Any) -> Object:
    pod = {"spec": {"containers": [{"name": "node", "image": "example/app:1"}]}}
    template = {"spec": {"parallelism": nodes, "completions": nodes, "template": pod}}
    replicated = [{"name": "node", "replicas": 1, "template": template}]
    content = {"replicatedJobs": replicated, "suspend": suspend, **spec}
    return owned("JobSet", "jobset.x-k8s.io/v1alpha2", "job", namespace, spec=content)


def group(uid: str = UID, **metadata: Any) -> Object:
    obj = owned("PodGroup", "scheduling.k8s.io/v1beta1", "job", uid=uid)
    return obj | {"metadata": obj["metadata"] | metadata}


def seen(*objects: Object) -> Mirror:
    mirror = Mirror()
    for obj in objects:
        mirror.objects.setdefault(kinds.kind_of(obj).key, {})[obj["metadata"]["name"]] = obj
    return mirror


class TestPlan:
    """The pure part."""

    def test_what_the_job_never_had_is_new(self) -> None:
        todo = plan([config_map(), jobset()], Mirror(), {}, UID, NOW)
        assert [obj["kind"] for obj in todo.apply] == ["ConfigMap", "JobSet"]
        assert todo.new == {key_of(obj) for obj in todo.apply}

    def test_what_it_had_and_lost_is_not_new(self) -> None:
        applied: Applied = {
            key_of(config_map()): {"hash": "other", "version": "1", "at": NOW.isoformat(), "seen": True}
        }
        todo = plan([config_map()], Mirror(), applied, UID, NOW)
        assert (len(todo.apply), todo.new) == (1, set())

    @pytest.mark.parametrize(
        ("stop", "objects", "deleted"),
        [
            (True, [jobset(), group()], ["JobSet", "PodGroup"]),
            (False, [jobset(), group()], ["PodGroup"]),
            (True, [group(uid=OTHER)], []),
            (True, [group(deletionTimestamp="2026-11-01T12:00:00Z")], []),
        ],
    )
    def test_at_the_end_the_pod_group_goes_and_what_we_ended(
        self, stop: bool, objects: list[Object], deleted: list[str]
    ) -> None:
        todo = plan([], seen(*objects), {}, UID, NOW, stop=stop)
        assert [obj["kind"] for obj in todo.delete] == deleted


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("data"))
    yield running
    running.stop()


class World:
    """A namespace of a local cluster without controllers, and what one job has applied there."""

    def __init__(self, server: RunningServer) -> None:
        self.cluster = Cluster.from_kubeconfig(str(server.folder.kubeconfig))
        self.namespace = f"case-{next(_numbers)}"
        self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        self.applied: Applied = {}

    def bring(self, *objects: Object, new: bool | None = None) -> Done:
        """Carry out a plan that applies these."""
        keys = {key_of(obj) for obj in objects}
        todo = Plan(apply=list(objects), new=keys - self.applied.keys() if new is None else (keys if new else set()))
        done = carry_out(self.cluster, replace(todo, applied=dict(self.applied)), UID, NOW)
        self.applied = done.applied
        return done

    def get(self, kind: kinds.Kind, name: str) -> Object | None:
        try:
            return self.cluster.get(kind, self.namespace, name)
        except NotFound:
            return None


@pytest.fixture
def world(server: RunningServer) -> World:
    return World(server)


@pytest.mark.parametrize("owner", ["", OTHER])
def test_an_object_of_somebody_else_is_left_alone(world: World, owner: str) -> None:
    theirs = config_map(world.namespace, a="theirs")
    if owner:
        theirs["metadata"]["ownerReferences"][0]["uid"] = owner
    else:
        del theirs["metadata"]["ownerReferences"]
    world.cluster.create(theirs)
    with pytest.raises(Blocked, match="ConfigMap job-x exists already"):
        world.bring(config_map(world.namespace, a="ours"))
    kept = world.get(kinds.CONFIG_MAP, "job-x")
    assert kept is not None
    assert kept["data"] == {"a": "theirs"}
    world.cluster.delete(kinds.CONFIG_MAP, world.namespace, "job-x")
    assert world.bring(config_map(world.namespace, a="ours")).applied


def test_our_own_object_that_we_forgot_is_taken_up_again(world: World) -> None:
    world.bring(config_map(world.namespace, a="1"))
    world.applied = {}
    world.bring(config_map(world.namespace, a="2"))
    found = world.get(kinds.CONFIG_MAP, "job-x")
    assert found is not None
    assert found["data"] == {"a": "2"}


def test_what_can_never_be_made_is_refused_with_its_fields(world: World) -> None:
    wrong = jobset(world.namespace, successPolicy={"operator": "All", "targetReplicatedJobs": ["none"]})
    with pytest.raises(Refused) as caught:
        world.bring(wrong)
    assert caught.value.error.causes[0]["field"] == "spec.successPolicy.targetReplicatedJobs[0]"


REFUSED = refusal(422, "Invalid", "metadata.annotations: Invalid value: null")
GONE = refusal(404, "NotFound", "not found")


def test_a_jobset_that_goes_while_its_change_is_refused_is_made_anew(tmp_path: Path) -> None:
    made = answer(201, jobset() | {"metadata": jobset()["metadata"] | {"uid": "u", "resourceVersion": "1"}})
    with serving(in_turn(REFUSED, GONE, made)) as api:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "kubeconfig", api.url))
        done = carry_out(cluster, Plan(apply=[jobset()]), UID, NOW)
    assert key_of(jobset()) in done.applied


def test_what_is_refused_as_new_is_refused_for_good(tmp_path: Path) -> None:
    with serving(in_turn(REFUSED, GONE, REFUSED, GONE)) as api:
        cluster = Cluster.from_kubeconfig(write_kubeconfig(tmp_path / "kubeconfig", api.url))
        with pytest.raises(Refused, match="null"):
            carry_out(cluster, Plan(apply=[jobset()]), UID, NOW)


def test_a_running_jobset_keeps_its_form(world: World) -> None:
    world.bring(jobset(world.namespace))
    before = world.get(kinds.JOB_SET, "job")
    done = world.bring(jobset(world.namespace, nodes=2))
    assert done.kept.startswith("The change of the JobSet waits until it is suspended.")
    assert not done.again
    assert world.get(kinds.JOB_SET, "job") == before
    assert done.applied[key_of(jobset())]["seen"] is True  # nothing is tried again until it changes once more


def test_a_changed_jobset_can_be_suspended(world: World) -> None:
    world.bring(jobset(world.namespace))
    assert world.bring(jobset(world.namespace, suspend=True, nodes=2)).again
    held = world.get(kinds.JOB_SET, "job")
    assert held is not None
    assert held["spec"]["suspend"] is True


def test_a_suspended_jobset_that_cannot_change_is_made_anew(world: World) -> None:
    world.bring(jobset(world.namespace, suspend=True))
    before = world.get(kinds.JOB_SET, "job")
    assert before is not None
    wanted = jobset(world.namespace, suspend=True, nodes=2)
    assert world.bring(wanted).again
    going = world.get(kinds.JOB_SET, "job")
    assert going is not None
    assert going["metadata"]["deletionTimestamp"]
    assert world.bring(wanted).again  # still going: not deleted twice, not taken for refused
    world.cluster.merge_patch(kinds.JOB_SET, world.namespace, "job", {"metadata": {"finalizers": None}})
    assert not world.bring(wanted).again
    after = world.get(kinds.JOB_SET, "job")
    assert after is not None
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2


@pytest.mark.parametrize(
    ("retention", "stays"), [({}, True), ({"whenDeleted": "Delete"}, True), ({"whenDeleted": "Retain"}, False)]
)
def test_a_jobset_whose_volumes_would_go_with_it_stays(world: World, retention: Object, stays: bool) -> None:
    template = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    claims = [{"templates": [template], "retentionPolicy": {"whenDeleted": "Delete"} | retention}]
    world.bring(jobset(world.namespace, suspend=True, volumeClaimPolicies=claims))
    done = world.bring(jobset(world.namespace, suspend=True, nodes=2, volumeClaimPolicies=claims))
    live = world.get(kinds.JOB_SET, "job")
    assert live is not None
    assert ("deletionTimestamp" in live["metadata"]) is not stays
    assert done.kept.startswith("The JobSet stays as it is, because its volumes would go with it.") is stays
    if stays:
        assert world.bring(jobset(world.namespace, nodes=2, volumeClaimPolicies=claims)).again
        resumed = world.get(kinds.JOB_SET, "job")
        assert resumed is not None
        assert resumed["spec"]["suspend"] is False
