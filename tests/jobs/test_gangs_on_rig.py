"""Gangs on a real Kubernetes with its own gang scheduler and with Coscheduling: together or not at all, why it waits, loss, preemption, no deadlock.

The pods live on fake machines of the test's own; what is asserted about time is read from the pods themselves.
"""

import re
from datetime import datetime

import pytest

from tests.jobs.gangs_on_rig import GPU, part, pods, runtime, submit
from tests.jobs.gangs_on_rig import pool as pool
from tests.rig.rig import Rig
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("rig")
# Coscheduling compares with the whole cluster first, where the gang says what it needs in all.
MISSING = r"\d+ of \d+ machines have too little nvidia.com/gpu free|\d+ more nvidia.com/gpu needed"
WAYS = ("in-tree", "coscheduling")


@pytest.fixture
def stack(_stack_on_kubernetes: Stack) -> Stack:
    return _stack_on_kubernetes


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def scheduled(pod: Json) -> datetime:
    [found] = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled" and c["status"] == "True"]
    return moment(found["lastTransitionTime"])


def finished(pod: Json) -> datetime:
    return moment(pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"])


@pytest.mark.parametrize("way", WAYS)
def test_two_gangs_that_fit_only_one_at_a_time_never_interleave(rig: Rig, stack: Stack, pool: str, way: str) -> None:
    name = runtime(rig, pool, way, [part("node", pool, lives={"run_for": "15s"})])
    first = submit(stack, name, "first", 3)
    stack.wait(first["id"], "Running")
    second = submit(stack, name, "second", 3)
    waits = stack.wait(second["id"], "Waiting")

    def told() -> bool:
        nonlocal waits
        waits = stack.job(second["id"])
        return GPU in waits["reason"]["sentence"] or waits["finished"]

    wait_for(told, 60, "the sentence to name what is missing")
    assert re.search(MISSING, waits["reason"]["sentence"])
    assert waits["place"]["jobs_ahead"] >= 0
    assert waits["largest_gang"] == {"pods": 1, "of": 3, "machines": 1, "replicated_job": "node"}
    with stack.client() as client:
        page = client.get("/api/v1/queues").json()
    assert second["name"] in [
        line["job"]["name"] for queue in page["queues"] for line in queue["waiting"]["items"] if line["job"]
    ]
    done = stack.wait(second["id"], "Succeeded", seconds=120)
    assert [p["name"] for p in done["startup"]][:2] == ["queued", "placed"]
    before, after = pods(stack, first), pods(stack, second)
    assert (len(before), len(after)) == (3, 3)
    assert max(finished(pod) for pod in before) <= min(scheduled(pod) for pod in after)


@pytest.mark.parametrize("way", WAYS)
def test_an_initializer_does_not_deadlock_the_gang(rig: Rig, stack: Stack, pool: str, way: str) -> None:
    lives = {"run_for": "1s"}
    first = part("dataset-initializer", pool, gpus=0, role="dataset-initializer", lives=lives)
    node = part("node", pool, lives=lives, after={"name": "dataset-initializer", "status": "Complete"})
    job = submit(stack, runtime(rig, pool, way, [first, node]), "initialized", 2)
    done = stack.wait(job["id"], "Succeeded", seconds=120)
    assert [(p["name"], p["what"]) for p in done["startup"]][:2] == [("queued", ""), ("initializing", "initializers")]
    assert {pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] for pod in pods(stack, job)} >= {"node"}


@pytest.mark.parametrize("as_node", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_launcher_does_not_deadlock_the_gang(rig: Rig, stack: Stack, pool: str, way: str, as_node: bool) -> None:
    nodes = part("node", pool, role="")
    launcher = part("launcher", pool, lives={"run_for": "2s"}, after={"name": "node", "status": "Ready"})
    launcher["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "node"
    nodes["template"]["metadata"] = {}
    mpi = {
        "mpi": {
            "numProcPerNode": 1,
            "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": "/root/.ssh",
            "runLauncherAsNode": as_node,
        }
    }
    success = {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]}}
    name = runtime(rig, pool, way, [nodes, launcher], mpi, network={"publishNotReadyAddresses": True}, **success)
    job = submit(stack, name, "launched", 3)
    assert stack.wait(job["id"], "Succeeded", seconds=120)["gang"]["min"] == 3


@pytest.mark.parametrize("pool", [2], indirect=True)
def test_preemption_by_priority_is_told(rig: Rig, stack: Stack, pool: str) -> None:
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": pool}, "value": 1000}
    rig.admin.apply(urgent)
    low = submit(stack, runtime(rig, f"{pool}-low", "in-tree", [part("node", pool)]), "low", 2)
    stack.wait(low["id"], "Running")
    parts = [part("node", pool, priorityClassName=pool, lives={"run_for": "20s"})]
    high = submit(stack, runtime(rig, f"{pool}-high", "in-tree", parts), "high", 2)
    taken = stack.wait(low["id"], "Preempted")
    assert taken["reason"]["code"] == "PreemptedByScheduler"
    stack.wait(high["id"], "Succeeded", seconds=120)
    stack.wait(low["id"], "Running", seconds=120)
    rig.admin.delete(urgent)


@pytest.mark.parametrize("pool", [3], indirect=True)
def test_a_silent_machine_is_named_with_the_step_that_frees_it(rig: Rig, stack: Stack, pool: str) -> None:
    keys = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
    soon = [{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3} for key in keys]
    job = submit(stack, runtime(rig, pool, "in-tree", [part("node", pool, tolerations=soon)]), "held-up", 2)
    stack.wait(job["id"], "Running")
    machine = pods(stack, job)[0]["spec"]["nodeName"]
    rig.lose_machine(machine)
    step = f"kubectl taint node {machine} node.kubernetes.io/out-of-service=:NoExecute"
    found: Json = {}

    def named() -> bool:
        nonlocal found
        found = stack.job(job["id"])
        return step in found["reason"]["sentence"]

    stack.wait(job["id"], "Degraded", seconds=120)
    wait_for(named, 120, "the machine and the step that frees it to be named")
    assert (found["phase"], found["reason"]["code"]) == ("Degraded", "NodeLost")
    rig.kubectl(*step.split()[1:])
    stack.wait(job["id"], "Running", seconds=120)
    assert machine not in {pod["spec"]["nodeName"] for pod in pods(stack, job)}
