"""The virtual machines of the local cluster: their description and their Node objects. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.quantities import parse_quantity

KIND_LABEL = "trainui.dev/machine-kind"
OWNER_LABEL = "trainui.dev/node-agent"
KINDS = ("process", "status")
DEFAULT_PODS = "110"  # the kubelet's maxPods
VARIABLE = "TRAINUI_MACHINES"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RESOURCE = re.compile(
    r"cpu|memory|pods|ephemeral-storage|[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)


class MachineError(ValueError):
    """The description of the machines cannot be used; the message names the variable and the place."""


@dataclass(frozen=True)
class Machine:
    """One virtual machine: its name, whether its pods run as processes, and what it can hold."""

    name: str
    kind: str = "process"
    capacity: Mapping[str, str] = field(default_factory=dict)


def default_machines(cores: int, memory_bytes: int) -> list[Machine]:
    """Return two machines that between them offer the computer's memory once and at least four cores each."""
    capacity = {"cpu": str(max(4, cores)), "memory": f"{memory_bytes // 2 // 1024**2}Mi", "pods": DEFAULT_PODS}
    return [Machine(name, "process", capacity) for name in ("local-0", "local-1")]


def parse_machines(text: str, cores: int, memory_bytes: int) -> list[Machine]:
    """Return the machines of a description like ``local-0:cpu=4,memory=8Gi;sim-0:cpu=64,kind=status``.

    An empty description means `default_machines`; a machine that leaves out cpu or memory gets the default's.
    Raises MachineError.
    """
    if not text.strip():
        return default_machines(cores, memory_bytes)
    base = default_machines(cores, memory_bytes)[0].capacity
    machines = [_parse_machine(part.strip(), base) for part in text.split(";") if part.strip()]
    names = [machine.name for machine in machines]
    for name in names:
        if names.count(name) > 1:
            raise MachineError(f"{VARIABLE}: the machine {name} is described twice")
    return machines


def _parse_machine(part: str, base: Mapping[str, str]) -> Machine:
    name, _, settings = part.partition(":")
    name = name.strip()
    if _NAME.fullmatch(name) is None:
        raise MachineError(
            f'{VARIABLE}: "{name}" is no machine name: use up to 63 lower-case letters, digits and dashes '
            "(expected NAME:cpu=4,memory=8Gi;NAME:...)"
        )
    capacity = dict(base)
    kind = "process"
    for setting in filter(None, (piece.strip() for piece in settings.split(","))):
        key, equals, value = (piece.strip() for piece in setting.partition("="))
        if not equals or not value:
            raise MachineError(f'{VARIABLE}: machine {name}: "{setting}" is not of the form key=value')
        if key == "kind":
            kind = _parse_kind(name, value)
        else:
            capacity[key] = _parse_amount(name, key, value)
    return Machine(name, kind, capacity)


def _parse_kind(name: str, value: str) -> str:
    if value not in KINDS:
        raise MachineError(f'{VARIABLE}: machine {name}: kind is "{value}", but it is one of {" and ".join(KINDS)}')
    return value


def _parse_amount(name: str, key: str, value: str) -> str:
    if _RESOURCE.fullmatch(key) is None:
        raise MachineError(
            f'{VARIABLE}: machine {name}: "{key}" is no resource: use cpu, memory, pods or nvidia.com/gpu'
        )
    try:
        amount = parse_quantity(value)
    except ValueError as error:
        raise MachineError(
            f'{VARIABLE}: machine {name}: {key}: "{value}" is no quantity: write a number such as 4, 500m or 8Gi'
        ) from error
    if amount < 0:
        raise MachineError(f"{VARIABLE}: machine {name}: {key} is negative")
    if key not in ("cpu", "memory", "ephemeral-storage") and amount != int(amount):
        raise MachineError(f"{VARIABLE}: machine {name}: {key} is counted in whole units")
    return value


def node_object(machine: Machine, owner: str) -> dict[str, Any]:
    """Return the Node that stands for a machine, without its status."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "labels": {
                "kubernetes.io/hostname": machine.name,
                "kubernetes.io/os": "linux",
                KIND_LABEL: machine.kind,
                OWNER_LABEL: owner,
            },
            "annotations": {KIND_LABEL: machine.kind},
        },
        "spec": {},
    }


def node_status(machine: Machine, system: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of a Node's status that change only with the machine's description."""
    capacity = dict(machine.capacity)
    return {
        "capacity": capacity,
        "allocatable": dict(capacity),
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": machine.name},
        ],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": system.get("kernel", ""),
            "osImage": system.get("os", ""),
            "containerRuntimeVersion": "trainui://0.1.0",
            "kubeletVersion": "v1.37.0-trainui",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": system.get("architecture", ""),
        },
    }


def ready_condition(ready: bool, message: str, now: str, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a Node's Ready condition; its transition time is kept while the answer stays the same."""
    status = "True" if ready else "False"
    changed = now if before is None or before.get("status") != status else before.get("lastTransitionTime", now)
    return {
        "type": "Ready",
        "status": status,
        "reason": "KubeletReady" if ready else "KubeletNotReady",
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": changed,
    }
