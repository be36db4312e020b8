"""What a pod asks for. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainui.localcluster.scheduler.quantity import parse

Obj = dict[str, Any]
Resources = dict[str, int]
"""Amounts in thousandths by resource name."""

PODS = "pods"


def add(first: Mapping[str, int], second: Mapping[str, int]) -> Resources:
    """Return the sum of two amounts."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def largest(first: Mapping[str, int], second: Mapping[str, int]) -> Resources:
    """Return the larger of two amounts, resource by resource."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}


def total(amounts: Iterable[Mapping[str, int]]) -> Resources:
    """Return the sum of many amounts."""
    found: Resources = {}
    for amount in amounts:
        found = add(found, amount)
    return found


def container_requests(container: Obj) -> Resources:
    """Return what one container asks for; a limit stands in for a request that is missing."""
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: parse(amount) for name, amount in wanted.items()}


def pod_requests(pod_spec: Obj) -> Resources:
    """Return what a pod holds while it runs.

    The larger of what its containers and sidecars need together and what each init container needs beside the sidecars started before
    it, plus the overhead.
    """
    together = total(container_requests(container) for container in pod_spec.get("containers") or ())
    sidecars: Resources = {}
    peak: Resources = {}
    for container in pod_spec.get("initContainers") or ():
        wanted = container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, wanted)
            peak = largest(peak, sidecars)
        else:
            peak = largest(peak, add(sidecars, wanted))
    overhead = {name: parse(amount) for name, amount in (pod_spec.get("overhead") or {}).items()}
    found = add(largest(add(together, sidecars), peak), overhead)
    return {name: amount for name, amount in found.items() if amount > 0}
