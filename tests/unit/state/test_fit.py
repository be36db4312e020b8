"""The largest gang that fits now, as a table."""

from decimal import Decimal
from typing import Any

import pytest

from jobs.state.fit import Fit, Room, Shape, largest, may_run

GPU = "nvidia.com/gpu"
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def room(name: str = "m", gpus: int = 8, pods: int = 110, labels: Any = None, taints: Any = (), **more: int) -> Room:
    free = {GPU: Decimal(gpus), "pods": Decimal(pods), **{name: Decimal(value) for name, value in more.items()}}
    return Room(name, free, labels or {}, tuple(taints))


def shape(count: int, gpus: int = 8, name: str = "node", spec: Any = None) -> Shape:
    return Shape(name, count, {GPU: Decimal(gpus)}, spec or {})


def affinity(*terms: Any) -> Any:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def term(operator: str, *values: str, key: str = "pool") -> Any:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("shapes", "rooms", "fit"),
    [
        ([shape(4)], [room("a"), room("b"), room("c", gpus=4)], Fit(2, 4, 2, "node")),
        ([shape(4, gpus=2)], [room("a"), room("b", gpus=3)], Fit(5, 4, 2, "node")),
        ([shape(2)], [], Fit(0, 2, 0, "node")),
        ([shape(2)], [room(gpus=-3)], Fit(0, 2, 0, "node")),
        ([shape(2, gpus=1)], [room(pods=1)], Fit(1, 2, 1, "node")),
        ([shape(3, gpus=0)], [room()], Fit(110, 3, 1, "node")),
        ([shape(4), shape(1, name="launcher", gpus=1)], [room("a"), room("b")], Fit(1, 4, 1, "node")),
        ([shape(4), shape(1, name="launcher", gpus=9)], [room("a"), room("b")], Fit(0, 4, 0, "node")),
        ([shape(2, spec={"nodeSelector": {"pool": "x"}})], [room("a", labels={"pool": "x"}), room("b")], Fit(1, 2, 1, "node")),
        ([shape(2)], [room("a", taints=[TAINT]), room("b")], Fit(1, 2, 1, "node")),
    ],
)  # fmt: skip
def test_largest(shapes, rooms, fit):
    assert largest(shapes, rooms) == fit


def test_a_gang_without_pods_has_no_size():
    assert largest([shape(0)], [room()]) is None


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        (affinity(term("In", "x", "y")), True),
        (affinity(term("In", "y")), False),
        (affinity(term("NotIn", "x")), False),
        (affinity(term("NotIn", "x", key="none")), True),
        (affinity(term("Exists")), True),
        (affinity(term("DoesNotExist")), False),
        (affinity(term("Gt", "3", key="size")), True),
        (affinity(term("Lt", "3", key="size")), False),
        (affinity(term("Gt", "many", key="size")), False),
        (affinity(term("In", "y"), term("In", "x")), True),
        (affinity({}), False),
        (affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}), True),
        ({}, True),
    ],
)
def test_where_a_pod_may_run(spec, allowed):
    assert may_run(spec, room(labels={"pool": "x", "size": "4"})) is allowed


@pytest.mark.parametrize(
    ("toleration", "allowed"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"value": "yes"}, False),
    ],
)
def test_taints(toleration, allowed):
    assert may_run({"tolerations": [toleration]}, room(taints=[TAINT])) is allowed


def test_a_soft_taint_keeps_nobody_away():
    assert may_run({}, room(taints=[TAINT | {"effect": "PreferNoSchedule"}]))
