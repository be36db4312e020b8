"""Nodes as panel and table show them."""

import pytest

from jobs.state import phases
from jobs.web.job.nodes import GRID_LIMIT, Archived, gang_of, nodes_of, parse_time


def entry(rank=0, state="waiting", name=None, **more):
    return {"rank": rank, "replicated_job": "node", "index": rank or 0, "state": state, "name": name, **more}


@pytest.mark.parametrize(
    ("given", "phase", "archived", "word"),
    [
        (entry(), phases.WAITING, [], "Waiting"),
        (entry(), phases.SUSPENDED, [], "Held"),
        (entry(), phases.SUCCEEDED, [], "Finished"),
        (entry(), phases.FAILED, [], "Not started"),
        (entry(), phases.FAILED, [Archived("old-0", 0)], "Ended"),
        (entry(name="pod-0"), phases.SUSPENDED, [], "Waiting"),
        (entry(state="ready", name="pod-0"), phases.RUNNING, [], "Running"),
        (entry(state="running", name="pod-0"), phases.STARTING, [], "Not ready"),
        (entry(state="ready", name="pod-0", reason="Terminating"), phases.RESTARTING, [], "Stopping"),
        (entry(state="lost", name="pod-0"), phases.DEGRADED, [], "Lost"),
        (entry(state="lost", name="pod-0", reason="Stopped"), phases.SUCCEEDED, [], "Ended"),
        (entry(state="never heard of"), phases.RUNNING, [], "Unknown"),
    ],
)
def test_words(given, phase, archived, word):
    assert nodes_of({"nodes": [given]}, phase, archived)[0].look.word == word


def test_ranks_come_first_in_order_then_the_others():
    given = [entry(None, replicated_job="launcher"), entry(10), entry(2)]
    assert [n.title for n in nodes_of({"nodes": given}, phases.RUNNING)] == ["rank 2", "rank 10", "launcher"]


def test_a_pod_that_is_gone_is_named_by_its_newest_log():
    node = nodes_of({"nodes": [entry(3)]}, phases.CANCELLED, [Archived("new", 3, 1), Archived("old", 3, 0)])[0]
    assert (node.pod, node.has_log, node.log_query) == ("new", True, "rank=3")


def test_pods_without_a_rank_are_found_by_name():
    node = nodes_of({"nodes": [entry(None, name="l-0", replicated_job="launcher")]}, phases.RUNNING)[0]
    assert node.log_query == "pod=l-0"


def test_secrets_in_messages_are_hidden():
    message = nodes_of({"nodes": [entry(message="pull with hf_FAKEFAKEFAKE1234 failed")]}, phases.WAITING)[0].message
    assert "FAKE" not in message
    assert "failed" in message


def test_the_grid_is_bounded_and_counts_all():
    state = {"nodes": [entry(rank, "ready", f"pod-{rank}") for rank in range(GRID_LIMIT + 5)]}
    gang = gang_of(state, nodes_of(state, phases.RUNNING))
    assert (len(gang.groups[0].nodes), gang.groups[0].hidden, gang.groups[0].large) == (GRID_LIMIT, 5, False)
    assert [(t.look.word, t.count) for t in gang.tally] == [("Running", GRID_LIMIT + 5)]


def test_the_legend_has_a_fixed_order():
    state = {"nodes": [entry(0, "failed", "a"), entry(1, "waiting", "b"), entry(2, "ready", "c")]}
    assert [t.look.word for t in gang_of(state, nodes_of(state, phases.RUNNING)).tally] == [
        "Waiting",
        "Running",
        "Failed",
    ]


def test_an_empty_state_has_no_groups():
    gang = gang_of({}, nodes_of({}, phases.CREATING))
    assert (gang.groups, gang.tally, gang.expected, gang.title) == ([], [], 0, "Nodes")


@pytest.mark.parametrize("text", [None, "", "yesterday"])
def test_times_that_cannot_be_read(text):
    assert parse_time(text) is None
