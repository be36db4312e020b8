"""What each policy injects, on a cluster and where pod names do not resolve."""

import pytest

from jobs.builders import BuildError, Capabilities, Rendezvous, build
from tests.unit.builders.samples import REAL, env, main, one, part, rjob, runtime, trainjob

LOCAL = Capabilities.local(Rendezvous("127.0.0.1", 23456))

DISTRIBUTED = [
    ("torch", REAL, {"PET_NNODES": "3", "PET_MASTER_ADDR": "job-node-0-0.job", "PET_MASTER_PORT": "29500"}, 29500),
    ("torch", LOCAL, {"PET_NNODES": "3", "PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": "23456"}, 23456),
    ("jax", REAL, {"JAX_NUM_PROCESSES": "3", "JAX_COORDINATOR_ADDRESS": "job-node-0-0.job:29500"}, 29500),
    ("jax", LOCAL, {"JAX_NUM_PROCESSES": "3", "JAX_COORDINATOR_ADDRESS": "127.0.0.1:23456"}, 23456),
    ("xgboost", REAL, {"DMLC_TRACKER_URI": "job-node-0-0.job", "DMLC_TRACKER_PORT": "29500", "DMLC_NUM_WORKER": "3"}, 29500),
    ("xgboost", LOCAL, {"DMLC_TRACKER_URI": "127.0.0.1", "DMLC_TRACKER_PORT": "23456", "DMLC_NUM_WORKER": "3"}, 23456),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "capabilities", "wanted", "port"), DISTRIBUTED)
def test_where_ranks_meet(policy, capabilities, wanted, port):
    rt = runtime(rjob("node", "trainer"), policy={policy: {}})
    jobset = one(build(trainjob({"numNodes": 3}), rt, capabilities), "JobSet")
    target = main(jobset, "node")
    assert wanted.items() <= env(target).items()
    assert target["ports"] == [{"containerPort": port}]
    assert part(jobset, "node")["template"]["spec"]["parallelism"] == 3
    assert part(jobset, "node")["template"]["spec"]["completions"] == 3


PROCESSES = [
    ({}, {}, "1"),
    ({"numProcPerNode": 5}, {"limits": {"nvidia.com/gpu": "2"}}, "5"),
    ({}, {"limits": {"nvidia.com/gpu": "2"}}, "auto"),
    ({}, {"limits": {"google.com/tpu": "4"}}, "auto"),
    ({}, {"limits": {"aliyun.com/gpu-mem": "8"}}, "1"),
    ({}, {"limits": {"cpu": "2500m"}}, "3"),
    ({}, {"requests": {"cpu": "100m"}, "limits": {"cpu": "4"}}, "1"),
    ({"resourcesPerNode": {"limits": {"memory": "1Gi"}}}, {"limits": {"nvidia.com/gpu": "2"}}, "auto"),
]


@pytest.mark.parametrize(("trainer", "resources", "wanted"), PROCESSES)
def test_processes_per_node(trainer, resources, wanted):
    rt = runtime(rjob("node", "trainer", resources=resources), policy={"torch": {}})
    target = main(one(build(trainjob(trainer), rt, REAL), "JobSet"), "node")
    assert env(target)["PET_NPROC_PER_NODE"] == wanted


NODES = [
    ({}, None, 4, 4),
    ({"numNodes": 2}, None, 4, 2),
    ({"numNodes": 0}, None, 4, 4),
    ({"numNodes": 2}, "6", 4, 6),
    (None, None, 4, 4),
    (None, None, None, 1),
]


@pytest.mark.parametrize(("trainer", "resized", "of_runtime", "wanted"), NODES)
def test_number_of_nodes(trainer, resized, of_runtime, wanted):
    policy = {"torch": {}} | ({"numNodes": of_runtime} if of_runtime else {})
    job = trainjob(trainer, annotations={"trainui.dev/num-nodes": resized} if resized else None)
    jobset = one(build(job, runtime(rjob("node", "trainer"), policy=policy), REAL), "JobSet")
    assert part(jobset, "node")["template"]["spec"]["parallelism"] == wanted
    assert env(main(jobset, "node"))["PET_NNODES"] == str(wanted)


@pytest.mark.parametrize(
    ("trainer", "annotations", "path"),
    [
        ({"numNodes": -1}, None, "spec.trainer.numNodes"),
        ({"numProcPerNode": 0}, None, "spec.trainer.numProcPerNode"),
        ({"numProcPerNode": -2}, None, "spec.trainer.numProcPerNode"),
        ({}, {"trainui.dev/num-nodes": "many"}, "metadata.annotations[trainui.dev/num-nodes]"),
    ],
)
def test_counts_that_cannot_be(trainer, annotations, path):
    rt = runtime(rjob("node", "trainer"), policy={"torch": {}})
    with pytest.raises(BuildError) as caught:
        build(trainjob(trainer, annotations=annotations), rt, REAL)
    assert [finding.path for finding in caught.value.findings] == [path]


def test_injected_names_come_first_so_that_the_users_may_refer_to_them():
    job = trainjob({"env": [{"name": "RANK_DIR", "value": "/data/$(PET_NODE_RANK)"}, {"name": "EMPTY"}]})
    rt = runtime(rjob("node", "trainer", env=[{"name": "A", "value": "1"}]), policy={"torch": {}})
    target = main(one(build(job, rt, REAL), "JobSet"), "node")
    names = [entry["name"] for entry in target["env"]]
    assert names.index("PET_NODE_RANK") < names.index("A") < names.index("RANK_DIR")
    assert env(target)["EMPTY"] == ""


def test_xgboost_counts_every_accelerator_of_every_node():
    rt = runtime(rjob("node", "trainer", resources={"limits": {"nvidia.com/gpu": "4"}}), policy={"xgboost": {}})
    target = main(one(build(trainjob({"numNodes": 2}), rt, REAL), "JobSet"), "node")
    assert env(target)["DMLC_NUM_WORKER"] == "8"


def test_a_job_of_another_cluster_is_not_built():
    job = trainjob({}, managedBy="kueue.x-k8s.io/multikueue")
    assert build(job, runtime(rjob("node", "trainer")), REAL) == []


def test_a_name_without_room_for_pod_names():
    job = trainjob({})
    job["metadata"]["name"] = "j" * 49
    with pytest.raises(BuildError) as caught:
        build(job, runtime(rjob("node", "trainer")), REAL)
    assert caught.value.findings[0].params["max_length"] == 48


def test_a_runtime_without_jobs_cannot_be_built():
    with pytest.raises(BuildError):
        build(trainjob({}), runtime(), REAL)


def test_children_belong_to_the_trainjob():
    objects = build(trainjob({}), runtime(rjob("node", "trainer"), podGroupPolicy={"volcano": {}}), REAL)
    assert [o["kind"] for o in objects] == ["ConfigMap", "PodGroup", "JobSet"]
    for obj in objects:
        [owner] = obj["metadata"]["ownerReferences"]
        assert owner == {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "name": "job",
            "uid": "u-1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
        assert obj["metadata"]["namespace"] == "ml"
        assert obj["metadata"]["labels"]["trainui.dev/trainjob"] == "job"


@pytest.mark.parametrize("suspend", [True, False])
def test_suspend_is_passed_on_and_holds_no_pod_group(suspend):
    rt = runtime(rjob("node", "trainer"), podGroupPolicy={"coscheduling": {}})
    objects = build(trainjob({}, suspend=suspend), rt, REAL)
    assert one(objects, "JobSet")["spec"]["suspend"] is suspend
    assert any(o["kind"] == "PodGroup" for o in objects) is not suspend
