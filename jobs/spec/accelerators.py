"""Which resources are accelerators, and how many devices and CPUs a container has: one rule for admission and for counting processes.

Upstream takes the first resource whose name contains `gpu` (facts, 2.1), so TPU, Gaudi, Ascend and MIG slices count as none and a
gpu-memory resource counts as many.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from runtimes.spec.quantities import QuantityError, parse

_DEVICE = re.compile(r"gpu|/mig-|/tpu|gaudi|ascend|/neuron|/npu|/mlu|/dcu")
# A slice of a device's memory or cores (`aliyun.com/gpu-mem`) is not a device.
_PART_OF_DEVICE = re.compile(r"mem|core|percent|bandwidth")


def is_accelerator(resource: str) -> bool:
    """Whether a resource is counted in devices: GPUs, MIG slices, TPU, Gaudi, Ascend; not gpu-memory and the like."""
    name = resource.lower()
    return bool(_DEVICE.search(name)) and not _PART_OF_DEVICE.search(name.rpartition("/")[2])


def devices(resources: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the accelerators of a container by resource name, limits standing in for missing requests."""
    both = {**((resources or {}).get("limits") or {}), **((resources or {}).get("requests") or {})}
    return {name: amount for name, value in both.items() if is_accelerator(name) and (amount := _whole(value)) > 0}


def device_count(resources: Mapping[str, Any] | None) -> int:
    """Return the number of accelerators of a container."""
    return sum(devices(resources).values())


def cpu_count(resources: Mapping[str, Any] | None) -> int:
    """Return the CPUs of a container, rounded up as upstream does: the request, else the limit, else 0."""
    for part in ("requests", "limits"):
        amount = _whole(((resources or {}).get(part) or {}).get("cpu", 0))
        if amount > 0:
            return amount
    return 0


def merged_resources(base: Mapping[str, Any] | None, override: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return requests and limits of the runtime with those of the job laid over them, key by key."""
    return {
        part: {**((base or {}).get(part) or {}), **((override or {}).get(part) or {})}
        for part in ("requests", "limits")
    }


def _whole(value: Any) -> int:
    try:
        return math.ceil(parse(value))
    except (QuantityError, OverflowError):
        return 0
