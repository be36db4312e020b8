"""Which samples go when there are too many."""

import math

import pytest

from jobs.metrics.thinning import Sample, surplus


def wave(count: int) -> list[Sample]:
    return [Sample(n + 1, float(n), math.sin(n / 50)) for n in range(count)]


def kept(samples: list[Sample], newest: int, older: int) -> list[Sample]:
    gone = set(surplus(samples, newest, older))
    return [sample for sample in samples if sample.id not in gone]


@pytest.mark.parametrize(("count", "newest", "older"), [(0, 10, 10), (5, 10, 10), (20, 10, 10), (15, 0, 20)])
def test_few_samples_all_stay(count: int, newest: int, older: int) -> None:
    assert surplus(wave(count), newest, older) == []


@pytest.mark.parametrize("count", [600, 5_000, 40_000])
def test_what_remains_is_bounded(count: int) -> None:
    assert len(kept(wave(count), 100, 300)) <= 401


def test_the_newest_and_the_first_stay() -> None:
    samples = wave(2_000)
    left = kept(samples, 50, 100)
    assert left[0] == samples[0]
    assert left[-50:] == samples[-50:]


def test_a_single_spike_among_many_stays() -> None:
    samples = [Sample(n + 1, float(n), 9.0 if n == 777 else -4.0 if n == 1234 else 1.0) for n in range(4_000)]
    values = {sample.value for sample in kept(samples, 100, 200)}
    assert {9.0, -4.0} <= values


def test_older_samples_are_spread_evenly_over_time_however_often_they_were_thinned() -> None:
    left: list[Sample] = []
    for n in range(20_000):
        left.append(Sample(n + 1, float(n), math.sin(n / 7)))
        if len(left) > 1_000:
            gone = set(surplus(left, 100, 400))
            left = [sample for sample in left if sample.id not in gone]
    first_half = sum(1 for sample in left if sample.at < 10_000)
    assert 0.3 < first_half / len(left) < 0.6


def test_samples_of_one_moment_leave_their_extremes() -> None:
    samples = [Sample(n + 1, 5.0, float(n)) for n in range(100)]
    assert {s.value for s in kept(samples, 0, 10)} == {0.0, 99.0}
