"""How long a program will still take."""

import pytest

from jobs.metrics.eta import advanced, remaining
from jobs.metrics.percent import percent_of


def history(*reports: tuple[float, float]) -> list[list[float]]:
    points: list[list[float]] = []
    for at, percent in reports:
        points = advanced(points, at, percent)
    return points


def steady(pace: float, until: int, start: float = 0.0) -> list[list[float]]:
    return history(*((start + p / pace, p) for p in range(until + 1)))


@pytest.mark.parametrize(
    ("points", "now", "since", "seconds"),
    [
        ([], 0, None, None),
        (history((0, 0)), 1, None, None),
        (history((0, 0), (10, 10)), 10, None, None),  # two points are no pace
        (history((0, 0), (1, 1), (2, 2)), 2, None, None),  # nor are two seconds
        (steady(1.0, 50), 50, None, 50),
        (steady(1.0, 50), 50.5, None, 50),  # half a second of the next percent is over
        (steady(0.01, 10), 1000, None, 9000),
        (history((0, 0), (10, 5), (20, 10), (30, 15)), 30, None, 170),
        (history((0, 0), (10, 10), (20, 100)), 20, None, 0),
        # a checkpoint of five minutes does not spoil the pace
        (history(*((n * 10 + (300 if n > 8 else 0), n * 2) for n in range(21))), 500, None, 300),
        # five seconds more after every fourth percent do count
        (history(*((n + 5 * (n // 4), n) for n in range(41))), 90, None, 123),
        # an hour of suspension before `since` does not count
        (history((0, 0), (10, 1), (20, 2), (3620, 3), (3630, 4), (3640, 5)), 3640, 3615, 950),
        # overdue: at best one percent comes now, and each takes as long as this one
        (steady(1.0, 50), 60, None, 490),
        (steady(1.0, 99), 200, None, None),
        (history((0, 40), (100, 40.5), (300, 40.6)), 300, None, None),  # it does not move
    ],
)
def test_remaining(points: list[list[float]], now: float, since: float | None, seconds: int | None) -> None:
    assert remaining(points, now, since) == seconds


def test_a_pace_that_changed_is_followed() -> None:
    slow = steady(0.1, 40)
    fast = history(*((t, p) for t, p in slow), *((400 + n, 40 + n) for n in range(1, 31)))
    assert remaining(fast, 430) == 30


def test_history_is_bounded_and_holds_when_each_percent_was_first_reached() -> None:
    points = history(*((n / 10, n // 100) for n in range(10_001)))
    assert len(points) == 101
    assert points[1] == [10.0, 1.0]


def test_a_fall_begins_a_new_history_and_late_reports_change_nothing() -> None:
    assert history((0, 10), (5, 20), (9, 0), (12, 5)) == [[9.0, 0.0], [12.0, 5.0]]
    assert history((0, 10), (5, 20), (3, 15)) == [[0.0, 10.0], [5.0, 20.0]]


@pytest.mark.parametrize(
    ("samples", "percent"),
    [
        ([], None),
        ([("loss", 0.3, 5)], None),
        ([("total_steps", 400.0, 120)], 30),
        ([("max_steps", 400.0, None)], None),
        ([("max_steps", 0.0, 0)], None),
        ([("max_steps", 100.0, 101)], None),
        ([("progress_percent", 41.9, None)], 41),
        ([("Percent", 101.0, None)], None),
        ([("percent", 10.0, None), ("percent", 20.0, None)], 20),
    ],
)
def test_percent_of_printed_values(samples: list[tuple[str, float, int | None]], percent: int | None) -> None:
    assert percent_of(samples) == percent
