"""The start of a job as the page draws it: its phases with their length, their share and their owner. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.state import phases
from jobs.state.startup import FIRST_STEP, INITIALIZING, MACHINE, PLACED, PROGRAM, PULLING, QUEUED, SCHEDULER, STARTING
from jobs.web.job.nodes import parse_time

DONE, NOW, NEVER = "done", "now", "never"
_WORDS = {  # once it is over, while it goes on
    QUEUED: ("Queued", "In the queue"),
    PLACED: ("Placed", "Being placed"),
    PULLING: ("Images pulled", "Pulling images"),
    INITIALIZING: ("Initialized", "Initializing"),
    STARTING: ("Started", "Starting"),
    FIRST_STEP: ("First sign of the program", "Until the program says something"),
}
_OWNERS = {SCHEDULER: "the scheduler", MACHINE: "the machines", "image": "the image", PROGRAM: "your program"}
_COLOURS = {QUEUED: 0, PLACED: 1, PULLING: 2, INITIALIZING: 3, STARTING: 4, FIRST_STEP: 5}
_RUNS = (phases.RUNNING, phases.DEGRADED)


@dataclass(frozen=True)
class Phase:
    """One phase. start, width: its place in the bar, in percent. last: the node that ended it."""

    name: str
    label: str
    owner: str
    state: str
    since: datetime
    until: datetime | None
    seconds: float
    last: str
    start: float
    width: float
    colour: int


@dataclass(frozen=True)
class Startup:
    """All phases so far, and how long they took together."""

    phases: list[Phase]
    seconds: float

    @property
    def longest(self) -> Phase | None:
        """The phase that took most of the time."""
        return max(self.phases, key=lambda phase: phase.seconds, default=None)


def started_at(entries: Sequence[Mapping[str, Any]]) -> datetime | None:
    """Return when the containers of all members ran, from which on the program is awaited; None before."""
    last = entries[-1] if entries else {}
    return parse_time(last.get("until")) if last.get("name") == STARTING else None


def startup_of(
    entries: Sequence[Mapping[str, Any]], sign: datetime | None, said: str, phase: str, now: datetime
) -> Startup:
    """Return the start of a job: what reconcile noted (`JobState.startup`), then the wait for the program's first sign.

    sign, said: when the program first reported a metric or wrote a line, and which.
    """
    rows = [
        (str(e.get("name")), str(e.get("owner")), _time(e, "since"), _time(e, "until"), str(e.get("last") or ""))
        for e in entries
    ]
    began = started_at(entries)
    if began is not None and (sign is not None or phase in _RUNS):
        last = {"metric": "its first metric", "line": "its first line"}.get(said, "")
        rows.append((FIRST_STEP, PROGRAM, began, sign, last))
    known = [(name, owner, since, until, last) for name, owner, since, until, last in rows if since is not None]
    over = phase in phases.FINISHED
    lengths = [
        max(0.0, ((until or (since if over else now)) - since).total_seconds()) for _, _, since, until, _ in known
    ]
    whole = sum(lengths)
    found, start = [], 0.0
    for (name, owner, since, until, last), seconds in zip(known, lengths, strict=True):
        width = round(100 * seconds / whole, 3) if whole else 0.0
        state = DONE if until is not None else NEVER if over else NOW
        label = _WORDS.get(name, (name, name))[0 if state == DONE else 1]
        found.append(
            Phase(
                name,
                label,
                _OWNERS.get(owner, owner),
                state,
                since,
                until,
                seconds,
                last,
                round(start, 3),
                width,
                _COLOURS.get(name, 6),
            )
        )
        start += width
    return Startup(found, whole)


def _time(entry: Mapping[str, Any], key: str) -> datetime | None:
    return parse_time(entry.get(key))
