"""Which gang scheduler a job gets, what its record says, and edges that a gang cannot keep."""

import pytest

from jobs.builders import BuildError, Capabilities, build, expected
from tests.unit.builders.samples import REAL, mpi_runtime, one, part, pod, rjob, runtime, trainjob

GROUPS = {
    "in-tree": "scheduling.k8s.io/v1beta1",
    "coscheduling": "scheduling.x-k8s.io/v1alpha1",
    "volcano": "scheduling.volcano.sh/v1beta1",
}
NONE = Capabilities()
ONLY_VOLCANO = Capabilities(gang_schedulers=frozenset({"volcano"}), auto_gang="volcano")

CHOICES = [
    ({}, None, REAL, None),
    ({"coscheduling": {}}, None, REAL, "coscheduling"),
    ({"volcano": {}}, None, REAL, "volcano"),
    ({}, "auto", REAL, "in-tree"),
    ({}, "auto", ONLY_VOLCANO, "volcano"),
    ({}, "auto", NONE, None),
    ({"volcano": {}}, "none", REAL, None),
    ({"volcano": {}}, "in-tree", REAL, "in-tree"),
    ({"volcano": {}}, "in_tree", REAL, "in-tree"),
    ({"coscheduling": {}, "volcano": {}}, "volcano", REAL, "volcano"),
    ({"coscheduling": {}}, None, NONE, "coscheduling"),  # missing: seen and said, not silently ungrouped
    ({"coscheduling": {}}, None, Capabilities.local(), "in-tree"),
    ({}, None, Capabilities.local(), None),
]


@pytest.mark.parametrize(("policy", "annotation", "capabilities", "wanted"), CHOICES)
def test_choice(policy, annotation, capabilities, wanted):
    rt = runtime(rjob("node", "trainer"), podGroupPolicy=policy)
    job = trainjob({}, annotations={"trainui.dev/gang-scheduler": annotation} if annotation else None)
    groups = [o["apiVersion"] for o in build(job, rt, capabilities) if o["kind"] == "PodGroup"]
    assert groups == ([GROUPS[wanted]] if wanted else [])
    record = expected(job, rt, capabilities)["gang"]
    assert (record and record["scheduler"]) == wanted


def test_the_pod_group_has_the_version_that_the_cluster_serves():
    job = trainjob({}, annotations={"trainui.dev/gang-scheduler": "in-tree"})
    older = Capabilities(gang_schedulers=frozenset({"in_tree"}), auto_gang="in_tree", in_tree_version="v1alpha2")
    made = {}
    for capabilities in (older, REAL):
        objects = build(job, runtime(rjob("node", "trainer")), capabilities)
        made[capabilities.in_tree_version] = [o for o in objects if o["kind"] == "PodGroup"]
    (old,), (new,) = made["v1alpha2"], made["v1beta1"]
    assert (old.pop("apiVersion"), new.pop("apiVersion")) == ("scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1")
    assert old == new


@pytest.mark.parametrize(
    ("policy", "annotation"), [({"coscheduling": {}, "volcano": {}}, None), ({}, "yunikorn")], ids=["two", "unknown"]
)
def test_choices_that_cannot_be_built(policy, annotation):
    job = trainjob({}, annotations={"trainui.dev/gang-scheduler": annotation} if annotation else None)
    with pytest.raises(BuildError):
        build(job, runtime(rjob("node", "trainer"), podGroupPolicy=policy), REAL)


def test_a_volcano_queue_without_a_name():
    rt = runtime(rjob("node", "trainer"), podGroupPolicy={"volcano": {}})
    rt["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": ""}}
    with pytest.raises(BuildError):
        build(trainjob({}), rt, REAL)


NAMES = [("in-tree", "", "default-scheduler"), ("volcano", "", "volcano"), ("volcano", "mine", "mine"),
         ("coscheduling", "", "scheduler-plugins-scheduler")]  # fmt: skip


@pytest.mark.parametrize(("scheduler", "named", "wanted"), NAMES)
def test_record_names_the_scheduler_of_the_pods(scheduler, named, wanted):
    rt = runtime(rjob("node", "trainer", **({"schedulerName": named} if named else {})))
    job = trainjob({"numNodes": 2}, annotations={"trainui.dev/gang-scheduler": scheduler})
    assert expected(job, rt, REAL)["gang"] == {
        "scheduler": scheduler,
        "scheduler_name": wanted,
        "podgroup": "job",
        "min_member": 2,
        "members": ["node"],
    }
    seen = pod(one(build(job, rt, REAL), "JobSet"), "node").get("schedulerName", "default-scheduler")
    assert seen == wanted


def test_a_replaced_scheduler_leaves_no_foreign_name():
    rt = runtime(rjob("node", "trainer", schedulerName="elsewhere"), podGroupPolicy={"coscheduling": {}})
    assert "schedulerName" not in pod(one(build(trainjob({}), rt, Capabilities.local()), "JobSet"), "node")
    assert expected(trainjob({}), rt, Capabilities.local())["gang"]["scheduler_name"] == "default-scheduler"


def test_expected_has_the_shape_of_the_record():
    rt = mpi_runtime(False)
    jobs = rt["spec"]["template"]["spec"]["replicatedJobs"]
    jobs.insert(0, rjob("model-initializer", "model-initializer", container="model-initializer"))
    assert expected(trainjob({"numNodes": 2}), rt, REAL) == {
        "replicated_jobs": [
            {"replicated_job": "model-initializer", "count": 1, "role": "model-initializer", "runs_ranks": False},
            {"replicated_job": "node", "count": 2, "role": None, "runs_ranks": True},
            {"replicated_job": "launcher", "count": 1, "role": "trainer", "runs_ranks": False},
        ],
        "gang": None,
    }


def test_expected_leaves_out_what_has_no_pods():
    names = [e["replicated_job"] for e in expected(trainjob({}), mpi_runtime(), REAL)["replicated_jobs"]]
    assert names == ["launcher"]


def test_expected_tells_the_gang_of_a_suspended_job():
    job = trainjob({}, suspend=True, annotations={"trainui.dev/gang-scheduler": "auto"})
    assert expected(job, runtime(rjob("node", "trainer")), REAL)["gang"]["min_member"] == 1


def in_order(*jobs):
    rt = mpi_runtime(edge=False)
    spec = rt["spec"]["template"]["spec"]
    spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    spec["replicatedJobs"] = [*jobs, *spec["replicatedJobs"]]
    return rt


def test_a_start_in_order_is_spelled_out_when_it_would_split_the_gang():
    rt = in_order(rjob("cache", container="c"))
    job = trainjob({"numNodes": 2}, annotations={"trainui.dev/gang-scheduler": "auto"})
    jobset = one(build(job, rt, REAL), "JobSet")
    assert jobset["spec"]["startupPolicy"]["startupPolicyOrder"] == "AnyOrder"
    ready = [{"name": "cache", "status": "Ready"}]
    assert part(jobset, "node")["dependsOn"] == ready
    assert part(jobset, "launcher")["dependsOn"] == ready
    assert expected(job, rt, REAL)["gang"]["members"] == ["node", "launcher"]


def test_a_start_in_order_stays_without_a_gang():
    jobset = one(build(trainjob({"numNodes": 2}), in_order(), REAL), "JobSet")
    assert jobset["spec"]["startupPolicy"]["startupPolicyOrder"] == "InOrder"
    assert "dependsOn" not in part(jobset, "launcher")


def test_a_dropped_edge_keeps_the_initializers_in_front():
    rt = mpi_runtime()
    jobs = rt["spec"]["template"]["spec"]["replicatedJobs"]
    jobs.insert(0, rjob("dataset-initializer", "dataset-initializer", container="dataset-initializer"))
    jobs[1]["dependsOn"] = complete = [{"name": "dataset-initializer", "status": "Complete"}]
    job = trainjob({"numNodes": 2}, annotations={"trainui.dev/gang-scheduler": "auto"})
    jobset = one(build(job, rt, REAL), "JobSet")
    assert part(jobset, "launcher")["dependsOn"] == complete
    assert part(jobset, "node")["dependsOn"] == complete


def test_ranks_that_wait_for_other_ranks_to_finish_are_another_gang():
    second = rjob("second", "trainer", depends_on=[{"name": "node", "status": "Complete"}])
    job = trainjob({"numNodes": 2}, annotations={"trainui.dev/gang-scheduler": "auto"})
    rt = runtime(rjob("node", "trainer"), second, policy={})
    assert expected(job, rt, REAL)["gang"]["members"] == ["node"]
    assert part(one(build(job, rt, REAL), "JobSet"), "second")["dependsOn"]
