"""Which samples of a metric may go when there are too many. Pure.

Charts of a whole run need its shape, those of the last minutes every value: the newest samples stay, of the older ones each stretch of
time keeps its lowest and its highest, so that no spike is lost and a run of a week looks as even as one of an hour.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    """One stored sample: the id of its row, when it was in epoch seconds, and its value."""

    id: int
    at: float
    value: float


def surplus(samples: Sequence[Sample], newest: int, older: int) -> list[int]:
    """Return the ids of the samples to remove so that about `newest` + `older` remain.

    samples: in order of time. newest: how many at the end stay as they are. older: how many of the rest may stay, the first among them.
    """
    old = samples[: max(len(samples) - newest, 0)]
    if len(old) <= older or not old:
        return []
    buckets = max(older // 2, 1)
    start, span = old[0].at, (old[-1].at - old[0].at) or 1.0
    low: dict[int, Sample] = {}
    high: dict[int, Sample] = {}
    for sample in old:
        place = min(int((sample.at - start) / span * buckets), buckets - 1)
        if place not in low or sample.value < low[place].value:
            low[place] = sample
        if place not in high or sample.value > high[place].value:
            high[place] = sample
    keep = {old[0].id, *_ids(low.values()), *_ids(high.values())}
    return [sample.id for sample in old if sample.id not in keep]


def _ids(samples: Iterable[Sample]) -> set[int]:
    return {sample.id for sample in samples}
