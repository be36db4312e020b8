"""The JobSet as it is applied: the same every time, so that suspending and resuming change one field."""

from typing import Any

import pytest

from jobs.builders import build
from tests.unit.builders.samples import REAL, env, main, one, part, pod, rjob, runtime, trainjob


def jobset_of(*jobs, trainer=None, **spec):
    rt = runtime(*(jobs or (rjob("node", "trainer"),)))
    rt["spec"]["template"]["spec"].update(spec)
    return one(build(trainjob(trainer or {}), rt, REAL), "JobSet")


def claims(retention=None):
    policy = {"templates": [{"metadata": {"name": "work"}, "spec": {}}]}
    return [policy | ({"retentionPolicy": retention} if retention is not None else {})]


@pytest.mark.parametrize(
    ("given", "kept"), [(None, "Delete"), ({}, "Delete"), ({"whenDeleted": "Retain"}, "Retain")], ids=str
)
def test_retention_is_written_out(given, kept):
    [policy] = jobset_of(volumeClaimPolicies=claims(given))["spec"]["volumeClaimPolicies"]
    assert policy["retentionPolicy"] == {"whenDeleted": kept}


def test_pods_leave_the_volume_of_a_claim_to_jobset():
    volumes = [{"name": "work", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]
    jobset = jobset_of(rjob("node", "trainer", volumes=volumes), volumeClaimPolicies=claims())
    assert [volume["name"] for volume in pod(jobset, "node")["volumes"]] == ["other"]


def test_empty_texts_and_zero_indices_are_left_out():
    jobset = jobset_of(
        rjob("node", "trainer", priorityClassName="", schedulerName=""),
        coordinator={"replicatedJob": "node", "jobIndex": 0, "podIndex": 1},
    )
    assert jobset["spec"]["coordinator"] == {"replicatedJob": "node", "podIndex": 1}
    assert not {"priorityClassName", "schedulerName"} & pod(jobset, "node").keys()


def test_counts_of_other_jobs_are_kept():
    other = rjob("other")
    other["template"]["spec"].update(parallelism=0, completions=3)
    jobset = jobset_of(rjob("node", "trainer"), other)
    assert (part(jobset, "other")["template"]["spec"]["parallelism"]) == 0
    assert (part(jobset, "other")["template"]["spec"]["completions"]) == 3


def test_trainer_values_need_a_labelled_job():
    jobset = jobset_of(rjob("node"), trainer={"image": "x", "numNodes": 3, "env": [{"name": "A", "value": "1"}]})
    assert main(jobset, "node")["image"] == "registry.example/app:1"
    assert env(main(jobset, "node")) == {}


def test_empty_lists_clear_the_runtimes_command():
    target = main(
        jobset_of(rjob("node", "trainer", command=["a"], args=["b"]), trainer={"command": [], "args": []}), "node"
    )
    assert (target["command"], target["args"]) == ([], [])


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (2, "2"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("16Gi", "16Gi"),
        ("1e3", "1e3"),
    ],
)
def test_quantities_have_the_form_in_which_they_are_stored(given: Any, stored: str) -> None:
    """Applied again in another form, a JobSet would change, and one with claims be refused."""
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": given}}}}
    made = runtime(rjob("node", "trainer", resources={"limits": {"x.io/a": given}}), policy={"torch": {}})
    made["spec"]["template"]["spec"]["volumeClaimPolicies"] = [{"templates": [claim]}]
    jobset = one(build(trainjob(), made, REAL), "JobSet")
    assert main(jobset, "node")["resources"]["limits"] == {"x.io/a": stored}
    [template] = jobset["spec"]["volumeClaimPolicies"][0]["templates"]
    assert (template["spec"]["resources"]["requests"], template["status"]) == ({"storage": stored}, {})
