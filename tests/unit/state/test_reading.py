"""Reading what may be missing, times, and the small pieces of sentences."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from jobs.state.reading import canonical, condition, dig, last_line, number, quote, text
from jobs.state.times import newest, oldest, parse, stamp, words
from jobs.state.wording import created_of, listed, placed_of, share


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T14:00:00+02:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00.123456789Z", datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)),
        ("2026-03-01 12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1))), datetime(2026, 3, 1, 12, tzinfo=UTC)),
        (datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-13-01T12:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("soon", None),
        (None, None),
        (5, None),
    ],
)
def test_parse(raw: Any, expected: datetime | None) -> None:
    assert parse(raw) == expected


def test_stamp_gives_back_what_was_read() -> None:
    for raw in ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.250000Z"):
        assert stamp(parse(raw)) == raw
    assert stamp(None) is None


def test_newest_and_oldest_of_what_is_known() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    assert (newest(None, early, late), oldest(late, None, early)) == (late, early)
    assert newest(None) is oldest() is None


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (86400, "1 d"),
        (97200, "1 d 3 h"),
    ],
)
def test_words(seconds: float, expected: str) -> None:
    assert words(timedelta(seconds=seconds)) == expected


def test_dig_through_what_is_not_there() -> None:
    assert dig({"a": {"b": 1}}, "a", "b") == 1
    assert dig({"a": None}, "a", "b") is None
    assert dig(None, "a") is None
    assert text({"a": 5}, "a") == ""


@pytest.mark.parametrize(("raw", "expected"), [(3, 3), ("3", 3), ("x", 0), (None, 0), (True, 1), ("٣", 0), ("-1", 0)])
def test_number(raw: Any, expected: int) -> None:
    assert number({"n": raw}, "n") == expected


def test_the_condition_that_changed_last_counts() -> None:
    old = {"type": "A", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    new = {"type": "A", "status": "False", "lastTransitionTime": "2026-01-02T00:00:00Z"}
    for order in ([old, new], [new, old]):
        assert condition({"status": {"conditions": order}}, "A") == new
    assert condition({"status": {}}, "A") == {}


def test_canonical_is_blind_to_order() -> None:
    assert canonical({"a": [1, 2], "b": {"c": None}}) == canonical({"b": {"c": None}, "a": [2, 1]})
    assert canonical({"a": [1]}) != canonical({"a": [2]})


def test_quote_and_last_line() -> None:
    assert quote("  one\ntwo. ") == "one two"
    assert quote("x" * 400).endswith("…")
    assert len(quote("x" * 400)) == 300
    assert last_line("Traceback:\n  ValueError: no\n\n") == "ValueError: no"
    assert last_line(" \n") == ""


def test_pieces_of_sentences() -> None:
    assert [listed(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert share(2, 4, "nodes") == "2 of 4 nodes"
    assert share(0, 1, "nodes") == "The node"
    assert created_of(1, 4, "pods") == "1 of 4 pods is created"
    assert placed_of(0, 1, "initializers") == "The initializer has no machine"
