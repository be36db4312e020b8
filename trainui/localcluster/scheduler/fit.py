"""Whether a pod fits on a machine, and why not, in the words of the Kubernetes scheduler. Pure."""

from typing import Any

from trainui.localcluster.scheduler.requests import PODS
from trainui.localcluster.scheduler.views import Machine, Pod

Obj = dict[str, Any]

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
OTHER_NODE = "node(s) didn't match the requested node name"
PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"

_UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def never(pod: Pod, machine: Machine) -> str | None:
    """Return why a machine is out of the question for a pod, however empty it is; None when it is not."""
    spec = pod.spec
    tolerations = spec.get("tolerations") or ()
    if machine.unschedulable and not _tolerated(_UNSCHEDULABLE_TAINT, tolerations):
        return UNSCHEDULABLE
    for taint in machine.taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not _tolerated(taint, tolerations):
            return TAINTED
    if not _selected(spec, machine):
        return SELECTOR
    return None


def lacking(pod: Pod, machine: Machine) -> list[str]:
    """Return what a machine lacks now for a pod: one entry per resource, in a stable order."""
    found = []
    if any(_clash(port, taken) for port in pod.ports for taken in machine.ports):
        found.append(PORTS)
    for name in sorted(pod.requests):
        if pod.requests[name] > machine.free.get(name, 0):
            found.append(TOO_MANY_PODS if name == PODS else f"Insufficient {name}")
    return found


def misfit(pod: Pod, machine: Machine) -> list[str]:
    """Return why a pod cannot be placed on a machine now; empty when it can."""
    reason = never(pod, machine)
    return [reason] if reason else lacking(pod, machine)


def _tolerated(taint: Obj, tolerations: Any) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator", "Equal") == "Exists":
        return key in ("", taint.get("key"))
    return key == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")


def _clash(wanted: tuple[str, str, int], taken: tuple[str, str, int]) -> bool:
    everywhere = "0.0.0.0"  # noqa: S104
    same_address = wanted[0] == taken[0] or everywhere in (wanted[0], taken[0])
    return same_address and wanted[1:] == taken[1:]


def _selected(spec: Obj, machine: Machine) -> bool:
    wanted = spec.get("nodeSelector") or {}
    if any(machine.labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not affinity:
        return True
    return any(_term_matches(term, machine) for term in affinity.get("nodeSelectorTerms") or ())


def _term_matches(term: Obj, machine: Machine) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    by_field = {"metadata.name": machine.name}
    return all(_matches(e, machine.labels) for e in expressions) and all(_matches(f, by_field) for f in fields)


def _matches(expression: Obj, labels: dict[str, str]) -> bool:
    key, operator = expression.get("key", ""), expression.get("operator")
    values = [str(value) for value in expression.get("values") or ()]
    label = labels.get(key)
    if operator == "In":
        return label in values
    if operator == "NotIn":
        return label not in values
    if operator == "Exists":
        return label is not None
    if operator == "DoesNotExist":
        return label is None
    try:
        number, bound = int(label or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound if operator == "Lt" else False
