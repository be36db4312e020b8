"""How large a gang of one shape would fit on the machines as they are now. Pure.

A machine offers what it has free to pods that may run there: their node selector, required node affinity and tolerations fit it, and it takes
new pods. What depends on other pods (anti-affinity, spread, volumes) is not looked at, so the answer is an upper bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jobs.state.reading import Object, mapping, objects, text

Amounts = Mapping[str, Decimal]
_HARD = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Room:
    """One machine that takes pods, and what it has free; `pods` is how many more it may run."""

    name: str
    free: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()


@dataclass(frozen=True)
class Shape:
    """The pods of one replicated job: how many the gang has of them, what each asks for, and its spec for where it may run."""

    name: str
    count: int
    requests: Amounts
    spec: Object


@dataclass(frozen=True)
class Fit:
    """How many pods of the largest part of the gang fit beside the rest of it, of how many; on how many machines there is room."""

    pods: int
    wanted: int
    machines: int
    name: str


def largest(shapes: Sequence[Shape], rooms: Iterable[Room]) -> Fit | None:
    """Return the largest gang that fits now, made larger or smaller in its largest part; None for a gang without pods.

    Pods that ask for nothing fit without end on a machine without a limit of pods: they count as `wanted`.
    """
    parts = [shape for shape in shapes if shape.count > 0]
    if not parts:
        return None
    main = max(parts, key=lambda shape: (shape.count, shape.name))
    left = [(room, dict(room.free)) for room in rooms]
    for shape in parts:
        if shape is not main and not _take(shape, left):
            return Fit(0, main.count, 0, main.name)
    places = [_places(main, room, free) for room, free in left]
    return Fit(sum(places), main.count, sum(1 for number in places if number), main.name)


def may_run(spec: Object, room: Room) -> bool:
    """Return whether a pod may run on a machine, whatever is free there."""
    return (
        _selected(mapping(spec, "nodeSelector"), room.labels)
        and _affine(spec, room)
        and all(_tolerated(taint, objects(spec, "tolerations")) for taint in room.taints)
    )


def _take(shape: Shape, left: list[tuple[Room, dict[str, Decimal]]]) -> bool:
    """Take room for all pods of a part of the gang; False when there is too little."""
    to_place = shape.count
    for room, free in left:
        number = min(to_place, _places(shape, room, free))
        for name, amount in shape.requests.items():
            free[name] = free.get(name, Decimal(0)) - amount * number
        if "pods" in free:
            free["pods"] -= number
        to_place -= number
    return to_place == 0


def _places(shape: Shape, room: Room, free: Amounts) -> int:
    if not may_run(shape.spec, room):
        return 0
    asked = {name: amount for name, amount in shape.requests.items() if amount > 0}
    limits = [int(max(free.get(name, Decimal(0)), Decimal(0)) // amount) for name, amount in asked.items()]
    if "pods" in free:
        limits.append(int(max(free["pods"], Decimal(0))))
    return min(limits, default=shape.count)


def _selected(wanted: Object, labels: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())


def _affine(spec: Object, room: Room) -> bool:
    required = mapping(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = objects(required, "nodeSelectorTerms")
    return not terms or any(_term(term, room) for term in terms)


def _term(term: Object, room: Room) -> bool:
    expressions, fields = objects(term, "matchExpressions"), objects(term, "matchFields")
    if not expressions and not fields:
        return False  # an empty term selects nothing
    named = {"metadata.name": room.name}
    return all(_matches(e, room.labels) for e in expressions) and all(_matches(f, named) for f in fields)


def _matches(expression: Object, labels: Mapping[str, str]) -> bool:
    key, operator = text(expression, "key"), text(expression, "operator")
    found = labels.get(key)
    values = [str(value) for value in expression.get("values") or []]
    if operator == "Exists":
        return found is not None
    if operator == "DoesNotExist":
        return found is None
    if operator == "In":
        return found in values
    if operator == "NotIn":
        return found not in values
    if operator in ("Gt", "Lt") and found is not None and values and _whole(found) and _whole(values[0]):
        return int(found) > int(values[0]) if operator == "Gt" else int(found) < int(values[0])
    return False


def _whole(value: str) -> bool:
    return value.lstrip("-").isascii() and value.lstrip("-").isdigit()


def _tolerated(taint: Object, tolerations: list[Object]) -> bool:
    if taint.get("effect") not in _HARD:
        return True
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Object, taint: Object) -> bool:
    effect, key = text(toleration, "effect"), text(toleration, "key")
    if effect and effect != taint.get("effect"):
        return False
    exists = toleration.get("operator") == "Exists"
    if not key:
        return exists
    return key == taint.get("key") and (exists or text(toleration, "value") == text(taint, "value"))
