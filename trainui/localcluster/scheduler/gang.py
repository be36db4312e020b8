"""What is placed as one: a gang, or a pod of its own. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainui.localcluster.controllers.meta import is_deleting, spec_of, uid_of
from trainui.localcluster.scheduler.views import SCHEDULER, Pod, priority_of

Obj = dict[str, Any]
GroupKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


@dataclass(slots=True)
class Unit:
    """Pods that wait for machines together.

    Of `pods` at least `needed` have to be placed at once; `held` members of the gang have machines already, and `minimum` is its minCount.
    `group` is the PodGroup, None for a pod of its own. `started` tells that other pods of the same job hold room already. `problem` is
    what makes the unit impossible whatever room there is.
    """

    pods: list[Pod]
    needed: int
    priority: int
    preempts: bool
    created: str
    uid: str
    name: str
    group: Obj | None = None
    minimum: int = 1
    held: int = 0
    started: bool = False
    optional: bool = False
    problem: str = ""
    causes: list[str] = field(default_factory=list)

    @property
    def is_gang(self) -> bool:
        """Whether it is (what is left of) a gang."""
        return self.group is not None


def is_gang(group: Obj) -> bool:
    """Tell whether a PodGroup wants all or nothing; with the basic policy its pods are placed one by one."""
    return minimum_of(group) > 0


def minimum_of(group: Obj) -> int:
    """Return minCount of a PodGroup, 0 when it is no gang."""
    gang = (spec_of(group).get("schedulingPolicy") or {}).get("gang")
    return int(gang.get("minCount", 0)) if gang else 0


def evicts_whole(group: Obj) -> bool:
    """Tell whether preemption takes the group as a whole (disruptionMode all)."""
    return "all" in (spec_of(group).get("disruptionMode") or {})


def form_units(pods: Iterable[Pod], groups: Mapping[GroupKey, Obj]) -> list[Unit]:
    """Return everything that can be tried, in no particular order.

    Left out, as in Kubernetes without a word: pods of another scheduler, with scheduling gates, of a PodGroup that does not exist, and
    gangs of which fewer than minCount pods exist.
    """
    pods = list(pods)
    members: dict[GroupKey, list[Pod]] = {}
    started = {pod.job for pod in pods if pod.job and pod.holds and not pod.deleting}
    units = []
    for pod in pods:
        if pod.group:
            members.setdefault((pod.namespace, pod.group), []).append(pod)
        elif _is_ours(pod):
            units.append(_single(pod, pod.job in started))
    for key, found in members.items():
        group = groups.get(key)
        if group is None:
            continue
        if is_gang(group):
            units.extend(_gang_units(group, found, started))
        else:
            units.extend(_single(pod, pod.job in started) for pod in found if _is_ours(pod))
    return units


def _is_ours(pod: Pod) -> bool:
    return pod.waits and not pod.gated and pod.scheduler == SCHEDULER


def _single(pod: Pod, started: bool, optional: bool = False) -> Unit:
    name = f"{pod.namespace}/{pod.name}"
    return Unit([pod], 1, pod.priority, pod.preempts, pod.created, pod.uid, name, started=started, optional=optional)


def _gang_units(group: Obj, pods: list[Pod], started: set[str]) -> list[Unit]:
    """Return the one unit of a gang, or once it holds its minimum a unit for each further pod."""
    waiting = [pod for pod in pods if _is_ours(pod)]
    if not waiting or (is_deleting(group) and not any(pod.holds for pod in pods)):
        return []
    # A member that has succeeded was placed once and needs no machine any more; it still counts, or a late replacement would wait for ever.
    held = sum(1 for pod in pods if not pod.deleting and (pod.holds or pod.phase == "Succeeded"))
    minimum = minimum_of(group)
    missing = minimum - held
    if missing <= 0:
        singles = [_single(pod, pod.job in started, optional=True) for pod in waiting]
        for unit in singles:
            unit.created = _created(group)
        return singles
    schedulers = sorted({pod.scheduler for pod in pods if pod.waits})
    if missing > len(waiting) and len(schedulers) < 2:
        return []
    priority, preempts = max(pod.priority for pod in waiting), all(pod.preempts for pod in waiting)
    unit = Unit(
        waiting, missing, priority, preempts, _created(group), uid_of(group), _name(group), group, minimum, held
    )
    unit.started = held > 0 or any(pod.job in started for pod in waiting)
    if len(schedulers) > 1:
        names = " and ".join(f'"{name}"' for name in schedulers[:2])
        unit.problem = f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
    return [unit]


def with_group_priority(pod: Pod, groups: Mapping[GroupKey, Obj], classes: Mapping[str, Obj]) -> Pod:
    """Return a pod with the priority of its PodGroup, if that has one of its own."""
    group = groups.get((pod.namespace, pod.group)) if pod.group else None
    spec = spec_of(group or {})
    if spec.get("priority") is None and not spec.get("priorityClassName"):
        return pod
    priority, policy = priority_of(spec, classes)
    return replace(pod, priority=priority, preempts=policy != "Never")


def _created(group: Obj) -> str:
    return str(group["metadata"].get("creationTimestamp") or "")


def _name(group: Obj) -> str:
    return f"{group['metadata'].get('namespace', '')}/{group['metadata']['name']}"
