"""Plays the machine of the local cluster's second kind, which runs nothing: writes the status of pods."""

import time

from tests.stack import Json, Stack, wait_for
from trainui.cluster import kinds
from trainui.cluster.client import Cluster

MACHINES = "sim-0:cpu=4000,memory=8000Gi,pods=20000,kind=status"
SETUP_SECONDS = 900.0
REST_SECONDS = 2.0  # what was left to do for new pods is done


def cluster_of(stack: Stack) -> Cluster:
    """Return a client of the instance's local cluster."""
    return Cluster.from_kubeconfig(str(stack.data / "cluster" / "kubeconfig"))


def run_all(stack: Stack, prefix: str, wanted: int) -> None:
    """Let all pods run whose names begin so, as soon as they are placed, and wait until the rows of their jobs count `wanted` of them."""
    cluster = cluster_of(stack)
    running = {p["metadata"]["name"] for p in _pods(cluster, stack, prefix) if p["status"].get("phase") == "Running"}

    def all_run() -> bool:
        for pod in _pods(cluster, stack, prefix):
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") and name not in running:
                write_status(cluster, pod, ready=True)
                running.add(name)
        return len(running) == wanted

    wait_for(all_run, SETUP_SECONDS, f"{wanted} pods to run")
    wait_for(lambda: ready_by_rows(stack, prefix) == wanted, SETUP_SECONDS, "the rows to say so")
    time.sleep(REST_SECONDS)


def ready_by_rows(stack: Stack, query: str) -> int:
    """Return how many nodes of the jobs found are ready, by their rows."""
    with stack.client() as client:
        items = client.get("/api/v1/trainjobs", params={"limit": 200, "q": query}).json()["items"]
    return sum(item["nodes"]["ready"] for item in items)


def _pods(cluster: Cluster, stack: Stack, prefix: str) -> list[Json]:
    return [pod for pod in cluster.list(kinds.POD, stack.project)[0] if pod["metadata"]["name"].startswith(prefix)]


def write_status(cluster: Cluster, pod: Json, ready: bool) -> None:
    """Write the status of a pod as a machine would."""
    conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] != "Ready"]
    conditions.append({"type": "Ready", "status": "True" if ready else "False"})
    running = {"startedAt": pod["metadata"]["creationTimestamp"]}
    containers = [
        {
            "name": c["name"],
            "image": c["image"],
            "ready": ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": running},
        }
        for c in pod["spec"]["containers"]
    ]
    patch = {"status": {"phase": "Running", "conditions": conditions, "containerStatuses": containers}}
    cluster.merge_patch(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"], patch, subresource="status")
