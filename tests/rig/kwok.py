"""KWOK: machines that are only objects, and the life of the pods on them, which labels and annotations of each pod choose (README.md)."""

import json
from datetime import UTC, datetime
from typing import Any

from tests.rig import programs
from tests.rig.api import Api, wait_until
from tests.rig.site import Site
from tests.rig.stages import LOST, stages

GPU = "nvidia.com/gpu"
FAKE = "kwok.x-k8s.io/node"
# How machines with GPUs are often tainted; pods that ask for GPUs get the toleration from the API server.
TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}


def start(site: Site) -> None:
    """Start it with our stages; every container of its machines has the same log of one line."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")
    log = site.write("fake-machine.log", f"{now} stdout F a fake machine runs nothing\n")
    logs = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "one-line"},
        "spec": {"logs": [{"logsFile": log, "follow": False}]},
    }
    config = site.write("kwok.yaml", "\n---\n".join(json.dumps(document) for document in [*stages(), logs]))
    certificate, key = site.authority.issue("kwok", "kwok", ("127.0.0.1",))
    command = [programs.binary(programs.KWOK), f"--kubeconfig={site.kubeconfig()}", f"--config={config}"]
    command += [
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={FAKE}=fake",
        "--node-ip=127.0.0.1",
    ]
    command += ["--node-lease-duration-seconds=0", f"--server-address=127.0.0.1:{site.port('kwok')}"]
    command += [f"--node-port={site.port('kwok')}", f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}"]
    site.processes.run("kwok", command)


def add_machines(
    api: Api,
    count: int,
    prefix: str,
    gpus: int = 8,
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    cpu: str = "64",
    memory: str = "512Gi",
) -> list[str]:
    """Make fake machines PREFIX-0 ... and return their names once pods may come."""
    names = [f"{prefix}-{number}" for number in range(count)]
    room = {"cpu": cpu, "memory": memory, "pods": "110"} | ({GPU: str(gpus)} if gpus else {})
    for name in names:
        own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "trainui.dev/machine": "fake"}
        node = _node(name) | {"spec": {"taints": [TAINT] if taints is None else taints}}
        node["metadata"] |= {"annotations": {FAKE: "fake"}, "labels": own | (labels or {})}
        api.request("POST", "/api/v1/nodes", node | {"status": {"capacity": room, "allocatable": room}})
    waiting = set(names)

    def ready() -> bool:
        for node in api.list("v1", "Node"):
            if node["metadata"]["name"] in waiting and _is_ready(node):
                waiting.remove(node["metadata"]["name"])
        return not waiting

    wait_until(ready, f"{count} fake machines to be ready", 60 + count / 10)
    return names


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    tainted = any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))
    return not tainted and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def remove_machines(api: Api, names: list[str]) -> None:
    """Delete machines; their pods go when the controller manager sees that nobody runs them."""
    for name in names:
        api.delete(_node(name))


def lose_machine(api: Api, name: str) -> None:
    """Let a fake machine fall silent: its status is what the controller manager writes after 50 s, and its pods stay as they are, also when deleted."""
    for pod in api.list("v1", "Pod", fieldSelector=f"spec.nodeName={name}"):
        api.patch(_pod(pod), {"metadata": {"annotations": {LOST: "true"}}})
        conditions = [
            c | ({"status": "False"} if c["type"] == "Ready" else {}) for c in pod["status"].get("conditions", [])
        ]
        api.patch(_pod(pod), {"status": {"conditions": conditions}}, "status")
    api.patch(_node(name), {"metadata": {"annotations": {LOST: "silent"}}})


def unready_machine(api: Api, name: str) -> None:
    """Let a fake machine say that it is not ready; its pods end as usual when they are deleted."""
    api.patch(_node(name), {"metadata": {"annotations": {LOST: "not-ready"}}})


def find_machine(api: Api, name: str) -> None:
    """Let a lost machine come back."""
    for pod in api.list("v1", "Pod", fieldSelector=f"spec.nodeName={name}"):
        api.patch(_pod(pod), {"metadata": {"annotations": {LOST: None}}})
    api.patch(_node(name), {"metadata": {"annotations": {LOST: None}}})


def _node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _pod(listed: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod"} | listed
