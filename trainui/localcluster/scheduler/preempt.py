"""Who has to make room for a unit of higher priority. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.scheduler.gang import GroupKey, Unit, evicts_whole
from trainui.localcluster.scheduler.place import Placement, place
from trainui.localcluster.scheduler.views import Machine, Pod

Obj = dict[str, Any]


@dataclass(slots=True)
class Preemption:
    """Pods to evict, and the placement that becomes possible once they have ended. No victims: those that are ending make room enough."""

    placement: Placement
    victims: list[Pod] = field(default_factory=list)


def make_room(
    unit: Unit,
    machines: dict[str, Machine],
    pods: Iterable[Pod],
    groups: Mapping[GroupKey, Obj],
    closed: Container[str],
) -> Preemption | None:
    """Return how a unit can be placed by waiting for pods that are ending, or by evicting pods of lower priority; None if it cannot.

    The lowest priority goes first, then the youngest; whoever turns out not to be in the way is spared, the most important first.
    A PodGroup with disruptionMode all goes as a whole or not at all.
    """
    holding = [pod for pod in pods if pod.holds and pod.node in machines]
    books = {name: machine.copy() for name, machine in machines.items()}
    for pod in holding:
        if pod.deleting:
            books[pod.node].remove(pod)
    placement = _fits(unit, books, closed)
    if placement is not None:
        return Preemption(placement) if any(pod.deleting for pod in holding) else None
    if not unit.preempts:
        return None
    candidates = _candidates(unit, holding, groups)
    removed: list[list[Pod]] = []
    for victims in candidates:
        _remove(books, victims)
        removed.append(victims)
        placement = _fits(unit, books, closed)
        if placement is not None:
            break
    if placement is None:
        return None
    return _spare(unit, books, removed, closed, placement)


def _spare(
    unit: Unit, books: dict[str, Machine], removed: list[list[Pod]], closed: Container[str], placement: Placement
) -> Preemption:
    victims = []
    for candidate in reversed(removed):
        _restore(books, candidate)
        without = _fits(unit, books, closed)
        if without is not None:
            placement = without
        else:
            _remove(books, candidate)
            victims.extend(candidate)
    return Preemption(placement, sorted(victims, key=lambda pod: (pod.namespace, pod.name)))


def _fits(unit: Unit, machines: dict[str, Machine], closed: Container[str]) -> Placement | None:
    placement = place(unit.pods, machines, closed)
    return placement if len(placement.placed) >= unit.needed else None


def _candidates(unit: Unit, holding: list[Pod], groups: Mapping[GroupKey, Obj]) -> list[list[Pod]]:
    """Return who may be evicted, in the order to take them: lists of pods that go together."""
    together: dict[tuple[str, str], list[Pod]] = {}
    own = {(pod.namespace, pod.group) for pod in unit.pods if pod.group}
    for pod in holding:
        if pod.deleting or pod.priority >= unit.priority or (pod.namespace, pod.group) in own:
            continue
        group = groups.get((pod.namespace, pod.group)) if pod.group else None
        key = (pod.namespace, pod.group) if group is not None and evicts_whole(group) else ("", pod.uid)
        together.setdefault(key, []).append(pod)
    ranked = [sorted(pods, key=lambda pod: pod.name) for pods in together.values()]
    by_age = sorted(ranked, key=lambda pods: (max(pod.created for pod in pods), pods[0].name), reverse=True)
    return sorted(by_age, key=lambda pods: max(pod.priority for pod in pods))


def _remove(books: dict[str, Machine], pods: Iterable[Pod]) -> None:
    for pod in pods:
        books[pod.node].remove(pod)


def _restore(books: dict[str, Machine], pods: Iterable[Pod]) -> None:
    for pod in pods:
        books[pod.node].place(pod)
