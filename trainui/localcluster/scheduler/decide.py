"""One cycle of the scheduler: from pods, machines and pod groups to what is bound, evicted and said. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainui.localcluster.controllers.meta import is_true, name_of, namespace_of, status_of
from trainui.localcluster.scheduler import reasons
from trainui.localcluster.scheduler.gang import GroupKey, Unit, form_units, is_gang, with_group_priority
from trainui.localcluster.scheduler.order import in_order, kept_machines
from trainui.localcluster.scheduler.place import Placement, place
from trainui.localcluster.scheduler.preempt import Preemption, make_room
from trainui.localcluster.scheduler.views import Machine, Pod, machines_with

Obj = dict[str, Any]

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
GATES = "Scheduling is blocked due to non-empty scheduling gates"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod has no machine: reason and message of its condition PodScheduled=False."""

    pod: Pod
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class GroupState:
    """What a PodGroup's condition PodGroupInitiallyScheduled is to say."""

    group: Obj
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that has to end for a pod (or a pod group) of higher priority with this uid."""

    pod: Pod
    preemptor: str
    by_group: bool


@dataclass(slots=True)
class Decisions:
    """What a cycle decided. All pods of one gang are in one entry of `bound`: they are bound together or not at all."""

    bound: list[list[tuple[Pod, str]]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    groups: list[GroupState] = field(default_factory=list)
    evicted: list[Eviction] = field(default_factory=list)


@dataclass(slots=True)
class _Cycle:
    machines: dict[str, Machine]
    pods: list[Pod]
    groups: Mapping[GroupKey, Obj]
    kept: set[str] = field(default_factory=set)
    done: Decisions = field(default_factory=Decisions)


def decide(
    pods: Iterable[Pod],
    machines: Iterable[Machine],
    groups: Mapping[GroupKey, Obj],
    classes: Mapping[str, Obj] | None = None,
    arrivals: Mapping[str, int] | None = None,
    missing_claims: Mapping[str, str] | None = None,
) -> Decisions:
    """Return who is bound where, who is evicted, and what is to be said about those who wait.

    `groups` are the PodGroups by namespace and name, `classes` the PriorityClasses by name, `arrivals` numbers pods and groups by uid in
    the order they were first seen, `missing_claims` gives by pod uid what is wrong with a claim that it mounts.
    """
    pods = [with_group_priority(pod, groups, classes or {}) for pod in pods]
    cycle = _Cycle(machines_with(machines, pods), pods, groups)
    for pod in pods:
        if pod.waits and pod.gated:
            cycle.done.refused.append(Refusal(pod, "SchedulingGated", GATES))
    units = form_units(pods, groups)
    for unit in units:
        _check_claims(unit, missing_claims or {}, len(cycle.machines))
    for unit in in_order(units, arrivals or {}):
        _try(cycle, unit)
    _tell_placed_groups(cycle)
    return cycle.done


def _check_claims(unit: Unit, missing: Mapping[str, str], machines: int) -> None:
    for pod in unit.pods:
        if pod.uid in missing and not unit.problem:
            unit.causes = [f"0/{machines} nodes are available: {missing[pod.uid]} not found"]


def _try(cycle: _Cycle, unit: Unit) -> None:
    if unit.problem:
        _refuse_all(cycle, unit, unit.problem, "SchedulerError")
        return
    if unit.causes:
        _refuse_all(cycle, unit, unit.causes[0], "Unschedulable")
        return
    closed = set() if unit.started else cycle.kept
    if closed and closed >= cycle.machines.keys() and all(pod.told for pod in unit.pods):
        return  # Nothing can have changed for it: in a long queue only the first is looked at.
    placement = place(unit.pods, cycle.machines, closed)
    if len(placement.placed) >= unit.needed:
        _bind(cycle, unit, placement, closed)
        return
    preemption = None
    if not closed >= cycle.machines.keys():
        preemption = make_room(unit, cycle.machines, cycle.pods, cycle.groups, closed)
    if preemption is not None:
        _evict(cycle, unit, preemption)
    _explain(cycle, unit, placement, preemption, closed)
    if not cycle.kept >= cycle.machines.keys():
        cycle.kept |= kept_machines(unit, cycle.machines)


def _bind(cycle: _Cycle, unit: Unit, placement: Placement, closed: set[str]) -> None:
    for pod, name in placement.placed:
        cycle.machines[name].place(pod)
    cycle.done.bound.append(placement.placed)
    for pod in placement.left:
        message = reasons.cause(pod, cycle.machines.values(), closed)
        cycle.done.refused.append(Refusal(pod, "Unschedulable", message))
    if unit.group is not None:
        cycle.done.groups.append(GroupState(unit.group, "True", "Scheduled", ""))


def _evict(cycle: _Cycle, unit: Unit, preemption: Preemption) -> None:
    gone = {victim.uid for victim in preemption.victims}
    cycle.done.evicted.extend(Eviction(victim, unit.uid, unit.is_gang) for victim in preemption.victims)
    # Nobody is asked twice to make room: for the rest of the cycle the victims are on their way out.
    cycle.pods = [_leaving(pod) if pod.uid in gone else pod for pod in cycle.pods]


def _leaving(pod: Pod) -> Pod:
    return replace(pod, deleting=True)


def _explain(cycle: _Cycle, unit: Unit, placement: Placement, preemption: Preemption | None, closed: set[str]) -> None:
    machines = list(cycle.machines.values())
    if unit.group is None:
        pod = unit.pods[0]
        message = reasons.cause(pod, machines, closed)
        if preemption is None:
            message += reasons.preemption(pod, machines)
        elif preemption.victims:
            message += reasons.found_for_pod(preemption.placement.placed[0][1], len(preemption.victims))
        cycle.done.refused.append(Refusal(pod, "Unschedulable", message))
        return
    short = reasons.short_of_minimum(unit, placement)
    outcome = reasons.NO_GROUP_VICTIMS
    if preemption is not None:
        victims = len(preemption.victims)
        outcome = reasons.found_for_group(victims) if victims else reasons.ONGOING
    whole = reasons.group_message(short, outcome)
    told = [Refusal(pod, "Unschedulable", f"pod group is unschedulable, {whole}") for pod, _ in placement.placed]
    if placement.left:
        books = {name: machine.copy() for name, machine in cycle.machines.items()}
        for pod, name in placement.placed:
            books[name].place(pod)
        first, *rest = placement.left
        told.append(Refusal(first, "Unschedulable", reasons.cause(first, books.values(), closed)))
        told.extend(Refusal(pod, "Unschedulable", short) for pod in rest)
    cycle.done.refused.extend(told)
    _tell_group(cycle, unit.group, "Unschedulable", whole)


def _refuse_all(cycle: _Cycle, unit: Unit, message: str, reason: str) -> None:
    cycle.done.refused.extend(Refusal(pod, reason, message) for pod in unit.pods)
    if unit.group is not None:
        _tell_group(cycle, unit.group, reason, message)


def _tell_group(cycle: _Cycle, group: Obj, reason: str, message: str) -> None:
    """Say that a group waits, unless it was placed before: the condition tells about the first time only."""
    if not is_true(status_of(group).get("conditions"), INITIALLY_SCHEDULED):
        cycle.done.groups.append(GroupState(group, "False", reason, message))


def _tell_placed_groups(cycle: _Cycle) -> None:
    """Say of groups without a minimum that they are placed once one of their pods is."""
    bound = {(pod.namespace, pod.group) for pods in cycle.done.bound for pod, _ in pods if pod.group}
    for key in sorted(bound):
        group = cycle.groups.get(key)
        if group is not None and not is_gang(group):
            cycle.done.groups.append(GroupState(group, "True", "Scheduled", ""))


def group_key(group: Obj) -> GroupKey:
    """Return the key of a PodGroup."""
    return namespace_of(group), name_of(group)
