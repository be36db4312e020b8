"""Pod groups stay until the pods that name them have ended, as in Kubernetes."""

from collections.abc import Iterable
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Action, Plan, Update
from trainui.localcluster.controllers.meta import (
    has_finalizer,
    is_deleting,
    name_of,
    namespace_of,
    pod_ended,
    spec_of,
)
from trainui.localcluster.controllers.shell import Controller

Obj = dict[str, Any]

PROTECTION = "scheduling.k8s.io/podgroup-protection"


def group_name(pod: Obj) -> str:
    """Return the name of the PodGroup that a pod belongs to, empty for none."""
    return str((spec_of(pod).get("schedulingGroup") or {}).get("podGroupName") or "")


def protect(group: Obj, pods: Iterable[Obj]) -> list[Action]:
    """Return what protects a PodGroup, or lets one that is being deleted go once no unfinished pod names it. Pure."""
    finalizers = list(group["metadata"].get("finalizers") or ())
    protected = has_finalizer(group, PROTECTION)
    if not is_deleting(group):
        return [] if protected else [_with_finalizers(group, [*finalizers, PROTECTION])]
    in_use = any(group_name(pod) == name_of(group) and not pod_ended(pod) for pod in pods)
    if in_use or not protected:
        return []
    return [_with_finalizers(group, [name for name in finalizers if name != PROTECTION])]


def _with_finalizers(group: Obj, finalizers: list[str]) -> Update:
    metadata = {key: value for key, value in group["metadata"].items() if key != "finalizers"}
    if finalizers:
        metadata["finalizers"] = finalizers
    return Update("PodGroup", {**group, "metadata": metadata})


class PodGroupController(Controller):
    """Keys are `namespace/name` of PodGroups."""

    name: ClassVar[str] = "podgroup-protection-controller"
    kinds: ClassVar[frozenset[str]] = frozenset({"PodGroup", "Pod"})

    def keys(self, change: Change) -> Iterable[str]:
        """A group, and the group of a pod that has ended or is gone."""
        if change.kind == "PodGroup":
            return [f"{namespace_of(change.obj)}/{name_of(change.obj)}"]
        name = group_name(change.obj)
        ended = change.type == "DELETED" or pod_ended(change.obj)
        return [f"{namespace_of(change.obj)}/{name}"] if name and ended else []

    def all_keys(self) -> Iterable[str]:
        """Every group."""
        return [f"{namespace_of(group)}/{name_of(group)}" for group in self.store.list("PodGroup")[0]]

    def reconcile(self, key: str) -> float | None:
        """Look at one group."""
        namespace, name = key.split("/", 1)
        group = self.store.get("PodGroup", namespace, name)
        if group is None:
            return None
        pods = self.store.list("Pod", namespace)[0] if is_deleting(group) else ()
        self.carry_out(Plan(protect(group, pods)))
        return None
