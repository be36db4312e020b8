"""Which GPUs of the computer a container may see. Pure but for the book's lock."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from trainui.localcluster.agent.machines import Machine
from trainui.localcluster.quantities import parse_quantity

RESOURCE = "nvidia.com/gpu"
VARIABLE = "CUDA_VISIBLE_DEVICES"


def device_numbers(machines: Sequence[Machine]) -> dict[str, range]:
    """Return the GPUs of each machine that has any: the computer's GPUs in order, dealt to the machines in order."""
    numbers: dict[str, range] = {}
    start = 0
    for machine in machines:
        count = int(parse_quantity(machine.capacity.get(RESOURCE, "0")))
        if count and machine.kind == "process":
            numbers[machine.name] = range(start, start + count)
            start += count
    return numbers


def wanted_devices(container: Mapping[str, Any]) -> int:
    """Return how many GPUs a container asks for."""
    resources = container.get("resources") or {}
    amount = (resources.get("limits") or {}).get(RESOURCE) or (resources.get("requests") or {}).get(RESOURCE) or 0
    try:
        return int(parse_quantity(str(amount)))
    except ValueError:
        return 0


class DeviceBook:
    """Who holds which GPU. A holder is one container of one pod; what it holds does not change while its pod lives."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._numbers = device_numbers(machines)
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, list[int]]] = {}  # pod uid -> container -> GPUs

    def variables(self, uid: str, machine: str, container: Mapping[str, Any]) -> dict[str, str] | None:
        """Return what tells a container its GPUs; empty on a machine without GPUs, None when too few are free."""
        if machine not in self._numbers:
            return {}
        with self._lock:
            mine = self._held.setdefault(uid, {})
            if container["name"] not in mine:
                taken = {number for pod in self._held.values() for numbers in pod.values() for number in numbers}
                free = [number for number in self._numbers[machine] if number not in taken]
                count = wanted_devices(container)
                if len(free) < count:
                    return None
                mine[container["name"]] = free[:count]
            return {VARIABLE: ",".join(str(number) for number in mine[container["name"]])}

    def held(self, uid: str) -> dict[str, list[int]]:
        """Return what a pod's containers hold."""
        with self._lock:
            return {name: list(numbers) for name, numbers in self._held.get(uid, {}).items()}

    def restore(self, uid: str, held: Mapping[str, Sequence[int]]) -> None:
        """Take up what an agent before us had given to a pod."""
        if held:
            with self._lock:
                self._held[uid] = {name: list(numbers) for name, numbers in held.items()}

    def release(self, uid: str) -> None:
        """Take back all GPUs of a pod that has ended."""
        with self._lock:
            self._held.pop(uid, None)
