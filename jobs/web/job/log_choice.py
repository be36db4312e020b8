"""Which logs a viewer asks for, and what there is to choose from. Pure but for reading the query of the address."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from jobs.models import LogStream
from jobs.web.job.nodes import Node

CHIP_LIMIT = 16
NO_STREAM = "stream=0"


@dataclass(frozen=True)
class Choice:
    """One thing to choose: `query` is the address without the question mark."""

    label: str
    query: str
    current: bool
    tone: str = ""


@dataclass(frozen=True)
class Selection:
    """What the address asks for. rank or pod: one of them or none (all logs merged by time). log: one archived log. attempt: of the JobSet."""

    rank: int | None = None
    pod: str = ""
    log: int | None = None
    attempt: int | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> "Selection":
        """Read a selection; what is no number counts as not given."""
        return cls(_number(query, "rank"), query.get("pod", ""), _number(query, "log"), _number(query, "attempt"))

    def as_query(self, **changes: object) -> str:
        """Return the address of this selection with changes."""
        values = {"rank": self.rank, "pod": self.pod, "log": self.log, "attempt": self.attempt} | changes
        return urlencode({key: value for key, value in values.items() if value not in (None, "")})

    def streams(self, streams: Sequence[LogStream]) -> list[LogStream]:
        """Return the archived logs that are asked for."""
        found = [s for s in streams if self._belongs(s)]
        if self.log is not None:
            found = [s for s in found if s.pk == self.log]
        if self.attempt is not None:
            found = [s for s in found if s.attempt == self.attempt]
        return found

    def nodes(self, nodes: Sequence[Node]) -> list[Node]:
        """Return the nodes that are asked for."""
        if self.rank is not None:
            return [n for n in nodes if n.rank == self.rank]
        return [n for n in nodes if n.pod == self.pod] if self.pod else list(nodes)

    def api_query(self, chosen: Sequence[LogStream]) -> str:
        """Return the parameters with which REST gives the same rows; logs that begin later are in it where the choice is an open one."""
        if self.log is None and self.attempt is None and not self.pod:
            return urlencode({"ranks": self.rank}) if self.rank is not None else ""
        return f"stream={','.join(str(s.pk) for s in chosen)}" if chosen else NO_STREAM

    def _belongs(self, stream: LogStream) -> bool:
        if self.rank is not None:
            return stream.rank == self.rank
        return stream.pod == self.pod if self.pod else True


@dataclass(frozen=True)
class Choices:
    """The toolbar: whose log, and which attempt of it. sources: all and each rank; others: pods without a rank."""

    ranks: list[int] = field(default_factory=list)
    sources: list[Choice] = field(default_factory=list)
    others: list[Choice] = field(default_factory=list)
    attempts: list[Choice] = field(default_factory=list)

    @property
    def many(self) -> bool:
        """Whether there are too many for chips."""
        return len(self.sources) + len(self.others) > CHIP_LIMIT


def choices(selection: Selection, streams: Sequence[LogStream], nodes: Sequence[Node]) -> Choices:
    """Return what can be chosen: every rank, every pod without one, and the attempts of what is chosen."""
    everything = Selection()
    sources = [Choice("All ranks", everything.as_query(), selection.rank is None and not selection.pod)]
    tones = {n.rank: n.look.tone for n in nodes if n.rank is not None and n.look.tone in ("error", "unknown")}
    ranks = {n.rank for n in nodes if n.rank is not None} | {s.rank for s in streams if s.rank is not None}
    for rank in sorted(ranks):
        sources.append(
            Choice(f"Rank {rank}", everything.as_query(rank=rank), selection.rank == rank, tones.get(rank, ""))
        )
    others = [
        Choice(label, everything.as_query(pod=pod), selection.pod == pod)
        for pod, label in _pods_without_rank(streams, nodes).items()
    ]
    return Choices(sorted(ranks), sources, others, _attempts(selection, streams))


def _pods_without_rank(streams: Sequence[LogStream], nodes: Sequence[Node]) -> dict[str, str]:
    found = {n.pod: n.title for n in nodes if n.rank is None and n.pod}
    for stream in streams:
        if stream.rank is None:
            found.setdefault(stream.pod, stream.replicated_job or stream.pod)
    return {pod: label.replace("-", " ").capitalize() for pod, label in found.items()}


def _attempts(selection: Selection, streams: Sequence[LogStream]) -> list[Choice]:
    """For one rank or pod every container and run of it; for all ranks the attempts of the JobSet."""
    whole = Selection(selection.rank, selection.pod)
    own = whole.streams(streams)
    chosen_any = selection.log is None and selection.attempt is None
    if selection.rank is None and not selection.pod:
        numbers = sorted({s.attempt for s in own})
        found = [Choice(f"Attempt {n + 1}", whole.as_query(attempt=n), selection.attempt == n) for n in numbers]
    else:
        several = len({s.container for s in own}) > 1
        found = [Choice(_run(s, several), whole.as_query(log=s.pk), selection.log == s.pk) for s in own]
    return [Choice("All attempts", whole.as_query(), chosen_any), *found] if len(found) > 1 else []


def _run(stream: LogStream, with_container: bool) -> str:
    words = [stream.container] if with_container else []
    words.append(f"attempt {stream.attempt + 1}")
    if stream.restart:
        words.append(f"restart {stream.restart}")
    text = ", ".join(words)
    return text[0].upper() + text[1:]


def _number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
