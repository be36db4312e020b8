"""The controllers of machines and of pods without one: they carry out what `machines` and `lost_pods` say."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Note, Plan
from trainui.localcluster.controllers.cluster.lost_pods import end_if_lost, only_plays
from trainui.localcluster.controllers.cluster.machines import (
    heartbeat,
    leave_machine,
    makes_pods_leave,
    watch_machine,
)
from trainui.localcluster.controllers.meta import is_deleting, name_of, namespace_of, pod_ended, spec_of
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.store import Store

Obj = dict[str, Any]

LEASES = "kube-node-lease"


class MachineController(Controller):
    """Keys are names of Nodes."""

    name: ClassVar[str] = "node-controller"
    kinds: ClassVar[frozenset[str]] = frozenset({"Node", "Lease", "Pod"})

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._alive: dict[str, tuple[str, datetime]] = {}
        """By machine: the last sign of life, and when it was first seen. The machine's own clock does not count."""

    def keys(self, change: Change) -> Iterable[str]:
        """A machine, the machine of a lease, and the machine of a pod that was just placed."""
        obj = change.obj
        if change.kind == "Lease":
            return [name_of(obj)] if namespace_of(obj) == LEASES else []
        if change.kind == "Node":
            if change.type != "MODIFIED":
                self._tell(change)
            return [name_of(obj)]
        before = spec_of(change.previous or {}).get("nodeName")
        node = spec_of(obj).get("nodeName")
        return [node] if node and node != before and change.type != "DELETED" else []

    def _tell(self, change: Change) -> None:
        name = name_of(change.obj)
        if change.type == "ADDED":
            reason, text = "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller"
        else:
            reason, text = "RemovingNode", f"Node {name} event: Removing Node {name} from Controller"
            self._alive.pop(name, None)
        self.note(Note(change.obj, "Normal", reason, text))

    def all_keys(self) -> Iterable[str]:
        """Every machine."""
        return [name_of(node) for node in self.store.list("Node")[0]]

    def reconcile(self, key: str) -> float | None:
        """Look at one machine and the pods on it."""
        node = self.store.get("Node", None, key)
        if node is None:
            return None
        now = self.now()
        plan = watch_machine(node, self._silence(node, now), now)
        self.carry_out(plan)
        node = self.store.get("Node", None, key) or node
        leaving = leave_machine(node, self._on(node) if makes_pods_leave(node) else (), now)
        self.carry_out(leaving)
        waits = [seconds for seconds in (plan.again, leaving.again) if seconds is not None]
        return min(waits, default=None)

    def _on(self, node: Obj) -> list[Obj]:
        pods = self.store.list("Pod")[0]
        return [pod for pod in pods if spec_of(pod).get("nodeName") == name_of(node) and not pod_ended(pod)]

    def _silence(self, node: Obj, now: datetime) -> float | None:
        name = name_of(node)
        lease = self.store.get("Lease", LEASES, name)
        sign = heartbeat(node, lease)
        if not sign or (only_plays(node) and lease is None):
            return None
        seen = self._alive.get(name)
        if seen is None or seen[0] != sign or now < seen[1]:
            seen = self._alive[name] = (sign, now)
        return (now - seen[1]).total_seconds()


class LostPodController(Controller):
    """Keys are `namespace/name` of pods."""

    name: ClassVar[str] = "pod-garbage-collector"
    kinds: ClassVar[frozenset[str]] = frozenset({"Pod", "Node"})

    def keys(self, change: Change) -> Iterable[str]:
        """A pod that is being deleted or was placed, and the pods of a machine that goes or changes."""
        if change.kind == "Node":
            return self._on(name_of(change.obj)) if _matters(change) else []
        if change.type == "DELETED":
            return []
        return [_key(change.obj)] if is_deleting(change.obj) or spec_of(change.obj).get("nodeName") else []

    def _on(self, node: str) -> list[str]:
        pods = (pod for pod in self.store.list("Pod")[0] if spec_of(pod).get("nodeName") == node)
        return [_key(pod) for pod in pods if is_deleting(pod) or not pod_ended(pod)]

    def all_keys(self) -> Iterable[str]:
        """Every pod that has not ended or is to go."""
        return [_key(pod) for pod in self.store.list("Pod")[0] if is_deleting(pod) or not pod_ended(pod)]

    def reconcile(self, key: str) -> float | None:
        """Look at one pod."""
        pod = self.store.get("Pod", *key.split("/", 1))
        if pod is None:
            return None
        name = spec_of(pod).get("nodeName")
        node = self.store.get("Node", None, name) if name else None
        self.carry_out(Plan(end_if_lost(pod, node, self.now())))
        return None


def _matters(change: Change) -> bool:
    """Tell whether a change of a Node can make a difference to its pods: heartbeats, which are most of them, do not."""
    before, after = change.previous, change.obj
    if change.type != "MODIFIED" or before is None:
        return True
    return spec_of(before) != spec_of(after) or only_plays(before) != only_plays(after)


def _key(pod: Obj) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"
