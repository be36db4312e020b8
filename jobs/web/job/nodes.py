"""Nodes of a job as the gang panel and the table show them. Pure: plain data of `JobState` in, plain data out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from jobs.spec.masking import mask_text
from jobs.state import phases

GRID_LIMIT = 512
LARGE_CELLS = 24  # more nodes than this are drawn as small cells; more than GRID_LIMIT are told by state
SPANS_SHOWN = 8
LEAST_SHARE = 0.006  # of a bar, so that three of ten thousand can be seen
_URGENCY = {"error": 0, "unknown": 1, "warn": 2, "info": 3, "neutral": 4, "active": 5, "ok": 6}


@dataclass(frozen=True)
class Look:
    """How a state is said and drawn: a word and a glyph, so that colour is never the only sign."""

    word: str
    tone: str
    icon: str


LOOKS: dict[str, Look] = {
    "waiting": Look("Waiting", "info", "clock"),
    "held": Look("Held", "warn", "pause-circle"),
    "starting": Look("Starting", "info", "arrow-up-circle"),
    "running": Look("Not ready", "warn", "ellipsis-horizontal-circle"),
    "ready": Look("Running", "active", "play-circle"),
    "succeeded": Look("Finished", "ok", "check-circle"),
    "failed": Look("Failed", "error", "x-circle"),
    "lost": Look("Lost", "unknown", "question-mark-circle"),
    "stopping": Look("Stopping", "warn", "arrow-down-circle"),
    "never": Look("Not started", "neutral", "minus-circle"),
    "gone": Look("Ended", "neutral", "minus-circle"),
}
_UNKNOWN = Look("Unknown", "unknown", "question-mark-circle")
STOPPED = "Stopped"  # `jobs.state.memory`: it ran until the job ended, and its pod went with the job
_HELD = (phases.SUSPENDED, phases.SUSPENDING)


@dataclass(frozen=True)
class Node:
    """One node. title: what to call it, "rank 3" or the replicated job's name. has_log: whether something of it is archived."""

    rank: int | None
    title: str
    short: str
    replicated_job: str
    role: str
    pod: str
    machine: str
    look: Look
    reason: str
    message: str
    exit_code: int | None
    restarts: int
    attempt: int
    started_at: datetime | None
    finished_at: datetime | None
    log_query: str
    has_log: bool


@dataclass(frozen=True)
class Part:
    """The nodes of one state in a group that is too large for cells: how many, their part of the bar in percent, and which."""

    look: Look
    count: int
    start: float
    width: float
    which: str
    first: int  # where they begin in the table of nodes


@dataclass(frozen=True)
class Group:
    """Nodes that are shown together: the ranks, or the pods of one replicated job that run none. parts: by state, instead of cells."""

    title: str
    nodes: list[Node]
    total: int
    parts: list[Part] = field(default_factory=list)

    @property
    def large(self) -> bool:
        """Whether there is room for words in every cell."""
        return self.total <= LARGE_CELLS


@dataclass(frozen=True)
class Tally:
    """How many nodes are in a state."""

    look: Look
    count: int


@dataclass(frozen=True)
class Archived:
    """What is known of a pod by its archived log, for pods that the cluster has no more."""

    pod: str
    rank: int | None
    attempt: int = 0


@dataclass(frozen=True)
class Gang:
    """The gang panel: groups of cells, a legend with counts, and what the scheduler makes of it."""

    groups: list[Group]
    tally: list[Tally]
    sentence: str = ""
    scheduler: str = ""
    needed: int = 0
    expected: int = 0
    ready: int = 0
    placed: int = 0
    podgroup: str = ""
    members: list[str] = field(default_factory=list)

    @property
    def by_state(self) -> bool:
        """Whether a part of it is too large for cells."""
        return any(group.parts for group in self.groups)

    @property
    def title(self) -> str:
        """A gang only where there is a pod group."""
        return "Gang" if self.scheduler else "Nodes"


def nodes_of(state: Mapping[str, Any], phase: str, archived: Iterable[Archived] = ()) -> list[Node]:
    """Return the nodes, ranks first in their order; pods that are gone get their name from their archived log."""
    logs = list(archived)
    by_rank = {log.rank: log.pod for log in sorted(logs, key=lambda log: log.attempt) if log.rank is not None}
    pods = {log.pod for log in logs}
    found = [_node(entry, phase, by_rank, pods) for entry in state.get("nodes") or []]
    return sorted(found, key=lambda n: (n.rank is None, n.rank or 0, n.replicated_job, n.title))


def gang_of(state: Mapping[str, Any], nodes: list[Node]) -> Gang:
    """Return the gang panel of a job."""
    gang, counts = state.get("gang") or {}, state.get("counts") or {}
    return Gang(
        groups=_groups(nodes),
        tally=_tally(nodes),
        sentence=mask_text(str(gang.get("sentence") or "")),
        scheduler=str(gang.get("scheduler") or ""),
        needed=int(gang.get("min") or counts.get("needed") or 0),
        expected=int(counts.get("expected") or 0),
        ready=int(counts.get("ready") or 0),
        placed=int(counts.get("placed") or 0),
        podgroup=str(gang.get("podgroup") or ""),
        members=[str(m) for m in gang.get("members") or []],
    )


def parse_time(text: Any) -> datetime | None:
    """Return a time of `JobState`; None for none or an unreadable one."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None


def _node(entry: Mapping[str, Any], phase: str, by_rank: Mapping[int, str], archived: set[str]) -> Node:
    rank = entry.get("rank")
    pod = str(entry.get("name") or by_rank.get(rank, "") if rank is not None else entry.get("name") or "")
    index = int(entry.get("index") or 0)
    where = str(entry.get("replicated_job") or "")
    return Node(
        rank=rank,
        title=f"rank {rank}" if rank is not None else f"{where} {index}" if index else where,
        short=str(rank) if rank is not None else where,
        replicated_job=where,
        role=str(entry.get("role") or ""),
        pod=pod,
        machine=str(entry.get("machine") or ""),
        look=LOOKS.get(_state(entry, phase, pod), _UNKNOWN),
        reason=str(entry.get("reason") or ""),
        message=mask_text(str(entry.get("message") or "")),
        exit_code=entry.get("exit_code"),
        restarts=int(entry.get("restarts") or 0),
        attempt=int(entry.get("attempt") or 0),
        started_at=parse_time(entry.get("started_at")),
        finished_at=parse_time(entry.get("finished_at")),
        log_query=urlencode({"rank": rank} if rank is not None else {"pod": pod}),
        has_log=pod in archived,
    )


def _state(entry: Mapping[str, Any], phase: str, pod: str) -> str:
    """The state to show: a node without a pod waits only while a pod may still come."""
    state = str(entry.get("state") or "waiting")
    if state in ("running", "ready") and entry.get("reason") == "Terminating":
        return "stopping"
    if state == "lost" and entry.get("reason") == STOPPED:
        return "gone"
    if state == "waiting" and not entry.get("name"):
        if phase == phases.SUCCEEDED:
            return "succeeded"
        if phase in phases.FINISHED:
            return "gone" if pod else "never"
        if phase in _HELD:
            return "held"
    return state


def _groups(nodes: list[Node]) -> list[Group]:
    ranks = [n for n in nodes if n.rank is not None]
    groups = [_group("Ranks", ranks, 0)] if ranks else []
    for name in dict.fromkeys(n.replicated_job for n in nodes if n.rank is None):
        members = [n for n in nodes if n.rank is None and n.replicated_job == name]
        groups.append(_group(name.replace("-", " ").capitalize(), members, nodes.index(members[0])))
    return groups


def _group(title: str, members: list[Node], first: int) -> Group:
    if len(members) <= GRID_LIMIT:
        return Group(title, members, len(members))
    return Group(title, [], len(members), _parts(members, first))


def _parts(members: list[Node], first: int) -> list[Part]:
    """The states of many nodes, those that need a look first."""
    places: dict[str, list[int]] = {}
    for place, node in enumerate(members):
        places.setdefault(node.look.word, []).append(place)
    looks = {node.look.word: node.look for node in members}
    shares = {word: max(len(here) / len(members), LEAST_SHARE) for word, here in places.items()}
    found, start = [], 0.0
    for word in sorted(places, key=lambda word: (_URGENCY.get(looks[word].tone, 9), word)):
        here, width = places[word], 100 * shares[word] / sum(shares.values())
        which = spans([members[place].rank if members[place].rank is not None else place for place in here])
        found.append(Part(looks[word], len(here), round(start, 3), round(width, 3), which, first + here[0]))
        start += width
    return found


def spans(numbers: Iterable[int | None], most: int = SPANS_SHOWN) -> str:
    """Say ascending numbers as spans: `0–41, 43, 60–9,999`; beyond some spans only how many more there are."""
    runs: list[list[int]] = []
    for number in numbers:
        if number is None:
            continue
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    said = [f"{a:,}" if a == b else f"{a:,}–{b:,}" for a, b in runs[:most]]
    more = sum(b - a + 1 for a, b in runs[most:])
    return ", ".join(said) + (f" and {more:,} more" if more else "")


def _tally(nodes: list[Node]) -> list[Tally]:
    counts: dict[str, int] = {}
    looks = {n.look.word: n.look for n in nodes}
    for node in nodes:
        counts[node.look.word] = counts.get(node.look.word, 0) + 1
    order = [look.word for look in LOOKS.values()] + [_UNKNOWN.word]
    return [Tally(looks[word], counts[word]) for word in order if word in counts]
