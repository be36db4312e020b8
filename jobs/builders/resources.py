"""What containers and pods ask for: the merge of runtime and TrainJob, and the request of a whole pod."""

import copy
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from runtimes.spec.quantities import format_quantity, is_byte_resource, is_extended_resource, parse

Obj = dict[str, Any]
Amounts = dict[str, Decimal]


def merge_resources(base: Obj | None, override: Obj | None) -> Obj:
    """Return the runtime's resources with the TrainJob's merged in, key by key; claims of both are kept.

    Upstream loses the claims (conformance obj-merge-015).
    """
    merged = copy.deepcopy(base or {})
    for kind in ("requests", "limits"):
        if values := (override or {}).get(kind):
            merged[kind] = {**(merged.get(kind) or {}), **values}
    if claims := (override or {}).get("claims"):
        names = {(claim.get("name"), claim.get("request")) for claim in merged.get("claims") or []}
        new = [claim for claim in claims if (claim.get("name"), claim.get("request")) not in names]
        merged["claims"] = [*(merged.get("claims") or []), *copy.deepcopy(new)]
    return merged


def complete_extended(resources: Obj) -> Obj:
    """Return the resources with a limit for every extended resource that has only a request.

    The API server refuses a pod whose extended resource has no limit (kubeflow/trainer#2363).
    """
    limits = resources.get("limits") or {}
    missing = {
        name: value
        for name, value in (resources.get("requests") or {}).items()
        if is_extended_resource(name) and name not in limits
    }
    return {**resources, "limits": {**limits, **missing}} if missing else resources


def effective_requests(resources: Obj | None) -> Amounts:
    """Return what the scheduler counts for a container: the request, else the limit, of each resource."""
    both = {**((resources or {}).get("limits") or {}), **((resources or {}).get("requests") or {})}
    return {name: parse(value) for name, value in both.items()}


def add(amounts: Iterable[Amounts]) -> Amounts:
    """Return the sum of amounts, resource by resource."""
    total: Amounts = {}
    for amount in amounts:
        for name, value in amount.items():
            total[name] = total.get(name, Decimal(0)) + value
    return total


def pod_requests(pod: Obj) -> Amounts:
    """Return what the scheduler reserves for a pod.

    Per resource the larger of all containers with the restartable init containers, and of each other init container
    with the restartable ones before it; then the overhead. Rule: Kubernetes' PodRequests, with limits standing in for
    missing requests, because pod templates do not get that default.
    """
    running: list[Amounts] = []
    peaks: list[Amounts] = []
    for init in pod.get("initContainers") or []:
        request = effective_requests(init.get("resources"))
        if init.get("restartPolicy") == "Always":
            running.append(request)
            peaks.append(add(running))
        else:
            peaks.append(add([*running, request]))
    peaks.append(add([*running, *(effective_requests(c.get("resources")) for c in pod.get("containers") or [])]))
    largest: Amounts = {}
    for peak in peaks:
        for name, value in peak.items():
            largest[name] = max(largest.get(name, value), value)
    overhead = {name: parse(value) for name, value in (pod.get("overhead") or {}).items()}
    return add([largest, overhead])


def as_quantities(amounts: Amounts) -> dict[str, str]:
    """Return amounts as Kubernetes writes them, sorted by name."""
    return {name: format_quantity(amounts[name], binary=is_byte_resource(name)) for name in sorted(amounts)}
