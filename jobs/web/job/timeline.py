"""How far a job has come: its milestones with the time each took. Pure: the time is an argument."""

from dataclasses import dataclass
from datetime import datetime

from jobs.state import phases

DONE, NOW, TODO, PASSED, NEVER = "done", "now", "todo", "passed", "never"


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
    """One milestone. label: what was reached, or is under way. seconds: from the one before it. since: when the wait for a step that comes next
    began. owner: who brings it about."""

    key: str
    label: str
    owner: str
    state: str
    at: datetime | None = None
    seconds: float | None = None
    since: datetime | None = None
    tone: str = "neutral"


_STEPS = (
    # key, when it is done, while it is under way, who brings it about
    ("accepted", "Accepted", "Accepted", "trainui"),
    ("pushed", "In the cluster", "Being sent", "trainui"),
    ("placed", "Placed", "Being placed", "the scheduler"),
    ("started", "Started", "Starting", "the cluster"),
    ("reported", "First metric", "First metric", "the program"),
    ("finished", "Finished", "Running", "the program"),
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

    A milestone that was not noted but lies before one that was is `passed`, one that an ended job did not reach is `never`. Nothing is under way
    once the job is over, suspended or being deleted.
    """
    over = phase in phases.FINISHED
    waits = not over and phase not in (phases.SUSPENDED, phases.DELETING)
    noted: dict[str, datetime | None] = {key: getattr(times, key) for key, *_ in _STEPS}
    last = max(index for index, (key, *_) in enumerate(_STEPS) if noted[key] and key != "finished")
    steps: list[Step] = []
    before = times.accepted
    for index, (key, label, doing, owner) in enumerate(_STEPS):
        at = noted[key]
        shown = _ENDINGS.get(phase, label) if key == "finished" else label
        if at is not None:
            seconds = None if key == "accepted" else max(0.0, (at - before).total_seconds())
            steps.append(Step(key, shown, owner, DONE, at, seconds, tone=tone if key == "finished" else "ok"))
            before = max(before, at)
        elif key == _OPTIONAL:
            continue
        elif index < last:
            steps.append(Step(key, shown, owner, PASSED))
        elif over:
            steps.append(Step(key, shown, owner, NEVER))
        elif waits:
            steps.append(Step(key, doing, owner, NOW, since=before, tone="active"))
            waits = False
        else:
            steps.append(Step(key, shown, owner, TODO))
    return steps
