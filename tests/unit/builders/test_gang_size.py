"""Gangs too large for a scheduler's way of placing them get a warning, and Coscheduling's time-out grows with them."""

import pytest

from jobs.builders import build, expected
from jobs.builders.gang.size import too_large
from tests.unit.builders.samples import REAL, one, rjob, runtime, trainjob

GPU = {"limits": {"nvidia.com/gpu": "1"}}


def built(nodes, way, policy=None):
    job = trainjob({"numNodes": nodes}, annotations={"trainui.dev/gang-scheduler": way})
    rt = runtime(rjob("node", "trainer", resources=GPU), policy={"torch": {}}, podGroupPolicy=policy or {})
    return build(job, rt, REAL), expected(job, rt, REAL)["gang"]


@pytest.mark.parametrize(
    ("nodes", "way", "policy", "said"),
    [
        (2_000, "in-tree", None, None),
        (2_001, "in-tree", None, "no other pod of the cluster is placed meanwhile"),
        (5_000, "volcano", None, None),
        (5_000, "coscheduling", None, None),  # the time-out is ours and grows
        (5_000, "coscheduling", {"coscheduling": {"scheduleTimeoutSeconds": 10}}, "to 100 or more"),
        (1_000, "coscheduling", {"coscheduling": {"scheduleTimeoutSeconds": 10}}, None),
        (9_000, "none", None, None),
    ],
)
def test_warnings(nodes, way, policy, said):
    found = too_large(*built(nodes, way, policy))
    assert [said in finding.message for finding in found] == ([True] if said else [])
    assert {finding.code for finding in found} <= {"gang_too_large"}


@pytest.mark.parametrize(("nodes", "seconds"), [(2, 60), (3_000, 60), (3_001, 61), (5_000, 100)])
def test_the_time_out_grows_with_the_gang(nodes, seconds):
    objects, _ = built(nodes, "coscheduling")
    assert one(objects, "PodGroup")["spec"]["scheduleTimeoutSeconds"] == seconds
