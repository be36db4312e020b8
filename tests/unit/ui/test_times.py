from datetime import UTC, datetime, timedelta, timezone

import pytest

from trainui.ui import times

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (1.9, "just now"),
        (-1, "just now"),
        (2, "2 s ago"),
        (89, "89 s ago"),
        (90, "1 min ago"),
        (5399, "89 min ago"),
        (5400, "1 h ago"),
        (129599, "35 h ago"),
        (129600, "1 d ago"),
        (86400 * 400, "400 d ago"),
        (-5, "in 5 s"),
        (-5.2, "in 6 s"),
        (-86400 * 90 + 60, "in 90 d"),
    ],
)
def test_relative(seconds, text):
    assert times.relative(NOW - timedelta(seconds=seconds), NOW) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (86399, "23 h 59 min"),
        (86400, "1 d 0 h"),
        (86400 * 3 + 3600 * 5, "3 d 5 h"),
    ],
)
def test_duration(seconds, text):
    assert times.duration(seconds) == text


def test_exact_has_the_offset():
    assert times.exact(NOW) == "2026-11-30 12:00:00 +0000"
    assert times.exact(NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))) == "2026-11-30 17:30:00 +0530"
