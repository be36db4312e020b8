"""Which pods are one gang: those that must run at the same time, and no others.

Counting pods that never exist together (initializers, a launcher that waits for Ready nodes) deadlocks the gang.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..containers import INITIALIZERS
from ..resources import Amounts, add, pod_requests


@dataclass(frozen=True)
class Group:
    """A replicated job as the gang sees it.

    count: all its pods. role: its ancestor step, or None. depends_on: (name, status) of what must be reached first.
    pod: its pod spec, for what it requests.
    """

    name: str
    count: int
    role: str | None
    runs_ranks: bool
    depends_on: tuple[tuple[str, str], ...] = ()
    pod: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    """A dependency between replicated jobs: `source` waits until `target` has `status`."""

    source: str
    target: str
    status: str


@dataclass(frozen=True)
class Gang:
    """The members of a gang in the order of the runtime, and why the others are out.

    excluded: name -> `initializer`, `runs_before_ranks` or `starts_after_ranks`.
    dropped_edges: dependencies between members, which would keep the gang from ever being complete.
    """

    members: tuple[Group, ...]
    excluded: Mapping[str, str]
    dropped_edges: tuple[Edge, ...]

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return [group.name for group in self.members]

    @property
    def min_member(self) -> int:
        """How many pods must be placed at once."""
        return sum(group.count for group in self.members)

    @property
    def min_resources(self) -> Amounts:
        """What they request together; empty if they request nothing."""
        totals = []
        for group in self.members:
            requests = pod_requests(dict(group.pod))
            totals.append({name: value * group.count for name, value in requests.items()})
        return add(totals)


def _waits_for(groups: Mapping[str, Group], start: str) -> set[str]:
    """Return everything that must be reached before `start` begins."""
    found: set[str] = set()
    todo = [start]
    while todo:
        for name, _ in groups[todo.pop()].depends_on:
            if name in groups and name not in found:
                found.add(name)
                todo.append(name)
    return found


def _rank_members(groups: Mapping[str, Group], waits: Mapping[str, set[str]]) -> set[str]:
    """Return the jobs that run ranks at the same time: not those that wait until other ranks are complete."""
    ranks = {group.name for group in groups.values() if group.runs_ranks}
    late = {
        name
        for name in ranks
        for before in waits[name] | {name}
        if any(target in ranks and status == "Complete" for target, status in groups[before].depends_on)
    }
    return ranks - late


def find_gang(jobs: Sequence[Group]) -> Gang:
    """Return the gang of a job.

    Members are the jobs that run ranks and those that start in the same stage; never initializers, nor what runs
    before the ranks or starts after them. Jobs without pods are not mentioned. Source: fixtures, section gang.
    """
    groups = {group.name: group for group in jobs if group.count > 0}
    waits = {name: _waits_for(groups, name) for name in groups}
    members = _rank_members(groups, waits)
    before = set().union(*(waits[name] for name in members)) - members
    excluded: dict[str, str] = {}
    for name, group in groups.items():
        if group.role in INITIALIZERS:
            excluded[name] = "initializer"
            members.discard(name)
        elif name in before:
            excluded[name] = "runs_before_ranks"
        elif name not in members and not waits[name] & members:
            members.add(name)
    for name in list(groups):
        if name not in members and name not in excluded:
            excluded[name] = "starts_after_ranks"
        elif name in members and not groups[name].runs_ranks and waits[name] & members:
            members.discard(name)
            excluded[name] = "starts_after_ranks"
    edges = tuple(
        Edge(group.name, target, status)
        for group in groups.values()
        if group.name in members
        for target, status in group.depends_on
        if target in members
    )
    return Gang(tuple(group for group in groups.values() if group.name in members), excluded, edges)
