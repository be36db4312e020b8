"""Pods that nobody will end: their machine is gone, they never had one, or it only plays one. Pure."""

from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.actions import Action, Delete, Update
from trainui.localcluster.controllers.meta import (
    annotations_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    pod_ended,
    set_condition,
    spec_of,
    status_of,
    uid_of,
)

Obj = dict[str, Any]

MACHINE_KIND = "trainui.dev/machine-kind"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def only_plays(node: Obj) -> bool:
    """Tell whether a machine leaves its pods alone, so that others write their status: it runs nothing that could take time to end."""
    return "status" in (labels_of(node).get(MACHINE_KIND), annotations_of(node).get(MACHINE_KIND))


def out_of_service(node: Obj) -> bool:
    """Tell whether somebody has said that a machine will not come back."""
    taints = spec_of(node).get("taints") or ()
    return any(taint.get("key") == OUT_OF_SERVICE and taint.get("effect") == "NoExecute" for taint in taints)


def end_if_lost(pod: Obj, node: Obj | None, now: datetime) -> list[Action]:
    """Return what ends a pod that nobody else will; nothing for a pod in good hands.

    `node` is the Node that spec.nodeName names, None when there is none. A pod of a machine that was deleted fails with the condition
    DisruptionTarget and stays to be seen (Kubernetes deletes it too); one that is being deleted goes at once.
    """
    named = spec_of(pod).get("nodeName")
    if named and node is None:
        return _of_deleted_machine(pod, now)
    if not is_deleting(pod):
        return []
    if node is not None and (only_plays(node) or out_of_service(node)):
        message = "" if only_plays(node) else "PodGC: node is out of service"
        return [*_fail(pod, message, now), _remove(pod)]
    # Nothing is waited for any more (no machine, or deleted by force), only a finalizer is: the pod has to have an outcome.
    if not pod["metadata"].get("deletionGracePeriodSeconds"):
        return _fail(pod, "", now)
    return []


def _of_deleted_machine(pod: Obj, now: datetime) -> list[Action]:
    actions = _fail(pod, "PodGC: node no longer exists", now)
    if is_deleting(pod) and pod["metadata"].get("deletionGracePeriodSeconds"):
        actions.append(_remove(pod))
    return actions


def _fail(pod: Obj, message: str, now: datetime) -> list[Action]:
    if pod_ended(pod):
        return []
    status = {**status_of(pod), "phase": "Failed"}
    if message:
        disrupted = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": message}
        status["conditions"], _ = set_condition(status.get("conditions"), disrupted, now)
    return [Update("Pod", {**pod, "status": status}, "status")]


def _remove(pod: Obj) -> Delete:
    return Delete("Pod", namespace_of(pod), name_of(pod), uid_of(pod), grace=0)
