"""The life of machines: silent ones, their taints, and the pods that have to leave. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.actions import Delete, Note, Plan, Update
from trainui.localcluster.controllers.meta import (
    find_condition,
    format_time,
    is_deleting,
    name_of,
    namespace_of,
    parse_time,
    pod_ended,
    set_condition,
    spec_of,
    status_of,
    uid_of,
)

Obj = dict[str, Any]

GRACE = 40.0
"""Seconds without a heartbeat after which nobody knows any more how a machine is."""
DEFAULT_TOLERATION = 300.0
"""Seconds that pods bear a machine that is not ready or silent when they do not say."""

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
CORDONED = "node.kubernetes.io/unschedulable"
_OF_THE_CONTROLLER = ((NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute"), (UNREACHABLE, "NoSchedule"))
_OURS = {*_OF_THE_CONTROLLER, (UNREACHABLE, "NoExecute"), (CORDONED, "NoSchedule")}
_SILENT = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}


def heartbeat(node: Obj, lease: Obj | None) -> str:
    """Return what changes with each sign of life of a machine: the newer of its lease's renewal and its status's heartbeat."""
    ready = find_condition(status_of(node).get("conditions"), "Ready") or {}
    return max(str(spec_of(lease or {}).get("renewTime") or ""), str(ready.get("lastHeartbeatTime") or ""))


def watch_machine(node: Obj, silence: float | None, now: datetime) -> Plan:
    """Return what a machine's state asks for: condition Ready=Unknown after a long silence, and the taints that go with its state.

    `silence` is the time since the last sign of life in seconds, None for a machine that gives none.
    """
    plan = Plan()
    ready = (find_condition(status_of(node).get("conditions"), "Ready") or {}).get("status")
    if silence is not None and silence >= GRACE and ready != "Unknown":
        plan.actions.append(Update("Node", _silent(node, now), "status"))
        text = f"Node {name_of(node)} status is now: NodeNotReady"
        plan.actions.append(Note(node, "Normal", "NodeNotReady", text))
        ready = "Unknown"
    elif silence is not None and silence < GRACE:
        plan.look_again(GRACE - silence)
    taints = _taints(node, ready, now)
    if taints != list(spec_of(node).get("taints") or ()):
        spec = {key: value for key, value in spec_of(node).items() if key != "taints"}
        plan.actions.append(Update("Node", {**node, "spec": {**spec, "taints": taints} if taints else spec}))
    return plan


def _silent(node: Obj, now: datetime) -> Obj:
    status = {**status_of(node)}
    conditions = status.get("conditions") or [{"type": "Ready"}]
    for condition in conditions:
        unknown = {"type": condition["type"], "status": "Unknown", **_SILENT}
        status["conditions"], _ = set_condition(status.get("conditions"), unknown, now)
    return {**node, "status": status}


def _taints(node: Obj, ready: str | None, now: datetime) -> list[Obj]:
    """Return the taints a machine should have: those of others, and the ones that say how it is."""
    wanted: list[tuple[str, str]] = []
    if spec_of(node).get("unschedulable"):
        wanted.append((CORDONED, "NoSchedule"))
    key = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready or "")
    if key:
        wanted += [(key, "NoSchedule"), (key, "NoExecute")]
    result = []
    for taint in spec_of(node).get("taints") or ():
        mark = (taint.get("key"), taint.get("effect"))
        if mark not in _OURS or mark in wanted:
            result.append(taint)
    present = {(taint.get("key"), taint.get("effect")) for taint in result}
    missing = [mark for mark in wanted if mark not in present]
    return result + [{"key": key, "effect": effect, "timeAdded": format_time(now)} for key, effect in missing]


def makes_pods_leave(node: Obj) -> bool:
    """Tell whether pods have to be looked at: the machine is silent, or has a taint with the effect NoExecute."""
    ready = find_condition(status_of(node).get("conditions"), "Ready") or {}
    taints = spec_of(node).get("taints") or ()
    return ready.get("status") == "Unknown" or any(taint.get("effect") == "NoExecute" for taint in taints)


def leave_machine(node: Obj, pods: Iterable[Obj], now: datetime) -> Plan:
    """Return what becomes of the pods on a machine: not ready while it is silent, deleted when they do not bear its taints."""
    plan = Plan()
    taints = [taint for taint in spec_of(node).get("taints") or () if taint.get("effect") == "NoExecute"]
    ready = find_condition(status_of(node).get("conditions"), "Ready") or {}
    for pod in pods:
        if pod_ended(pod):
            continue
        current = pod
        if ready.get("status") == "Unknown":
            current = _unready(plan, pod, now)
        left = min((_seconds_borne(pod, taint, now) for taint in taints), default=float("inf"))
        if is_deleting(pod) or left == float("inf"):
            continue
        if left > 0:
            plan.look_again(left)
        else:
            _evict(plan, current, now)
    return plan


def _unready(plan: Plan, pod: Obj, now: datetime) -> Obj:
    conditions = status_of(pod).get("conditions")
    old = find_condition(conditions, "Ready")
    if old is None or old.get("status") != "True":
        return pod
    changed, _ = set_condition(conditions, {"type": "Ready", "status": "False"}, now)
    pod = {**pod, "status": {**status_of(pod), "conditions": changed}}
    plan.actions.append(Update("Pod", pod, "status"))
    plan.actions.append(Note(pod, "Warning", "NodeNotReady", "Node is not ready"))
    return pod


def _seconds_borne(pod: Obj, taint: Obj, now: datetime) -> float:
    """Return how many seconds a pod still bears a taint: infinity for ever, zero or less when it has to go."""
    tolerations = spec_of(pod).get("tolerations") or ()
    matching = [toleration for toleration in tolerations if _bears(toleration, taint)]
    if not matching:
        if taint.get("key") not in (NOT_READY, UNREACHABLE):
            return 0.0
        matching = [{"tolerationSeconds": DEFAULT_TOLERATION}]
    limits = [float(t["tolerationSeconds"]) for t in matching if t.get("tolerationSeconds") is not None]
    if not limits:
        return float("inf")
    added = parse_time(taint.get("timeAdded")) or now
    return min(limits) - (now - added).total_seconds()


def _bears(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", "NoExecute"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return toleration.get("key") == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")


def _evict(plan: Plan, pod: Obj, now: datetime) -> None:
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
    }
    conditions, _ = set_condition(status_of(pod).get("conditions"), disrupted, now)
    plan.actions.append(Update("Pod", {**pod, "status": {**status_of(pod), "conditions": conditions}}, "status"))
    text = f"Marking for deletion Pod {namespace_of(pod)}/{name_of(pod)}"
    plan.actions.append(Note(pod, "Normal", "TaintManagerEviction", text))
    plan.actions.append(Delete("Pod", namespace_of(pod), name_of(pod), uid_of(pod)))
