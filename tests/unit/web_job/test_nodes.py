"""Nodes as panel and table show them."""

import pytest

from jobs.state import phases
from jobs.web.job.nodes import GRID_LIMIT, Archived, gang_of, nodes_of, parse_time, spans


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


def test_a_gang_that_is_too_large_for_cells_is_told_by_state():
    total = 10_000
    lost = {7: "failed", 8: "failed", 9_999: "lost"}
    state = {"nodes": [entry(rank, lost.get(rank, "ready"), f"pod-{rank}") for rank in range(total)]}
    state["nodes"].append(entry(None, "ready", "launcher-0", replicated_job="launcher"))
    gang = gang_of(state, nodes_of(state, phases.RUNNING))
    ranks, launcher = gang.groups
    assert (ranks.nodes, ranks.total, gang.by_state, launcher.parts) == ([], total, True, [])
    assert [(p.look.word, p.count, p.which, p.first) for p in ranks.parts] == [
        ("Failed", 2, "7–8", 7),
        ("Lost", 1, "9,999", 9_999),
        ("Running", 9_997, "0–6, 9–9,998", 0),
    ]
    assert round(sum(part.width for part in ranks.parts)) == 100


def test_as_many_as_have_room_are_cells():
    state = {"nodes": [entry(rank, "ready", f"pod-{rank}") for rank in range(GRID_LIMIT)]}
    gang = gang_of(state, nodes_of(state, phases.RUNNING))
    assert (len(gang.groups[0].nodes), gang.groups[0].large, gang.by_state) == (GRID_LIMIT, False, False)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([0, 1, 2, 5], "0–2, 5"), (list(range(0, 24, 2)), "0, 2, 4, 6, 8, 10, 12, 14 and 4 more")],
)
def test_spans(numbers, text):
    assert spans(numbers) == text


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
