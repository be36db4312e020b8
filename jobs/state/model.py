"""What `observe` returns: plain frozen data, with times as RFC 3339 text, that goes into the row, the API and the pages."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class NodeState:
    """One pod that the job has or should have. `rank` is None for pods that run no rank (initializers, a plain launcher)."""

    rank: int | None
    replicated_job: str
    role: str | None
    job_index: int
    index: int
    name: str | None = None  # of the pod
    machine: str | None = None
    state: str = "waiting"  # waiting | starting | running | ready | succeeded | failed | lost
    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    restarts: int = 0
    attempt: int = 0
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True)
class Counts:
    """How many of the nodes that run ranks are how far; `needed` of them must run at the same time."""

    expected: int = 0
    needed: int = 0
    created: int = 0
    gated: int = 0
    placed: int = 0
    starting: int = 0
    running: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    lost: int = 0


@dataclass(frozen=True)
class GangState:
    """The gang of the job: who is in it, who places it, and how far that is."""

    scheduler: str
    min: int
    members: tuple[str, ...]
    podgroup: str
    created: int
    placed: int
    sentence: str


@dataclass(frozen=True)
class StartupPhase:
    """One phase of a start. owner: scheduler, machine, image or program. last: the member that ended it. what: "initializers" for pods of their own."""

    name: str
    owner: str
    since: str | None
    until: str | None
    last: str = ""
    what: str = ""


@dataclass(frozen=True)
class Cause:
    """Why a job failed: the container that ended first."""

    rank: int | None
    pod: str | None
    replicated_job: str | None
    container: str | None
    exit_code: int | None
    reason: str
    message: str
    machine: str | None = None
    at: str | None = None
    program: str | None = None


@dataclass(frozen=True)
class JobState:
    """Where a job is: phase, code, tone, one sentence, and everything that the pages derive from the same objects."""

    phase: str
    code: str
    tone: str
    sentence: str
    since: str | None
    recheck_at: str | None
    finished: bool
    nodes: tuple[NodeState, ...] = ()
    counts: Counts = field(default_factory=Counts)
    gang: GangState | None = None
    startup: tuple[StartupPhase, ...] = ()
    jobs_status: tuple[dict[str, Any], ...] = ()
    conditions: tuple[dict[str, Any], ...] = ()
    unknown_conditions: tuple[str, ...] = ()
    scheduled_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    cause: Cause | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """What one step of the decision says; the steps before it had nothing to say."""

    phase: str
    code: str
    tone: str
    sentence: str
    since: datetime | None = None
    recheck: datetime | None = None
    cause: Cause | None = None
