"""The phases of a TrainJob: their usual tone, whether a job ever leaves them, and which actions make sense in them."""

from dataclasses import dataclass

CREATING = "Creating"
QUEUED = "Queued"
WAITING = "Waiting"
STARTING = "Starting"
INITIALIZING = "Initializing"
RUNNING = "Running"
SUSPENDING = "Suspending"
SUSPENDED = "Suspended"
RESTARTING = "Restarting"
PREEMPTED = "Preempted"
DEGRADED = "Degraded"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
DELETING = "Deleting"
CANCELLED = "Cancelled"
LOST = "Lost"
MISCONFIGURED = "Misconfigured"

SUSPEND, RESUME, CANCEL, DELETE, CLONE, RETRY = "suspend", "resume", "cancel", "delete", "clone", "retry"
ACTIONS = (SUSPEND, RESUME, CANCEL, DELETE, CLONE, RETRY)
TONES = ("neutral", "info", "active", "warn", "ok", "error", "unknown")


@dataclass(frozen=True)
class Phase:
    """One word for where a job is; `actions` are those that a page offers and the API accepts."""

    name: str
    tone: str
    finished: bool
    actions: tuple[str, ...]


_LIVE = (SUSPEND, CANCEL, DELETE, CLONE)
_HELD = (RESUME, CANCEL, DELETE, CLONE)
_OVER = (DELETE, CLONE, RETRY)


def _phases() -> dict[str, Phase]:
    table: list[tuple[str, str, bool, tuple[str, ...]]] = [
        (CREATING, "neutral", False, _LIVE),
        (QUEUED, "neutral", False, _LIVE),
        (WAITING, "info", False, _LIVE),
        (STARTING, "info", False, _LIVE),
        (INITIALIZING, "info", False, _LIVE),
        (RUNNING, "active", False, _LIVE),
        (SUSPENDING, "warn", False, _HELD),
        (SUSPENDED, "warn", False, _HELD),
        (RESTARTING, "warn", False, _LIVE),
        (PREEMPTED, "warn", False, _LIVE),
        (DEGRADED, "warn", False, _LIVE),
        (MISCONFIGURED, "error", False, _LIVE),
        (DELETING, "neutral", False, (DELETE, CLONE)),
        (SUCCEEDED, "ok", True, (DELETE, CLONE)),
        (FAILED, "error", True, _OVER),
        (CANCELLED, "neutral", True, _OVER),
        (LOST, "unknown", True, _OVER),
    ]
    return {name: Phase(name, tone, finished, actions) for name, tone, finished, actions in table}


PHASES: dict[str, Phase] = _phases()
FINISHED: frozenset[str] = frozenset(name for name, phase in PHASES.items() if phase.finished)


def actions(phase: str) -> tuple[str, ...]:
    """Return the actions that make sense in a phase; none for a phase that is not known."""
    known = PHASES.get(phase)
    return known.actions if known else ()


def allows(phase: str, action: str) -> bool:
    """Return whether an action makes sense in a phase."""
    return action in actions(phase)
