"""Pods: defaults, priority, quota, and what may change later."""

from decimal import Decimal
from typing import Any

from trainui.localcluster.admission.podspec import check_pod_spec
from trainui.localcluster.admission.rules import Reader, Write, forbidden_field, spec_of
from trainui.localcluster.errors import Cause, forbidden
from trainui.localcluster.quantities import format_quantity, parse_quantity
from trainui.localcluster.resources import KINDS, Obj

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
UPDATE_MESSAGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MAY_CHANGE = ("activeDeadlineSeconds", "schedulingGates", "tolerations", "ephemeralContainers", "resources")
_FINISHED = ("Succeeded", "Failed")


def default_pod(write: Write) -> None:
    """Give a new pod its priority, requests from limits, pull policies, quality class and phase.

    Raises ApiError 403 for a priority class that does not exist and for a quota that would be exceeded.
    """
    if write.old is not None:
        return
    spec = write.new.get("spec")
    if not isinstance(spec, dict):
        return
    _set_priority(write, spec)
    containers = _containers(spec)
    for container in containers:
        resources = container.get("resources")
        if isinstance(resources, dict) and isinstance(resources.get("limits"), dict):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
        if isinstance(container.get("image"), str) and not container.get("imagePullPolicy"):
            container["imagePullPolicy"] = pull_policy(container["image"])
    write.new["status"] = {"phase": "Pending", "qosClass": quality(containers)}
    _check_quota(write, spec)


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for group in ("initContainers", "containers"):
        items = spec.get(group)
        found += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return found


def pull_policy(image: str) -> str:
    """Return when an image is pulled, where the pod does not say: always for `latest` and no tag."""
    name = image.rsplit("/", 1)[-1]
    return "Always" if "@" not in name and (":" not in name or name.endswith(":latest")) else "IfNotPresent"


def quality(containers: list[dict[str, Any]]) -> str:
    """Return the quality of service class that follows from requests and limits."""
    shapes = [container.get("resources") or {} for container in containers]
    if not any(shape.get("limits") or shape.get("requests") for shape in shapes):
        return "BestEffort"
    for shape in shapes:
        limits, requests = shape.get("limits") or {}, shape.get("requests") or {}
        if any(name not in limits or limits[name] != requests.get(name) for name in ("cpu", "memory")):
            return "Burstable"
    return "Guaranteed"


def _set_priority(write: Write, spec: dict[str, Any]) -> None:
    name = spec.get("priorityClassName")
    if name in SYSTEM_PRIORITIES:
        spec["priority"] = SYSTEM_PRIORITIES[name]
        return
    if not name:
        classes, _ = write.reader.list("PriorityClass")
        found = next((item for item in classes if item.get("globalDefault")), None)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    else:
        found = write.reader.get("PriorityClass", None, str(name))
        if found is None:
            pod = write.new["metadata"].get("name", "")
            raise forbidden(KINDS["Pod"], pod, f"no PriorityClass with name {name} was found")
    spec["priority"] = found["value"] if found else 0
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority"))


def pod_usage(spec: dict[str, Any]) -> dict[str, Decimal]:
    """Return what a pod counts for in a quota: `pods`, and requests and limits under every name that a quota may use."""
    usage = {"pods": Decimal(1), "count/pods": Decimal(1)}
    for group in ("requests", "limits"):
        sums: dict[str, Decimal] = {}
        for container in spec.get("containers") or []:
            for name, value in ((container.get("resources") or {}).get(group) or {}).items():
                sums[name] = sums.get(name, Decimal(0)) + _amount(value)
        for container in spec.get("initContainers") or []:
            for name, value in ((container.get("resources") or {}).get(group) or {}).items():
                sums[name] = max(sums.get(name, Decimal(0)), _amount(value))
        usage |= {f"{group}.{name}": amount for name, amount in sums.items()}
        if group == "requests":
            usage |= {name: amount for name, amount in sums.items() if name in ("cpu", "memory")}
    return usage


def _amount(value: object) -> Decimal:
    try:
        return parse_quantity(value)
    except ValueError:
        return Decimal(0)


def namespace_usage(reader: Reader, namespace: str) -> dict[str, Decimal]:
    """Return what the unfinished pods of a namespace count for."""
    total: dict[str, Decimal] = {}
    for pod in reader.list("Pod", namespace)[0]:
        if (pod.get("status") or {}).get("phase") not in _FINISHED:
            for name, amount in pod_usage(spec_of(pod)).items():
                total[name] = total.get(name, Decimal(0)) + amount
    return total


def _check_quota(write: Write, spec: dict[str, Any]) -> None:
    """Refuse a pod that a ResourceQuota of its namespace has no room for."""
    metadata = write.new["metadata"]
    quotas, _ = write.reader.list("ResourceQuota", metadata.get("namespace"))
    if not quotas:
        return
    used, wanted = namespace_usage(write.reader, metadata["namespace"]), pod_usage(spec)
    for quota in quotas:
        hard = {name: _amount(value) for name, value in (spec_of(quota).get("hard") or {}).items()}
        _check_one_quota(write.new, quota["metadata"]["name"], hard, used, wanted)


def _check_one_quota(
    pod: Obj, quota: str, hard: dict[str, Decimal], used: dict[str, Decimal], wanted: dict[str, Decimal]
) -> None:
    name = pod["metadata"].get("name", "")
    counted = {key for key in hard if key.partition(".")[0] in ("requests", "limits") or key in ("cpu", "memory")}
    missing = sorted(key for key in counted if key not in wanted and key.rpartition(".")[2] in ("cpu", "memory"))
    if missing:
        raise forbidden(KINDS["Pod"], name, f"failed quota: {quota}: must specify {','.join(missing)}")
    over = sorted(key for key in hard if key in wanted and used.get(key, Decimal(0)) + wanted[key] > hard[key])
    if over:
        parts = [
            f"{label}: " + ",".join(f"{key}={format_quantity(amounts.get(key, Decimal(0)))}" for key in over)
            for label, amounts in (("requested", wanted), ("used", used), ("limited", hard))
        ]
        raise forbidden(KINDS["Pod"], name, f"exceeded quota: {quota}, {', '.join(parts)}")


def check_pod(write: Write) -> list[Cause]:
    """Check a pod's spec; of an existing one only images, deadline, gates, machine and more tolerations may change."""
    spec = spec_of(write.new)
    if write.old is None:
        return check_pod_spec(spec, "spec")
    old = spec_of(write.old)
    if old == spec:
        return []
    unplaced, gated = not old.get("nodeName"), bool(old.get("schedulingGates"))
    if _frozen(old, unplaced, gated) == _frozen(spec, unplaced, gated) and _tolerations_kept(old, spec):
        return check_pod_spec(spec, "spec")
    return [forbidden_field("spec", UPDATE_MESSAGE)]


def _frozen(spec: dict[str, Any], unplaced: bool, gated: bool) -> dict[str, Any]:
    """Return a spec without what may change: of an unplaced pod also its machine, of a gated one where it may run."""
    free = {*_MAY_CHANGE, *(("nodeName",) if unplaced else ()), *(("nodeSelector", "affinity") if gated else ())}
    left = {key: value for key, value in spec.items() if key not in free}
    for group in ("containers", "initContainers"):
        if group in left:
            left[group] = [{k: v for k, v in item.items() if k not in ("image", "resources")} for item in left[group]]
    return left


def _tolerations_kept(old: dict[str, Any], new: dict[str, Any]) -> bool:
    after = new.get("tolerations") or []
    return all(toleration in after for toleration in old.get("tolerations") or [])
