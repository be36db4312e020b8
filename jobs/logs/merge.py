"""The order of lines of several containers: by (max(stamp, earlier stamps of that container), order, sequence).

Lines of one container never change places even if its clock steps back, equal lines are all kept, stamps are not corrected.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
SKEW_SHOWN_NS = 5_000_000_000  # a clock that is off by more is worth a badge


def keyed(order: int, lines: Iterable[tuple[int, T]]) -> Iterator[tuple[int, int, int, T]]:
    """Yield (key, order, sequence, item) of one container's (stamp, item) lines."""
    key: int | None = None
    for sequence, (stamp, item) in enumerate(lines):
        key = stamp if key is None else max(key, stamp)
        yield key, order, sequence, item


def merge(sources: Iterable[tuple[int, Iterable[tuple[int, T]]]]) -> Iterator[tuple[int, int, T]]:
    """Yield (order, sequence, item) of all sources, each (order, lines); lines are read one ahead only.

    `order` is unique: the rank order of the containers as numbers.
    """
    streams = [keyed(order, lines) for order, lines in sources]
    for _, order, sequence, item in heapq.merge(*streams, key=lambda entry: entry[:3]):
        yield order, sequence, item


def skew_seconds(lines: Iterable[tuple[int, int]]) -> float | None:
    """Return by how many seconds a container's clock is off, from (stamp, received) of followed lines; None within 5 s.

    The smallest difference counts: a line may come late, never early.
    """
    differences = [stamp - received for stamp, received in lines]
    if not differences:
        return None
    skew = min(differences, key=abs)
    return skew / 1e9 if abs(skew) > SKEW_SHOWN_NS else None
