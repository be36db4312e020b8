"""The shared cases of waiting: a raw message to code, numbers and a sentence."""

import json
from typing import Any

import pytest

from jobs.state import Explanation, explain
from runtimes.spec.quantities import equal
from tests.conformance.corpus import cases
from tests.shared_data import shared_file

CASES = cases("pending")
AMOUNTS = ("needed", "available", "short_by")
# Categories of recorded messages that explain a wait, a refusal or a loss; the others report progress.
EXPLAINING = ("waiting", "refused-by-admission", "node-loss", "preemption", "failing")


def _recorded() -> list[dict[str, Any]]:
    lines = shared_file("facts/messages.jsonl").read_text(encoding="utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["category"] in EXPLAINING or _closes_a_queue(line)]


def _closes_a_queue(line: dict[str, Any]) -> bool:
    """Whether it says why a queue of Kueue admits nothing; the recording files these under progress."""
    return str(line["type"]) == "Active=False"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_pending(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expect"]
    why = explain(given["source"], given["reason"], given["message"], given.get("context"))
    assert why.code == expected["code"]
    assert why.resource == expected.get("resource")
    for name in AMOUNTS:
        assert _same_amount(getattr(why, name), expected.get(name)), name
    if "nodes_total" in expected:
        assert why.nodes_total == expected["nodes_total"]
    if "gang" in expected:
        assert dict(why.gang) == expected["gang"]
    if "reasons" in expected:
        assert why.as_dict()["reasons"] == expected["reasons"]
    for item in expected["must_mention"]:
        any_of = item if isinstance(item, list) else [item]
        assert any(word.lower() in why.sentence.lower() for word in any_of), f"{item} is not in: {why.sentence}"


@pytest.mark.parametrize("line", _recorded(), ids=lambda line: f"{line['category']}: {line['message'][:60]}")
def test_every_recorded_wait_refusal_and_loss_is_understood(line: dict[str, Any]) -> None:
    why = explain(_source(line), line["reason"] or "", line["message"])
    assert why.known, why
    assert why.sentence


def _source(line: dict[str, Any]) -> str:
    kind = line["object"].partition("(")[0].lower()
    return f"{kind} {line['type']}" if line["kind"] == "condition" else f"{kind} event {line['reason']}"


def _same_amount(found: str | None, wanted: str | None) -> bool:
    return found is wanted if found is None or wanted is None else equal(found, wanted)


def test_an_explanation_is_plain_data() -> None:
    data = explain("pod PodScheduled=False", "Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.").as_dict()
    assert json.loads(json.dumps(data)) == data
    assert isinstance(explain("", "", ""), Explanation)
