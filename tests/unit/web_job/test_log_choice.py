"""Which log an address means, and what can be chosen."""

import pytest
from django.http import QueryDict

from jobs.models import LogStream
from jobs.state import phases
from jobs.web.job.log_choice import NO_STREAM, Selection, choices
from jobs.web.job.nodes import nodes_of


def stream(pk, rank, pod, attempt=0, restart=0, container="node", replicated_job="node"):
    return LogStream(
        pk=pk, rank=rank, pod=pod, attempt=attempt, restart=restart, container=container, replicated_job=replicated_job
    )


STREAMS = [
    stream(1, 0, "a0"),
    stream(2, 1, "a1"),
    stream(3, 0, "b0", attempt=1),
    stream(4, None, "launch", replicated_job="launcher"),
    stream(5, 1, "a1", restart=1),
]


@pytest.mark.parametrize(
    ("query", "ids", "api"),
    [
        ("", [1, 2, 3, 4, 5], ""),
        ("rank=0", [1, 3], "ranks=0"),
        ("rank=1&log=5", [5], "stream=5"),
        ("pod=launch", [4], "stream=4"),
        ("attempt=1", [3], "stream=3"),
        ("rank=7", [], "ranks=7"),
        ("pod=unborn", [], NO_STREAM),
        ("rank=x&log=-1", [1, 2, 3, 4, 5], ""),
        ("rank=0&log=2", [], NO_STREAM),
    ],
)
def test_selection(query, ids, api):
    selection = Selection.from_query(QueryDict(query))
    chosen = selection.streams(STREAMS)
    assert [s.pk for s in chosen] == ids
    assert selection.api_query(chosen) == api


def test_choices_of_all_ranks_offer_attempts():
    found = choices(Selection(), STREAMS, [])
    assert [(c.label, c.query, c.current) for c in found.sources] == [
        ("All ranks", "", True),
        ("Rank 0", "rank=0", False),
        ("Rank 1", "rank=1", False),
    ]
    assert [(c.label, c.query) for c in found.others] == [("Launcher", "pod=launch")]
    assert [c.label for c in found.attempts] == ["All attempts", "Attempt 1", "Attempt 2"]


def test_choices_of_one_rank_offer_its_runs():
    found = choices(Selection(rank=1, log=5), STREAMS, [])
    assert [(c.label, c.query, c.current) for c in found.attempts] == [
        ("All attempts", "rank=1", False),
        ("Attempt 1", "rank=1&log=2", False),
        ("Attempt 1, restart 1", "rank=1&log=5", True),
    ]


def test_containers_are_named_where_a_pod_has_several():
    several = [stream(1, 0, "a", container="warm-up"), stream(2, 0, "a")]
    assert [c.label for c in choices(Selection(rank=0), several, []).attempts][1:] == [
        "Warm-up, attempt 1",
        "Node, attempt 1",
    ]


def test_many_ranks_become_a_list_and_failed_ones_are_marked():
    state = {
        "nodes": [
            {"rank": r, "replicated_job": "node", "state": "failed" if r == 3 else "ready", "name": f"p{r}"}
            for r in range(40)
        ]
    }
    found = choices(Selection(rank=3), [], nodes_of(state, phases.FAILED))
    assert found.many
    assert found.ranks == list(range(40))
    assert [c.label for c in found.sources if c.tone] == ["Rank 3"]
