"""What the scheduler needs to know of pods, machines and pod groups. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.controllers.job.index import completion_index
from trainui.localcluster.controllers.meta import (
    find_condition,
    is_deleting,
    is_true,
    labels_of,
    name_of,
    namespace_of,
    pod_phase,
    spec_of,
    status_of,
    uid_of,
)
from trainui.localcluster.scheduler.quantity import parse
from trainui.localcluster.scheduler.requests import PODS, Resources, pod_requests

Obj = dict[str, Any]

SCHEDULER = "default-scheduler"
_JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
_JOB_UID = "batch.kubernetes.io/controller-uid"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as the scheduler sees it.

    `job` is the uid of the JobSet (or Job) that it is part of, empty for a pod of its own; `told` means that it says why it waits.
    """

    obj: Obj = field(repr=False, compare=False)
    uid: str
    namespace: str
    name: str
    node: str
    phase: str
    deleting: bool
    group: str
    job: str
    priority: int
    preempts: bool
    scheduler: str
    gated: bool
    created: str
    index: int
    told: bool
    requests: Resources = field(compare=False)
    ports: frozenset[tuple[str, str, int]] = frozenset()

    @property
    def spec(self) -> Obj:
        """The pod's spec."""
        return spec_of(self.obj)

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def holds(self) -> bool:
        """Whether it holds room on a machine: it has one and has not ended. Being deleted frees nothing yet."""
        return bool(self.node) and not self.ended

    @property
    def waits(self) -> bool:
        """Whether it waits for a machine."""
        return not self.node and not self.ended and not self.deleting


def pod_view(pod: Obj, classes: Mapping[str, Obj] | None = None) -> Pod:
    """Return a pod as the scheduler sees it; `classes` are the PriorityClasses by name, for a pod without a number of its own."""
    spec = spec_of(pod)
    labels = labels_of(pod)
    priority, policy = priority_of(spec, classes or {})
    return Pod(
        obj=pod,
        uid=uid_of(pod),
        namespace=namespace_of(pod),
        name=name_of(pod),
        node=str(spec.get("nodeName") or ""),
        phase=pod_phase(pod),
        deleting=is_deleting(pod),
        group=str((spec.get("schedulingGroup") or {}).get("podGroupName") or ""),
        job=labels.get(_JOBSET_UID) or labels.get(_JOB_UID) or "",
        priority=priority,
        preempts=policy != "Never",
        scheduler=str(spec.get("schedulerName") or SCHEDULER),
        gated=bool(spec.get("schedulingGates")),
        created=str(pod["metadata"].get("creationTimestamp") or ""),
        index=completion_index(pod) or 0,
        told=(find_condition(status_of(pod).get("conditions"), "PodScheduled") or {}).get("status") == "False",
        requests=pod_requests(spec) | {PODS: 1000},
        ports=_host_ports(spec),
    )


def priority_of(spec: Obj, classes: Mapping[str, Obj]) -> tuple[int, str]:
    """Return the priority and the preemption policy of a pod or pod group: its own number, its class's, the default class's, or 0."""
    found = classes.get(str(spec.get("priorityClassName") or ""))
    if found is None and not spec.get("priorityClassName"):
        defaults = [entry for entry in classes.values() if entry.get("globalDefault")]
        found = max(defaults, key=lambda entry: int(entry.get("value", 0))) if defaults else None
    policy = str(spec.get("preemptionPolicy") or (found or {}).get("preemptionPolicy") or "PreemptLowerPriority")
    if spec.get("priority") is not None:
        return int(spec["priority"]), policy
    return int((found or {}).get("value", 0)), policy


def _host_ports(spec: Obj) -> frozenset[tuple[str, str, int]]:
    found = set()
    for container in spec.get("containers") or ():
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else None)
            if number:
                found.add((port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", int(number)))  # noqa: S104
    return frozenset(found)


@dataclass(slots=True)
class Machine:
    """A machine (a Kubernetes Node) with what is left on it. `place` and `remove` keep the books."""

    name: str
    labels: dict[str, str]
    taints: list[Obj]
    unschedulable: bool
    allocatable: Resources
    free: Resources
    ports: list[tuple[str, str, int]] = field(default_factory=list)

    def place(self, pod: Pod) -> None:
        """Take what a pod asks for."""
        self._change(pod, -1)
        self.ports.extend(pod.ports)

    def remove(self, pod: Pod) -> None:
        """Give back what a pod held."""
        self._change(pod, 1)
        for port in pod.ports:
            self.ports.remove(port)

    def _change(self, pod: Pod, sign: int) -> None:
        for name, amount in pod.requests.items():
            self.free[name] = self.free.get(name, 0) + sign * amount

    def copy(self) -> "Machine":
        """Return a copy whose books are its own."""
        return Machine(
            self.name,
            self.labels,
            self.taints,
            self.unschedulable,
            self.allocatable,
            dict(self.free),
            list(self.ports),
        )

    def empty(self) -> "Machine":
        """Return the machine as it is with nothing on it."""
        return Machine(
            self.name, self.labels, self.taints, self.unschedulable, self.allocatable, dict(self.allocatable), []
        )


def machine_view(node: Obj) -> Machine:
    """Return a Node as the scheduler sees it. One that is being deleted or not ready takes nothing, like one with a taint."""
    status, spec = status_of(node), spec_of(node)
    allocatable = {name: parse(amount) for name, amount in (status.get("allocatable") or {}).items()}
    allocatable.setdefault(PODS, 110_000)
    taints = list(spec.get("taints") or ())
    conditions = status.get("conditions")
    if find_condition(conditions, "Ready") and not is_true(conditions, "Ready"):
        taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
    labels = {**labels_of(node)}
    labels.setdefault("kubernetes.io/hostname", name_of(node))
    gone = bool(spec.get("unschedulable")) or is_deleting(node)
    return Machine(name_of(node), labels, taints, gone, allocatable, dict(allocatable))


def machines_with(machines: Iterable[Machine], pods: Iterable[Pod]) -> dict[str, Machine]:
    """Return the machines by name, with the pods that hold room placed on them."""
    found = {machine.name: machine for machine in machines}
    for pod in pods:
        if pod.holds and pod.node in found:
            found[pod.node].place(pod)
    return found
