"""Merging resources, and what a pod requests."""

from decimal import Decimal

import pytest

from jobs.builders import BuildError, build
from jobs.builders.resources import as_quantities, complete_extended, merge_resources, pod_requests
from tests.unit.builders.samples import REAL, main, one, rjob, runtime, trainjob

MERGES = [
    (None, None, {}),
    ({"limits": {"cpu": "2"}}, {"limits": {"memory": "1Gi"}}, {"limits": {"cpu": "2", "memory": "1Gi"}}),
    ({"limits": {"cpu": "2"}}, {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
     {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}),
    ({"claims": [{"name": "a"}]}, {"claims": [{"name": "b"}, {"name": "a"}]}, {"claims": [{"name": "a"}, {"name": "b"}]}),
    ({"claims": [{"name": "a", "request": "x"}]}, {"claims": [{"name": "a", "request": "y"}]},
     {"claims": [{"name": "a", "request": "x"}, {"name": "a", "request": "y"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("base", "override", "merged"), MERGES)
def test_merge(base, override, merged):
    assert merge_resources(base, override) == merged


def test_extended_resources_get_their_limit():
    given = {"requests": {"nvidia.com/gpu": "1", "cpu": "2"}, "limits": {"memory": "1Gi"}}
    assert complete_extended(given)["limits"] == {"memory": "1Gi", "nvidia.com/gpu": "1"}
    complete = {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}
    assert complete_extended(complete) == complete


def requesting(**requests):
    return {"resources": {"requests": requests}}


PODS = [
    ({"containers": []}, {}),
    ({"containers": [requesting(cpu="1"), requesting(cpu="500m", memory="1Ki")]}, {"cpu": "1500m", "memory": "1Ki"}),
    ({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, {"cpu": "1"}),
    ({"containers": [requesting(cpu="1")], "initContainers": [requesting(cpu="4")]}, {"cpu": "4"}),
    ({"containers": [requesting(cpu="2")], "initContainers": [requesting(cpu="3"), {**requesting(cpu="2"), "restartPolicy": "Always"}]},
     {"cpu": "4"}),
    ({"containers": [requesting(cpu="1")], "initContainers": [{**requesting(cpu="2"), "restartPolicy": "Always"}, requesting(cpu="3")]},
     {"cpu": "5"}),
    ({"containers": [requesting(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}, {"cpu": "1250m", "memory": "1Mi"}),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "wanted"), PODS)
def test_pod_requests(pod, wanted):
    assert as_quantities(pod_requests(pod)) == wanted


def test_quantities_are_sorted_and_exact():
    assert list(as_quantities({"b": Decimal("0.5"), "a": Decimal(3)}).items()) == [("a", "3"), ("b", "500m")]


def test_resources_reach_the_trainer_without_a_policy():
    job = trainjob({"resourcesPerNode": {"limits": {"cpu": "3"}}})
    target = main(one(build(job, runtime(rjob("node", "trainer")), REAL), "JobSet"), "node")
    assert target["resources"] == {"limits": {"cpu": "3"}}


def test_a_quantity_that_is_none_cannot_be_built():
    job = trainjob({"resourcesPerNode": {"requests": {"cpu": "two"}}})
    rt = runtime(rjob("node", "trainer"), policy={"torch": {}}, podGroupPolicy={"volcano": {}})
    with pytest.raises(BuildError) as caught:
        build(job, rt, REAL)
    assert caught.value.findings[0].code in ("invalid_quantity", "unknown_unit")
