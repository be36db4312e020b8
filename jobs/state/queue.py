"""Who is ahead of whom: places in a queue, from what waits. Pure.

Position alone says little, so what is ahead is told in jobs and in accelerators. A queue of a scheduler that shows none is ours to derive, by
priority and age, and then says so: `approximate`.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

KUEUE, VOLCANO, LOCAL, SCHEDULER = "kueue", "volcano", "local", "scheduler"


@dataclass(frozen=True)
class Waits:
    """One job that waits. kind, queue: whose queue, and its name. since: RFC 3339, sorts by time. number: as told by the queue itself, from 0."""

    id: str
    kind: str
    queue: str
    priority: int
    since: str
    pods: int
    accelerators: int
    started: bool = False
    number: int | None = None


@dataclass(frozen=True)
class Place:
    """Where a job stands, from 1. of: how many wait in the queue. approximate: ours, where the scheduler tells nobody its order."""

    kind: str
    queue: str
    position: int
    of: int
    jobs_ahead: int
    accelerators_ahead: int
    pods_ahead: int
    approximate: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the place as plain JSON data."""
        return asdict(self)


def places(waiting: Iterable[Waits]) -> dict[str, Place]:
    """Return the place of each job by id. The local cluster's order is its scheduler's own; Kueue's is what it told."""
    queues: dict[tuple[str, str], list[Waits]] = {}
    for entry in waiting:
        queues.setdefault((entry.kind, entry.queue), []).append(entry)
    found: dict[str, Place] = {}
    for entries in queues.values():
        found |= _in_queue(entries)
    return found


def _in_queue(entries: list[Waits]) -> dict[str, Place]:
    found: dict[str, Place] = {}
    jobs = accelerators = pods = 0
    for entry in sorted(entries, key=_order):
        told = entry.number is not None
        ahead = max(entry.number or 0, jobs) if told else jobs
        approximate = (not told and entry.kind != LOCAL) or ahead != jobs
        of = max(len(entries), ahead + 1)
        found[entry.id] = Place(
            entry.kind, entry.queue, ahead + 1, of, ahead, accelerators, pods, approximate=approximate
        )
        jobs, accelerators, pods = jobs + 1, accelerators + entry.accelerators, pods + entry.pods
    return found


def _order(entry: Waits) -> tuple[bool, int, int, bool, str, str]:
    """What a queue has told comes in its order; the rest by priority, those that run in part, then age, as our scheduler does."""
    number = entry.number if entry.number is not None else 0
    return (entry.number is None, number, -entry.priority, not entry.started, entry.since, entry.id)
