"""How far a job has come: its milestones with the time each took. Pure: the time is an argument."""

from dataclasses import dataclass
from datetime import datetime

from jobs.state import phases

DONE, NOW, TODO, SKIPPED = "done", "now", "todo", "skipped"


@dataclass(frozen=True)
class Milestones:
    """When a job passed what; None is "not yet", or never."""

    accepted: datetime
    pushed: datetime | None = None
    placed: datetime | None = None
    started: datetime | None = None
    reported: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True)
class Step:
    """One milestone. seconds: from the one before it. since: when the wait for a step that comes next began. owner: who brings it about."""

    key: str
    label: str
    owner: str
    state: str
    at: datetime | None = None
    seconds: float | None = None
    since: datetime | None = None
    tone: str = "neutral"


_STEPS = (
    ("accepted", "Accepted", "trainui"),
    ("pushed", "In the cluster", "trainui"),
    ("placed", "Placed", "scheduler"),
    ("started", "Started", "cluster"),
    ("reported", "First metric", "program"),
    ("finished", "Finished", "program"),
)
_ENDINGS = {
    phases.SUCCEEDED: "Succeeded",
    phases.FAILED: "Failed",
    phases.CANCELLED: "Cancelled",
    phases.LOST: "Lost",
}
_OPTIONAL = "reported"  # many programs never report


def timeline(times: Milestones, phase: str, tone: str = "") -> list[Step]:
    """Return the steps in order: those that are done, the one that is under way, those that follow.

    A milestone that was never noted but lies before one that was is `skipped`; nothing is under way once the job is over or suspended.
    """
    over = phase in phases.FINISHED
    waits = not over and phase not in (phases.SUSPENDED, phases.DELETING)
    noted = {key: getattr(times, key) for key, _, _ in _STEPS}
    last_done = max(index for index, (key, _, _) in enumerate(_STEPS) if noted[key])
    steps: list[Step] = []
    before = times.accepted
    now_given = False
    for index, (key, label, owner) in enumerate(_STEPS):
        at = noted[key]
        if key == _OPTIONAL and at is None:
            continue
        shown = _ENDINGS.get(phase, label) if key == "finished" else label
        if at is not None:
            seconds = None if key == "accepted" else max(0.0, (at - before).total_seconds())
            steps.append(Step(key, shown, owner, DONE, at, seconds, tone=tone if key == "finished" else "ok"))
            before = max(before, at)
        elif index < last_done or over:
            steps.append(Step(key, shown, owner, SKIPPED))
        elif waits and not now_given:
            steps.append(Step(key, shown, owner, NOW, since=before, tone="active"))
            now_given = True
        else:
            steps.append(Step(key, shown, owner, TODO))
    return steps
