"""The scheduler: reads pods, machines and pod groups, carries out what `decide` says. It sleeps until one of them changes."""

import logging
from collections.abc import Container, Iterable
from datetime import datetime
from itertools import count
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Delete, Note, Plan, Update
from trainui.localcluster.controllers.cluster.pod_groups import group_name
from trainui.localcluster.controllers.meta import (
    find_condition,
    is_deleting,
    is_true,
    name_of,
    namespace_of,
    pod_ended,
    set_condition,
    spec_of,
    status_of,
    uid_of,
)
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.errors import ApiError
from trainui.localcluster.scheduler.decide import INITIALLY_SCHEDULED, Eviction, GroupState, Refusal, decide, group_key
from trainui.localcluster.scheduler.gang import GroupKey
from trainui.localcluster.scheduler.views import SCHEDULER, Machine, Pod, machine_view, pod_view
from trainui.localcluster.store import Store

Obj = dict[str, Any]

log = logging.getLogger(__name__)
CYCLE = "cycle"


class Scheduler(Controller):
    """There is one key: the next cycle."""

    name: ClassVar[str] = SCHEDULER
    kinds: ClassVar[frozenset[str]] = frozenset({"Pod", "Node", "PodGroup", "PriorityClass", "PersistentVolumeClaim"})

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._views: dict[str, tuple[str, Pod]] = {}
        self._classes: dict[str, Obj] = {}
        self._serial = count()
        self._arrivals: dict[str, int] = {}

    def keys(self, change: Change) -> Iterable[str]:
        """The next cycle, if the change can make a difference to it."""
        if change.kind in ("Pod", "PodGroup"):
            if change.type == "DELETED":
                self._arrivals.pop(uid_of(change.obj), None)
            else:
                self._arrivals.setdefault(uid_of(change.obj), next(self._serial))
        before = _relevant(change.kind, change.previous) if change.previous is not None else None
        after = _relevant(change.kind, change.obj) if change.type != "DELETED" else None
        return [] if before == after else [CYCLE]

    def all_keys(self) -> Iterable[str]:
        """One cycle, with arrivals in the order of creation."""
        objects = [*self.store.list("PodGroup")[0], *self.store.list("Pod")[0]]
        for obj in sorted(objects, key=lambda obj: (obj["metadata"].get("creationTimestamp", ""), name_of(obj))):
            self._arrivals.setdefault(uid_of(obj), next(self._serial))
        return [CYCLE]

    def reconcile(self, key: str) -> float | None:
        """Run one cycle."""
        groups = {group_key(group): group for group in self.store.list("PodGroup")[0]}
        pods = self._pods(groups)
        if not any(pod.waits for pod in pods):
            return None
        now = self.now()
        machines = self._machines()
        waiting = [pod for pod in pods if pod.waits]
        decisions = decide(pods, machines, groups, self._classes, self._arrivals, self._missing_claims(waiting))
        for bound in decisions.bound:
            self._bind(bound, now)
        with self.store.transaction():
            for eviction in decisions.evicted:
                self._evict(eviction, now)
            for state in decisions.groups:
                self._tell_group(state, now)
            for refusal in decisions.refused:
                self._refuse(refusal, now)
        return None

    def _pods(self, groups: Container[GroupKey]) -> list[Pod]:
        """Return all pods that have not ended, or belong to a group; what a pod asks for is read once per version of it."""
        classes = {name_of(entry): entry for entry in self.store.list("PriorityClass")[0]}
        if classes != self._classes:
            self._classes = classes
            self._views.clear()
        views = {}
        for obj in self.store.list("Pod")[0]:
            if pod_ended(obj) and (namespace_of(obj), group_name(obj)) not in groups:
                continue
            uid, version = uid_of(obj), obj["metadata"]["resourceVersion"]
            known = self._views.get(uid)
            if known is None or known[0] != version:
                try:
                    known = (version, pod_view(obj, classes))
                except ValueError as error:
                    # One object that cannot be read must not hold up all others.
                    log.warning("pod %s/%s is left out: %s", namespace_of(obj), name_of(obj), error)
                    continue
            views[uid] = known
        self._views = views
        return [pod for _, pod in views.values()]

    def _machines(self) -> list[Machine]:
        machines = []
        for node in self.store.list("Node")[0]:
            try:
                machines.append(machine_view(node))
            except ValueError as error:
                log.warning("machine %s is left out: %s", name_of(node), error)
        return machines

    def _missing_claims(self, pods: Iterable[Pod]) -> dict[str, str]:
        missing = {}
        for pod in pods:
            for volume in pod.spec.get("volumes") or ():
                claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
                if claim and self.store.get("PersistentVolumeClaim", pod.namespace, claim) is None:
                    missing[pod.uid] = f'persistentvolumeclaim "{claim}" not found.'
        return missing

    def _bind(self, bound: list[tuple[Pod, str]], now: datetime) -> None:
        """Bind the pods of one unit, all in one write or none."""
        try:
            with self.store.transaction():
                for pod, machine in bound:
                    placed = {**pod.obj, "spec": {**pod.spec, "nodeName": machine}}
                    status = {**status_of(pod.obj)}
                    scheduled = {"type": "PodScheduled", "status": "True", "reason": None, "message": None}
                    conditions, _ = set_condition(status.get("conditions"), scheduled, now)
                    status["conditions"] = [_without_nulls(condition) for condition in conditions]
                    text = f"Successfully assigned {pod.namespace}/{pod.name} to {machine}"
                    note = Note(pod.obj, "Normal", "Scheduled", text)
                    self.carry_out(
                        Plan([Update("Pod", placed), Update("Pod", {**placed, "status": status}, "status"), note])
                    )
        except ApiError as error:
            if error.code >= 500:
                raise
            log.warning("cannot bind %s: %s", ", ".join(pod.name for pod, _ in bound), error.message)

    def _evict(self, eviction: Eviction, now: datetime) -> None:
        victim, obj = eviction.pod, eviction.pod.obj
        kind, where = ("podgroup", "cluster") if eviction.by_group else ("pod", victim.node)
        disrupted = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{SCHEDULER}: preempting to accommodate a higher priority {kind}",
        }
        conditions, _ = set_condition(status_of(obj).get("conditions"), disrupted, now)
        text = f"Preempted by {kind} {eviction.preemptor} on node {where}"
        self.carry_out(
            Plan(
                [
                    Update("Pod", {**obj, "status": {**status_of(obj), "conditions": conditions}}, "status"),
                    Note(obj, "Normal", "Preempted", text),
                    Delete("Pod", victim.namespace, victim.name, victim.uid),
                ]
            )
        )

    def _tell_group(self, state: GroupState, now: datetime) -> None:
        group = self.store.get("PodGroup", *group_key(state.group))
        if group is None or uid_of(group) != uid_of(state.group):
            return
        conditions = status_of(group).get("conditions")
        if is_true(conditions, INITIALLY_SCHEDULED):
            return
        new = {
            "type": INITIALLY_SCHEDULED,
            "status": state.status,
            "reason": state.reason,
            "message": state.message,
            "observedGeneration": group["metadata"].get("generation", 1),
        }
        conditions, changed = set_condition(conditions, new, now)
        if changed:
            status = {**status_of(group), "conditions": conditions}
            self.carry_out(Plan([Update("PodGroup", {**group, "status": status}, "status")]))

    def _refuse(self, refusal: Refusal, now: datetime) -> None:
        """Say why a pod waits: in its condition, and unless it is gated in an event; nothing when it has been said."""
        pod = self.store.get("Pod", refusal.pod.namespace, refusal.pod.name)
        if pod is None or uid_of(pod) != refusal.pod.uid:
            return
        new = {"type": "PodScheduled", "status": "False", "reason": refusal.reason, "message": refusal.message}
        conditions, changed = set_condition(status_of(pod).get("conditions"), new, now)
        if not changed:
            return
        plan = Plan([Update("Pod", {**pod, "status": {**status_of(pod), "conditions": conditions}}, "status")])
        if refusal.reason != "SchedulingGated":
            plan.actions.append(Note(pod, "Warning", "FailedScheduling", refusal.message))
        self.carry_out(plan)


def _without_nulls(condition: Obj) -> Obj:
    return {key: value for key, value in condition.items() if value is not None}


def _relevant(kind: str, obj: Obj) -> object:
    """Return what of an object the scheduler's decisions depend on."""
    spec, deleting = spec_of(obj), is_deleting(obj)
    if kind == "Pod":
        gates = bool(spec.get("schedulingGates"))
        ended = status_of(obj).get("phase") if pod_ended(obj) else None
        return (spec.get("nodeName"), gates, ended, deleting, spec.get("tolerations"), spec.get("nodeSelector"))
    if kind == "PodGroup":
        return (spec, deleting)
    if kind == "Node":
        ready = (find_condition(status_of(obj).get("conditions"), "Ready") or {}).get("status")
        return (spec, deleting, ready, status_of(obj).get("allocatable"), obj["metadata"].get("labels"))
    return (namespace_of(obj), name_of(obj), obj.get("value"), obj.get("globalDefault"))
