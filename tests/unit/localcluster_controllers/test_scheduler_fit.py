"""What pods ask for, and whether they fit on a machine."""

from typing import Any

import pytest

from trainui.localcluster.scheduler.fit import misfit, never
from trainui.localcluster.scheduler.quantity import parse
from trainui.localcluster.scheduler.reasons import cause, preemption
from trainui.localcluster.scheduler.requests import pod_requests
from trainui.localcluster.scheduler.views import Machine, Pod, machine_view, machines_with, pod_view, priority_of

Obj = dict[str, Any]


def node(
    name: str = "m", labels: Obj | None = None, spec: Obj | None = None, ready: str | None = "True", **amounts: str
) -> Obj:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"} | {
        key.replace("_", "/"): value for key, value in amounts.items()
    }
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec or {},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def container(limits: Obj | None = None, **requests: str) -> Obj:
    found: Obj = {
        "name": "c",
        "resources": {"requests": {key.replace("_", "/"): value for key, value in requests.items()}},
    }
    if limits:
        found["resources"]["limits"] = limits
    return found


def pod(name: str = "p", node: str = "", phase: str = "Pending", spec: Obj | None = None, **requests: str) -> Obj:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": "2026-11-30T12:00:00Z"}
    fields: Obj = {"containers": [container(**requests)], **(spec or {})}
    if node:
        fields["nodeName"] = node
    return {"metadata": metadata, "spec": fields, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1000),
        ("1500m", 1500),
        ("0.1", 100),
        ("1Ki", 1_024_000),
        ("2k", 2_000_000),
        ("1e3", 1_000_000),
        ("1u", 1),
        ("1n", 1),
        (3, 3000),
    ],
)
def test_quantities(text: str | int, expected: int) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [container(cpu="1"), container(cpu="500m", memory="1k")]}, {"cpu": 1500, "memory": 1_000_000}),
        (
            {"containers": [container({"cpu": "2", "nvidia.com/gpu": "1"}, cpu="1")]},
            {"cpu": 1000, "nvidia.com/gpu": 1000},
        ),
        (
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="3"), container(cpu="2")]},
            {"cpu": 3000},
        ),
        (
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="1") | {"restartPolicy": "Always"}]},
            {"cpu": 2000},
        ),
        (
            {
                "containers": [container(cpu="1")],
                "initContainers": [container(cpu="2") | {"restartPolicy": "Always"}, container(cpu="4")],
            },
            {"cpu": 6000},
        ),
        (
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1k"}},
            {"cpu": 1250, "memory": 1_000_000},
        ),
        ({"containers": [container(cpu="0")]}, {}),
        ({}, {}),
    ],
)
def test_requests(spec: Obj, expected: Obj) -> None:
    assert pod_requests(spec) == expected


def affinity(*expressions: Obj, field: bool = False) -> Obj:
    term = {"matchFields" if field else "matchExpressions": list(expressions)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def expression(key: str, operator: str, *values: str) -> Obj:
    return {"key": key, "operator": operator, "values": list(values)}


TAINT = {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"


@pytest.mark.parametrize(
    ("spec", "machine", "expected"),
    [
        ({}, node(), None),
        ({}, node(spec={"unschedulable": True}), "node(s) were unschedulable"),
        ({"tolerations": [{"operator": "Exists"}]}, node(spec={"unschedulable": True}), None),
        ({}, node(ready="False"), TAINTED),
        ({}, node(ready="Unknown"), TAINTED),
        ({}, node(ready=None), None),
        ({}, node(spec=TAINT), TAINTED),
        ({}, node(spec={"taints": [{"key": "gpu", "effect": "PreferNoSchedule"}]}), None),
        ({"tolerations": [{"key": "gpu", "operator": "Equal", "value": "yes"}]}, node(spec=TAINT), None),
        ({"tolerations": [{"key": "gpu", "value": "no"}]}, node(spec=TAINT), TAINTED),
        ({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]}, node(spec=TAINT), TAINTED),
        ({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]}, node(spec=TAINT), None),
        ({"nodeSelector": {"pool": "a"}}, node(), SELECTOR),
        ({"nodeSelector": {"pool": "a"}}, node(labels={"pool": "a"}), None),
        ({"nodeSelector": {"kubernetes.io/hostname": "m"}}, node(), None),
        (affinity(expression("pool", "In", "a", "b")), node(labels={"pool": "b"}), None),
        (affinity(expression("pool", "NotIn", "a", "b")), node(labels={"pool": "b"}), SELECTOR),
        (affinity(expression("pool", "Exists")), node(), SELECTOR),
        (affinity(expression("pool", "DoesNotExist")), node(), None),
        (affinity(expression("size", "Gt", "3")), node(labels={"size": "4"}), None),
        (affinity(expression("size", "Lt", "3")), node(labels={"size": "4"}), SELECTOR),
        (affinity(expression("size", "Gt", "3")), node(labels={"size": "large"}), SELECTOR),
        (affinity(expression("metadata.name", "In", "m"), field=True), node(), None),
        (affinity(expression("metadata.name", "In", "other"), field=True), node(), SELECTOR),
        (affinity(), node(), SELECTOR),
    ],
)
def test_never(spec: Obj, machine: Obj, expected: str | None) -> None:
    assert never(pod_view(pod(spec=spec)), machine_view(machine)) == expected


def view(*pods: Obj, **amounts: str) -> Machine:
    return machines_with([machine_view(node(**amounts))], map(pod_view, pods))["m"]


def with_port(number: int, **port: Any) -> Obj:
    return {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": number, **port}]}]}


@pytest.mark.parametrize(
    ("wanted", "machine", "expected"),
    [
        (pod(cpu="4"), view(), []),
        (pod(cpu="4001m"), view(), ["Insufficient cpu"]),
        (pod(cpu="2"), view(pod("a", "m", "Running", cpu="3")), ["Insufficient cpu"]),
        (pod(cpu="2"), view(pod("a", "m", "Succeeded", cpu="3")), []),
        (pod(cpu="2"), view(pod("a", "m", "Failed", cpu="3")), []),
        (pod(cpu="5", memory="9Gi"), view(), ["Insufficient cpu", "Insufficient memory"]),
        (pod(spec={"containers": [container({"nvidia.com/gpu": "1"})]}), view(), ["Insufficient nvidia.com/gpu"]),
        (pod(), view(pod("a", "m"), pods="1"), ["Too many pods"]),
        (
            pod(spec=with_port(80)),
            view(pod("a", "m", spec=with_port(80))),
            ["node(s) didn't have free ports for the requested pod ports"],
        ),
        (pod(spec=with_port(80)), view(pod("a", "m", spec=with_port(80, protocol="UDP"))), []),
        (pod(spec=with_port(80, hostIP="127.0.0.2")), view(pod("a", "m", spec=with_port(80, hostIP="127.0.0.1"))), []),
        (
            pod(spec=with_port(80, hostIP="127.0.0.2")),
            view(pod("a", "m", spec=with_port(80))),
            ["node(s) didn't have free ports for the requested pod ports"],
        ),
    ],
)
def test_room(wanted: Obj, machine: Machine, expected: list[str]) -> None:
    assert misfit(pod_view(wanted), machine) == expected


def test_a_pod_being_deleted_holds_its_room() -> None:
    going = pod("a", "m", "Running", cpu="3")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"
    assert view(going).free["cpu"] == 1000


def test_books_can_be_undone() -> None:
    machine, found = view(), pod_view(pod(spec=with_port(80)))
    before = machine.copy()
    machine.place(found)
    assert machine.ports
    machine.remove(found)
    assert (machine.free, machine.ports) == (before.free, before.ports)


CLASSES = {
    "high": {"metadata": {"name": "high"}, "value": 10, "preemptionPolicy": "Never"},
    "usual": {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True},
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, (3, "PreemptLowerPriority")),
        ({"priority": 7}, (7, "PreemptLowerPriority")),
        ({"priorityClassName": "high"}, (10, "Never")),
        (
            {"priorityClassName": "high", "priority": 10, "preemptionPolicy": "PreemptLowerPriority"},
            (10, "PreemptLowerPriority"),
        ),
        ({"priorityClassName": "nosuch"}, (0, "PreemptLowerPriority")),
    ],
)
def test_priority(spec: Obj, expected: tuple[int, str]) -> None:
    assert priority_of(spec, CLASSES) == expected


def machines() -> list[Machine]:
    nodes = [node("a", cpu="1"), node("b", cpu="1"), node("c", spec={"unschedulable": True}), node("d", spec=TAINT)]
    return [machine_view(found) for found in nodes]


def test_words() -> None:
    wanted: Pod = pod_view(pod(cpu="2", memory="1Gi"))
    assert cause(wanted, machines()) == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu."
    )
    assert preemption(wanted, machines()) == (
        " preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert cause(wanted, []) == "no nodes available to schedule pods"
    assert cause(pod_view(pod(cpu="1")), machines()[:1], {"a"}) == (
        "0/1 nodes are available: 1 node(s) were kept for a job that is ahead in the queue."
    )
