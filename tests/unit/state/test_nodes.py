"""The table of nodes, the counts and the gang panel."""

from typing import Any

import pytest

from jobs.state import observe
from tests.unit.state.objects import (
    NOW,
    Object,
    condition,
    ended,
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

LOST = [condition("DisruptionTarget", reason="DeletionByTaintManager", message="Taint manager: deleting")]
COMPLETED = jobset(conditions=[condition("Completed")])
CASES: list[tuple[Object, str, str | None, int | None]] = [
    (unplaced_pod(0), "waiting", "Unschedulable", None),
    (pod(0), "starting", None, None),
    (pod(0, containers=[waiting("ErrImagePull")]), "starting", "ErrImagePull", None),
    (running_pod(0, ready=False), "running", None, None),
    (running_pod(0), "ready", None, None),
    (succeeded_pod(0), "succeeded", "Completed", 0),
    (failed_pod(0, 3), "failed", "Error", 3),
    (failed_pod(0, 143, reason="NodeShutdown"), "failed", "NodeShutdown", 143),
    (running_pod(0, conditions=LOST, deleting=NOW), "lost", "DeletionByTaintManager", None),
    (pod(0, phase="Unknown", containers=[running()]), "lost", None, None),
    (running_pod(0, deleting=NOW), "running", "Terminating", None),
    (pod(0, containers=[waiting("PodInitializing")], inits=[ended(2, name="fetch")]), "starting", "Error", 2),
]


def seen(**parts: Any) -> Any:
    return observe(snapshot(**parts), NOW)


@pytest.mark.parametrize(("one", "word", "reason", "code"), CASES)
def test_node(one: Object, word: str, reason: str | None, code: int | None) -> None:
    node = seen(pods=[one, running_pod(1)]).nodes[0]
    assert (node.state, node.reason, node.exit_code) == (word, reason, code)
    assert (node.rank, node.replicated_job, node.index) == (0, "node", 0)


def test_a_node_without_a_pod() -> None:
    node = seen(pods=[running_pod(0)]).nodes[1]
    assert (node.rank, node.name, node.machine, node.state) == (1, None, None, "waiting")


def test_times_and_restarts_of_a_node() -> None:
    node = seen(pods=[pod(0, phase="Running", containers=[running(restarts=2)]), succeeded_pod(1)]).nodes
    assert (node[0].restarts, node[0].started_at, node[0].finished_at) == (2, "2026-03-01T11:56:00Z", None)
    assert (node[1].started_at, node[1].finished_at) == ("2026-03-01T11:56:00Z", "2026-03-01T11:59:30Z")


def test_ranks_count_as_numbers_and_the_launcher_comes_first_or_has_none() -> None:
    many = [running_pod(index) for index in range(12)]
    plain = seen(record=record(expected=[expected("node", 12), expected("launcher", 1, None, ranks=False)]), pods=many)
    assert [node.rank for node in plain.nodes] == [*range(12), None]
    assert [node.index for node in plain.nodes[:12]] == list(range(12))
    with_ranks = seen(record=record(expected=[expected("node", 2, None), expected("launcher", 1)]))
    assert [(node.rank, node.replicated_job) for node in with_ranks.nodes] == [
        (0, "launcher"),
        (1, "node"),
        (2, "node"),
    ]


def test_ranks_follow_the_jobset_and_the_record() -> None:
    jobs = [expected("b", 1), expected("a", 2)]
    order = jobset(replicatedJobs=[{"name": "b"}, {"name": "a", "template": {"spec": {"parallelism": 2}}}])
    found = [(node.rank, node.replicated_job) for node in seen(record=record(expected=jobs), jobset=order).nodes]
    assert found == [(0, "b"), (1, "a"), (2, "a")]
    told = [expected("b", 1) | {"first_rank": 2}, expected("a", 2) | {"first_rank": 0}]
    found = [(node.rank, node.replicated_job) for node in seen(record=record(expected=told), jobset=order).nodes]
    assert found == [(0, "a"), (1, "a"), (2, "b")]


def test_replicas_and_parallelism_share_the_ranks() -> None:
    order = jobset(replicatedJobs=[{"name": "node", "replicas": 2, "template": {"spec": {"parallelism": 2}}}])
    pods = [running_pod(index, job_index=job_index) for job_index in (0, 1) for index in (0, 1)]
    for shape in (order, jobset()):
        nodes = seen(record=record(expected=[expected("node", 4)]), jobset=shape, pods=pods).nodes
        assert [(node.rank, node.job_index, node.index, node.state) for node in nodes] == [
            (0, 0, 0, "ready"),
            (1, 0, 1, "ready"),
            (2, 1, 0, "ready"),
            (3, 1, 1, "ready"),
        ]


def test_the_pod_of_this_attempt_stands_for_its_place() -> None:
    old, new = running_pod(0, deleting=NOW), pod(0, attempt=1, suffix="bbbbb")
    state = seen(jobset=jobset(restarts=1), pods=[old, new])
    assert (state.nodes[0].name, state.nodes[0].attempt) == ("train-node-0-0-bbbbb", 1)
    assert state.counts.created == 1
    failed, replacement = failed_pod(1), unplaced_pod(1, suffix="bbbbb")
    assert seen(pods=[failed, replacement, running_pod(0)]).nodes[1].name == "train-node-0-1-bbbbb"


def test_counts() -> None:
    pods = [running_pod(0), running_pod(1, ready=False), pod(2), unplaced_pod(3), succeeded_pod(4), failed_pod(5)]
    counts = seen(record=record(expected=[expected("node", 7)]), pods=pods).counts
    assert (counts.expected, counts.needed, counts.created, counts.placed) == (7, 7, 5, 4)
    assert (counts.starting, counts.running, counts.ready) == (1, 2, 1)
    assert (counts.succeeded, counts.failed, counts.lost) == (1, 1, 0)


def test_counts_of_gates_and_losses() -> None:
    gated = unplaced_pod(1)
    gated["spec"]["schedulingGates"] = [{"name": "g"}]
    assert seen(pods=[unplaced_pod(0), gated]).counts.gated == 1
    known = record(scheduled_at="2026-03-01T11:55:00Z")
    assert seen(record=known, pods=[running_pod(0)]).counts.lost == 1


def test_what_was_seen_of_the_nodes_is_kept_when_the_job_has_ended() -> None:
    first = seen(pods=[succeeded_pod(0), running_pod(1)])
    last = record(phase="Running", code="AllReady", state=first.as_dict())
    stopped = observe(snapshot(record=last | {"cancel_requested_by": "ann"}, trainjob=None, jobset=None), NOW)
    assert [(node.name, node.state, node.reason) for node in stopped.nodes] == [
        ("train-node-0-0-aaaaa", "succeeded", "Completed"),
        ("train-node-0-1-aaaaa", "lost", "Stopped"),
    ]
    assert (stopped.counts.succeeded, stopped.counts.lost) == (1, 1)


def test_nodes_of_a_success_whose_pods_nobody_saw() -> None:
    state = seen(jobset=COMPLETED)
    assert [node.state for node in state.nodes] == ["succeeded", "succeeded"]
    assert state.counts.succeeded == 2


def test_the_gang_panel() -> None:
    ours = record(gang=gang())
    state = seen(record=ours, podgroups=[pod_group()], pods=[unplaced_pod(0), unplaced_pod(1)])
    assert state.gang is not None
    assert (state.gang.min, state.gang.members, state.gang.scheduler) == (2, ("node",), "in-tree")
    assert (state.gang.created, state.gang.placed, state.gang.sentence) == (2, 0, state.sentence)
    placed = seen(record=ours, podgroups=[pod_group()], pods=[running_pod(0), running_pod(1)]).gang
    assert placed is not None
    assert placed.sentence.startswith("Placed: 2 of 2")
    for parts in ({"jobset": COMPLETED}, {"trainjob": trainjob(suspend=True)}):
        rest = seen(record=ours, **parts).gang
        assert rest is not None
        assert "2 of" not in rest.sentence
    assert seen().gang is None


def test_the_cause_is_the_message_of_the_pod_that_has_one() -> None:
    echo = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
    cause = "0/8 nodes are available: 4 Insufficient nvidia.com/gpu, 4 node(s) were unschedulable."
    ours = record(gang=gang(scheduler="coscheduling"), expected=[expected("node", 3)])
    for messages in ((echo, cause, echo), (cause, echo, echo), (echo, echo, cause)):
        pods = [unplaced_pod(index, message) for index, message in enumerate(messages)]
        group = pod_group() | {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "spec": {"minMember": 3}}
        state = seen(record=ours, podgroups=[group], pods=pods)
        assert "nvidia.com/gpu" in state.sentence
