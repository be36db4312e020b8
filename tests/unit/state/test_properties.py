"""What holds for every snapshot: order does not matter, nothing that is missing is an error, what has ended stays ended."""

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.state import observe
from jobs.state.codes import CODES
from jobs.state.phases import FINISHED, PHASES
from tests.unit.state.objects import (
    EARLIER,
    NOW,
    condition,
    ended,
    event,
    expected,
    failed_pod,
    gang,
    jobset,
    pod,
    pod_group,
    record,
    running,
    running_pod,
    snapshot,
    succeeded_pod,
    trainjob,
    unplaced_pod,
    waiting,
)

CREATION_FAILED = "TrainJobResourcesCreationFailed"
QUOTA = 'Error creating: pods "x" is forbidden: exceeded quota: q, requested: cpu=8, used: cpu=4, limited: cpu=8'
GONE = [condition("DisruptionTarget", reason="DeletionByTaintManager")]
PREEMPTED = [condition("DisruptionTarget", reason="PreemptionByScheduler")]
WORKLOAD = {
    "metadata": {"name": "w", "ownerReferences": [{"kind": "TrainJob", "uid": "uid-1"}]},
    "spec": {"queueName": "team", "active": True},
    "status": {
        "conditions": [
            condition(
                "QuotaReserved", "False", "Pending", "insufficient unused quota for cpu in flavor f, 2 more needed"
            )
        ]
    },
}


def often(usual: Any, rare: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The usual value two times of three: most snapshots must get past the first steps."""
    return st.integers(0, 2).flatmap(lambda dice: rare if dice == 0 else st.just(usual))


UNUSUAL = [
    {"deleting": "2026-03-01T11:58:00Z"},
    {"suffix": "bbbbb"},
    {"reason": "Evicted", "message": "low on disk"},
    {"scheduler": "other"},
    {"job_index": 1},
    {"attempt": 2},
]
CONTAINERS = [
    [running(ready=False)],
    [ended(3)],
    [waiting("CrashLoopBackOff", restarts=2)],
    [waiting("ErrImagePull")],
    [waiting("CreateContainerConfigError", 'secret "s" not found')],
    [running(restarts=2), running(name="side")],
]
some_pods = st.builds(
    lambda make, index, job, attempt, more: make(index, job=job, **({"attempt": attempt} | more)),
    st.sampled_from([pod, running_pod, running_pod, succeeded_pod, failed_pod, unplaced_pod]),
    st.integers(0, 2),
    often("node", st.sampled_from(["launcher", "model-initializer", "stranger"])),
    often(0, st.integers(0, 2)),
    often({}, st.sampled_from(UNUSUAL)),
)
odd_pods = st.builds(
    lambda index, containers, conditions: pod(index, phase="Running", containers=containers, conditions=conditions),
    st.integers(0, 1),
    st.sampled_from(CONTAINERS),
    often([], st.sampled_from([GONE, PREEMPTED, [condition("Ready", "False")]])),
)
alike = st.builds(
    lambda make, number: [make(index) for index in range(number)],
    st.sampled_from([pod, running_pod, unplaced_pod]),
    st.integers(1, 2),
)
pods = st.builds(lambda base, more: base + more, often([], alike), st.lists(some_pods | odd_pods, max_size=5))
conditions = st.lists(
    st.builds(
        condition,
        st.sampled_from(["Suspended", "Complete", "Failed", "Odd"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=4,
    unique_by=lambda item: item["type"],
)
events = st.lists(
    st.builds(
        event,
        st.sampled_from(
            [
                "FailedCreate",
                "FailedScheduling",
                "FailedMount",
                "NodeNotReady",
                "Preempted",
                "Unschedulable",
                CREATION_FAILED,
            ]
        ),
        st.sampled_from([QUOTA, "0/2 nodes are available: 2 Insufficient cpu.", ""]),
        st.sampled_from(["Job", "Pod", "PodGroup", "TrainJob"]),
        st.sampled_from(["train-node-0", "train-node-0-1-aaaaa", "train"]),
    ),
    max_size=3,
)
EXPECTED = [
    [expected("node", 2)],
    [expected("node", 1)],
    [expected("node", 2), expected("launcher", 1, None, ranks=False)],
    [expected("launcher", 1), expected("node", 2, None)],
    [expected("model-initializer", 1, "model-initializer", ranks=False), expected("node", 2)],
]
GANGS = [
    gang(),
    gang(min_member=1),
    gang(scheduler="volcano", scheduler_name="volcano"),
    gang(scheduler="coscheduling"),
]
KNOWN = [
    {"scheduled_at": EARLIER},
    {"started_at": EARLIER, "scheduled_at": EARLIER},
    {"cancel_requested_by": "ann"},
    {"runtime_exists": False},
    {"uid": None},
    {"uid": "other"},
    {"refused": "never"},
    {"phase": "Preempted", "code": "PreemptedByScheduler"},
]
records = st.builds(
    lambda jobs, ours, more: record(expected=jobs, gang=ours, **more),
    st.sampled_from(EXPECTED),
    often(None, st.sampled_from(GANGS)),
    often({}, st.sampled_from(KNOWN)),
)
jobsets = st.builds(
    jobset,
    suspend=often(False, st.just(True)),
    restarts=often(0, st.integers(1, 2)),
    conditions=often([], st.sampled_from([[condition("Completed")], [condition("Failed", reason="FailedJobs")]])),
)
trainjobs = st.builds(trainjob, suspend=often(False, st.just(True)), conditions=often([], conditions))
snapshots = st.builds(
    snapshot,
    record=records,
    trainjob=st.integers(0, 9).flatmap(lambda dice: trainjobs if dice else st.none()),
    jobset=st.integers(0, 9).flatmap(lambda dice: jobsets if dice else st.none()),
    pods=pods,
    podgroups=often(
        [pod_group()],
        st.sampled_from(
            [[], [pod_group(4)], [pod_group(1, conditions=[condition("PodGroupInitiallyScheduled", "False")])]]
        ),
    ),
    workloads=often([], st.just([WORKLOAD])),
    events=events,
)
plenty = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@plenty
@given(snapshots, st.randoms(use_true_random=False))
def test_the_order_of_lists_does_not_matter(given_snapshot: dict[str, Any], rng: Any) -> None:
    assert observe(_shuffled(given_snapshot, rng), NOW) == observe(given_snapshot, NOW)


@plenty
@given(snapshots, st.data())
def test_nothing_that_is_missing_is_an_error(given_snapshot: dict[str, Any], data: st.DataObject) -> None:
    torn = copy.deepcopy(given_snapshot)
    for _ in range(data.draw(st.integers(1, 12))):
        places = list(_places(torn))
        if not places:
            break
        holder, key = data.draw(st.sampled_from(places))
        if data.draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = None
    state = observe(torn, NOW)
    assert state.phase in PHASES


@plenty
@given(snapshots)
def test_every_answer_is_registered_plain_and_whole(given_snapshot: dict[str, Any]) -> None:
    state = observe(given_snapshot, NOW)
    code = CODES[state.phase, state.code]
    assert (state.tone, state.finished) == (code.tone, state.phase in FINISHED)
    assert state.sentence.endswith(".")
    assert state.sentence[0] == state.sentence[0].upper()
    assert "{" not in state.sentence
    assert "  " not in state.sentence
    assert json.loads(json.dumps(state.as_dict())) is not None
    assert {item["type"] for item in state.conditions} <= {"Suspended", "Complete", "Failed"}


@plenty
@given(snapshots)
def test_counts_add_up(given_snapshot: dict[str, Any]) -> None:
    state = observe(given_snapshot, NOW)
    counts = state.counts
    if state.finished:
        assert counts.succeeded + counts.failed + counts.lost <= counts.expected
        return
    assert counts.ready <= counts.running <= counts.placed <= counts.created <= counts.expected
    assert counts.placed == counts.starting + counts.running + counts.succeeded
    assert counts.gated <= counts.created - counts.placed
    assert counts.failed + counts.created <= counts.expected


@plenty
@given(snapshots, snapshots)
def test_what_has_ended_stays_ended(first: dict[str, Any], later: dict[str, Any]) -> None:
    """Once Succeeded, Failed or Cancelled is recorded, nothing that is seen of the same TrainJob later takes it back."""
    state = observe(first, NOW)
    if state.phase not in ("Succeeded", "Failed"):
        return
    known = {"uid": "uid-1", "phase": state.phase, "code": state.code, "sentence": state.sentence}
    after = copy.deepcopy(later)
    after["record"] |= known
    if after["trainjob"]:
        after["trainjob"]["status"]["conditions"] = list(state.conditions)
    assert observe(after, NOW).phase == state.phase


@plenty
@given(snapshots)
def test_conditions_once_written_are_kept(given_snapshot: dict[str, Any]) -> None:
    """Writing what `conditions` says and observing again changes neither the conditions nor the answer's phase."""
    state = observe(given_snapshot, NOW)
    if not given_snapshot["trainjob"] or not state.conditions:
        return
    written = copy.deepcopy(given_snapshot)
    written["trainjob"]["status"]["conditions"] = [dict(item) for item in state.conditions]
    again = observe(written, NOW)
    assert again.conditions == state.conditions
    if state.phase in ("Succeeded", "Failed"):
        assert again.phase == state.phase


@pytest.mark.parametrize("empty", [{}, {"record": None}, {"pods": None, "events": "x"}, {"trainjob": {}, "jobset": {}}])
def test_an_empty_snapshot_is_an_accepted_job(empty: dict[str, Any]) -> None:
    assert observe(empty, NOW).code == "AwaitingCluster"


def _shuffled(value: Any, rng: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shuffled(item, rng) for key, item in value.items()}
    if isinstance(value, list):
        items = [_shuffled(item, rng) for item in value]
        rng.shuffle(items)
        return items
    return value


def _places(value: Any) -> Any:
    """Every (dictionary, key) in a snapshot."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for item in value:
            yield from _places(item)
