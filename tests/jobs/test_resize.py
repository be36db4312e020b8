"""A job gets another number of nodes by an annotation, since spec.trainer never changes; what a JobSet cannot change it is made anew for."""

import json

import pytest

from tests.jobs.tools import FOREVER, act, objects, pods, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack2")

NUM_NODES = "trainui.dev/num-nodes"


def annotate(stack: Stack, name: str, nodes: int) -> None:
    stack.kubectl("annotate", "--overwrite", "trainjob", name, "-n", stack.project, f"{NUM_NODES}={nodes}")


def jobset(stack: Stack, name: str) -> Json:
    """Return a JobSet; nothing while it is made anew."""
    return next((o for o in objects(stack, "jobsets") if o["metadata"]["name"] == name), {})


def parallelism(stack: Stack, name: str) -> int:
    jobs = jobset(stack, name).get("spec", {}).get("replicatedJobs", [])
    return sum(job["template"]["spec"]["parallelism"] for job in jobs if job["name"] == "node")


def suspended(stack: Stack, job: Json) -> None:
    act(stack, job["id"], "suspend")
    stack.wait(job["id"], "Suspended")


def test_a_suspended_job_starts_again_with_more_nodes(stack: Stack) -> None:
    job = stack.submit(FOREVER, name="grows", nodes=1, cpu="100m")
    stack.wait(job["id"], "Running")
    suspended(stack, job)
    annotate(stack, "grows", 3)
    wait_for(lambda: parallelism(stack, "grows") == 3, 90, "the JobSet to be made anew")
    assert stack.job(job["id"])["phase"] == "Suspended"
    act(stack, job["id"], "resume")
    assert stack.wait(job["id"], "Running")["nodes"] == {"expected": 3, "ready": 3}
    assert len(pods(stack, "grows")) == 3
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_running_job_keeps_its_nodes_until_it_stands_still(stack: Stack) -> None:
    job = stack.submit(FOREVER, name="shrinks", nodes=2, cpu="100m")
    stack.wait(job["id"], "Running")
    before, made = uids(pods(stack, "shrinks")), jobset(stack, "shrinks")["metadata"]["uid"]
    annotate(stack, "shrinks", 1)
    marker = stack.submit(
        "true", name="after-shrinks"
    )  # what was to happen to the other has happened when this has ended
    stack.wait(marker["id"])
    assert (uids(pods(stack, "shrinks")), jobset(stack, "shrinks")["metadata"]["uid"]) == (before, made)
    assert stack.job(job["id"])["nodes"] == {"expected": 2, "ready": 2}
    suspended(stack, job)
    act(stack, job["id"], "resume")
    wait_for(lambda: stack.job(job["id"])["nodes"] == {"expected": 1, "ready": 1}, 90, "one node to run")
    assert len(pods(stack, "shrinks")) == 1
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_job_with_volumes_of_its_own_keeps_them_and_resumes(stack: Stack) -> None:
    """Making its JobSet anew would delete them: the change does not reach it, and an event says so."""
    claims = {
        "templates": [
            {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ]
    }
    container = {
        "name": "node",
        "image": "none",
        "command": ["/bin/sh", "-ec", FOREVER],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    spec = {"replicatedJobs": [{"name": "node", "template": template}], "volumeClaimPolicies": [claims]}
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1"}
    runtime = {
        **head,
        "kind": "TrainingRuntime",
        "metadata": {"name": "claims", "namespace": stack.project},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": spec}},
    }
    trainjob = {
        **head,
        "kind": "TrainJob",
        "metadata": {"name": "keeps", "namespace": stack.project},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "claims"}, "suspend": True},
    }
    for obj in (runtime, trainjob):
        stack.kubectl("create", "-f", "-", stdin=json.dumps(obj))
    wait_for(lambda: bool(jobset(stack, "keeps")), 90, "its JobSet")
    made = jobset(stack, "keeps")["metadata"]["uid"]
    annotate(stack, "keeps", 2)
    reason = "reason=TrainJobResourcesCreationFailed,involvedObject.name=keeps"

    def said() -> bool:
        events = json.loads(
            stack.kubectl("get", "events", "-n", stack.project, "--field-selector", reason, "-o", "json")
        )
        return any("its volumes would go with it" in event["message"] for event in events["items"])

    wait_for(said, 90, "the event")
    change = json.dumps({"spec": {"suspend": False}})
    stack.kubectl("patch", "trainjob", "keeps", "-n", stack.project, "--type=merge", "-p", change)
    wait_for(lambda: bool(pods(stack, "keeps")), 90, "its pod")
    assert (jobset(stack, "keeps")["metadata"]["uid"], parallelism(stack, "keeps")) == (made, 1)
    stack.kubectl("delete", "trainjob", "keeps", "-n", stack.project)
