"""The shared status cases: objects of a cluster to phase, code, tone and sentence."""

import random
from typing import Any

import pytest

from jobs.state import JobState, observe
from tests.conformance.corpus import cases

CASES = cases("status")
BY_ID = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


@BY_ID
def test_status(case: dict[str, Any]) -> None:
    expected = case["expect"]
    state = observe(case["input"], case["input"]["now"])
    assert (state.phase, state.code, state.tone) == (expected["phase"], expected["code"], expected["tone"]), (
        state.sentence
    )
    said = state.sentence.lower()
    for item in expected["must_mention"]:
        any_of = item if isinstance(item, list) else [item]
        assert any(word.lower() in said for word in any_of), f"{item} is not in: {state.sentence}"
    for word in expected.get("must_not_mention", []):
        assert word.lower() not in said
    assert list(state.unknown_conditions) == expected.get("unknown_conditions", list(state.unknown_conditions))


@BY_ID
def test_the_order_of_lists_never_matters(case: dict[str, Any]) -> None:
    snapshot, now = case["input"], case["input"]["now"]
    straight = observe(snapshot, now)
    rng = random.Random(case["id"])  # noqa: S311  a fixed order per case
    for _ in range(5):
        assert observe(shuffled(snapshot, rng), now) == straight


@BY_ID
def test_the_answer_says_when_to_look_again(case: dict[str, Any]) -> None:
    """Asked again at `recheck_at`, or at any time before it, the same objects give a state; before it, the same one."""
    snapshot, now = case["input"], case["input"]["now"]
    state = observe(snapshot, now)
    if state.recheck_at is not None:
        assert state.recheck_at > now
        assert not state.finished
        assert isinstance(observe(snapshot, state.recheck_at), JobState)


def shuffled(value: Any, rng: random.Random) -> Any:
    """Return equal data with every list, however deep, in another order."""
    if isinstance(value, dict):
        return {key: shuffled(item, rng) for key, item in value.items()}
    if isinstance(value, list):
        items = [shuffled(item, rng) for item in value]
        rng.shuffle(items)
        return items
    return value
