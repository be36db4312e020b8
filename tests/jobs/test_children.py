"""The children of a job stay as trainui made them while it runs, and are not made again once it has ended."""

import json

import pytest

from tests.jobs.tools import FOREVER, act, objects, pods, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack2")


def named(stack: Stack, kind: str, name: str) -> Json | None:
    """Return one object of the project, or None."""
    return next((o for o in objects(stack, kind) if o["metadata"]["name"] == name), None)


def child(stack: Stack, kind: str, owner: str) -> Json:
    """Return the child of a kind that a TrainJob owns."""
    found = [
        o
        for o in objects(stack, kind)
        if any(r["kind"] == "TrainJob" and r["name"] == owner for r in o["metadata"].get("ownerReferences") or [])
    ]
    assert len(found) == 1, found
    return found[0]


def reads(stack: Stack, kind: str, name: str, uid: str, *path: str) -> object:
    """Return a field of an object if it is still the one with this uid, else None."""
    obj: Json | None = named(stack, kind, name)
    if obj is None or obj["metadata"]["uid"] != uid:
        return None
    value: object = obj
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def patch(stack: Stack, kind: str, name: str, change: Json) -> None:
    stack.kubectl("patch", kind, name, "-n", stack.project, "--type=merge", "-p", json.dumps(change))


def remove(stack: Stack, kind: str, name: str) -> None:
    stack.kubectl("delete", kind, name, "-n", stack.project)


def test_edited_children_are_put_right(stack: Stack) -> None:
    job = stack.submit(FOREVER, name="edited", nodes=2)
    stack.wait(job["id"], "Running")
    before = uids(pods(stack, "edited"))
    jobset, group = child(stack, "jobsets", "edited"), child(stack, "podgroups", "edited")
    label = "trainui.dev/trainjob"
    mark = jobset["metadata"]["labels"][label]
    patch(stack, "jobset", "edited", {"metadata": {"labels": {label: "somebody-else"}}})
    patch(stack, "podgroup", group["metadata"]["name"], {"metadata": {"labels": {label: "somebody-else"}}})
    for kind, obj in (("jobsets", jobset), ("podgroups", group)):
        meta = obj["metadata"]
        wait_for(
            lambda k=kind, m=meta: reads(stack, k, m["name"], m["uid"], "metadata", "labels", label) == mark,  # type: ignore[misc]
            90,
            f"the label of {kind} to be put right",
        )
    assert uids(pods(stack, "edited")) == before  # nothing had to start anew
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_deleted_jobset_is_made_again_and_runs(stack: Stack) -> None:
    job = stack.submit(FOREVER, name="robbed", nodes=2)
    stack.wait(job["id"], "Running")
    before = uids(pods(stack, "robbed"))
    remove(stack, "jobset", "robbed")

    def back() -> bool:
        now = pods(stack, "robbed")
        return len(now) == 2 and not before & uids(now) and stack.job(job["id"])["phase"] == "Running"

    wait_for(back, 90, "the job to run again")
    assert stack.job(job["id"])["nodes"] == {"expected": 2, "ready": 2}
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_deleted_pod_group_is_made_again(stack: Stack) -> None:
    """Kubernetes keeps it until its pods have ended; the next run gets a new one."""
    job = stack.submit(FOREVER, name="ungrouped", nodes=2)
    stack.wait(job["id"], "Running")
    group = child(stack, "podgroups", "ungrouped")["metadata"]
    stack.kubectl("delete", "podgroup", group["name"], "-n", stack.project, "--wait=false")
    act(stack, job["id"], "suspend")
    stack.wait(job["id"], "Suspended")
    act(stack, job["id"], "resume")
    assert stack.wait(job["id"], "Running")["nodes"]["ready"] == 2
    assert child(stack, "podgroups", "ungrouped")["metadata"]["uid"] != group["uid"]
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_the_hostfile_of_an_mpi_job_is_put_right(stack: Stack) -> None:
    job = stack.submit("sleep 600", name="hosts", blueprint="mpi-distributed", parameter="program")
    stack.wait(job["id"], "Running")
    config = next(
        c for c in objects(stack, "configmaps") if "hostfile" in c["data"] and "hosts-node-0-0" in c["data"]["hostfile"]
    )
    name, uid, data = config["metadata"]["name"], config["metadata"]["uid"], config["data"]
    patch(stack, "configmap", name, {"data": {"hostfile": "127.0.0.1 slots=99\n"}})
    wait_for(lambda: reads(stack, "configmaps", name, uid, "data") == data, 90, "the hostfile to be put right")
    remove(stack, "configmap", name)
    wait_for(lambda: (named(stack, "configmaps", name) or {}).get("data") == data, 90, "the hostfile to be made again")
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_a_finished_job_is_not_run_again(stack: Stack) -> None:
    job = stack.submit("echo only once", name="over", nodes=2)
    done = stack.wait(job["id"])
    assert done["phase"] == "Succeeded"
    wait_for(
        lambda: not [g for g in objects(stack, "podgroups") if "over" in g["metadata"]["name"]],
        90,
        "its pod group to go",
    )
    remove(stack, "jobset", "over")
    wait_for(lambda: not pods(stack, "over"), 90, "its pods to go with it")
    marker = stack.submit(
        "true", name="after-over"
    )  # whatever was to happen to the other has happened when this has ended
    stack.wait(marker["id"])
    again = stack.job(job["id"])
    assert (again["phase"], again["reason"], again["finished_at"]) == ("Succeeded", done["reason"], done["finished_at"])
    assert named(stack, "jobsets", "over") is None
    assert stack.log(job["id"]).count("only once") == 2
    with stack.client() as client:
        nodes = client.get(f"/api/v1/trainjobs/{job['id']}/nodes").json()["items"]
    assert [(n["rank"], n["state"]) for n in nodes] == [(0, "succeeded"), (1, "succeeded")]
