"""Small readings of plain API objects that every controller needs. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Obj = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


def format_time(moment: datetime) -> str:
    """Return a moment as Kubernetes writes it: RFC 3339 in UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """Return the moment an RFC 3339 text names, or None for an absent or unreadable one."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def name_of(obj: Mapping[str, Any]) -> str:
    """Return metadata.name."""
    return str(obj["metadata"]["name"])


def namespace_of(obj: Mapping[str, Any]) -> str:
    """Return metadata.namespace, empty for an object of the cluster."""
    return str(obj["metadata"].get("namespace") or "")


def uid_of(obj: Mapping[str, Any]) -> str:
    """Return metadata.uid, empty while the object has none."""
    return str(obj["metadata"].get("uid") or "")


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels, an empty dict when there are none."""
    return obj["metadata"].get("labels") or {}


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations, an empty dict when there are none."""
    return obj["metadata"].get("annotations") or {}


def spec_of(obj: Mapping[str, Any]) -> Obj:
    """Return spec, an empty dict when it is absent."""
    return obj.get("spec") or {}


def status_of(obj: Mapping[str, Any]) -> Obj:
    """Return status, an empty dict when it is absent."""
    return obj.get("status") or {}


def created(obj: Mapping[str, Any]) -> datetime | None:
    """Return the moment the object was created."""
    return parse_time(obj["metadata"].get("creationTimestamp"))


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Tell whether somebody has asked to delete the object."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def has_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Tell whether the object carries a finalizer."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


def controller_of(obj: Mapping[str, Any]) -> Obj | None:
    """Return the owner reference that is marked as controller, or None."""
    for owner in obj["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def is_controlled_by(obj: Mapping[str, Any], owner: Mapping[str, Any]) -> bool:
    """Tell whether the object's controller is exactly this owner, by uid."""
    reference = controller_of(obj)
    return reference is not None and reference.get("uid") == uid_of(owner)


def controller_reference(owner: Mapping[str, Any]) -> Obj:
    """Return the owner reference by which a child names its controller; it holds up foreground deletion of the owner."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def find_condition(conditions: Iterable[Obj] | None, kind: str) -> Obj | None:
    """Return the condition of a type, or None."""
    for condition in conditions or ():
        if condition.get("type") == kind:
            return condition
    return None


def is_true(conditions: Iterable[Obj] | None, kind: str) -> bool:
    """Tell whether there is a condition of a type with status True."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.get("status") == "True"


def set_condition(conditions: Iterable[Obj] | None, new: Mapping[str, Any], now: datetime) -> tuple[list[Obj], bool]:
    """Return the conditions with `new` in them, and whether anything changed.

    A condition that only changes its words keeps the time of its last transition.
    """
    stamp = format_time(now)
    result: list[Obj] = []
    changed, found = False, False
    for old in conditions or ():
        if old.get("type") != new["type"]:
            result.append(old)
            continue
        found = True
        same_status = old.get("status") == new["status"]
        if same_status and all(old.get(key) == value for key, value in new.items()):
            result.append(old)
            continue
        moved = old.get("lastTransitionTime") if same_status else stamp
        result.append({**old, **new, "lastTransitionTime": moved or stamp})
        changed = True
    if not found:
        result.append({**new, "lastTransitionTime": stamp})
        changed = True
    return result, changed


def pod_phase(pod: Mapping[str, Any]) -> str:
    """Return status.phase; a pod without one is Pending."""
    return str(status_of(pod).get("phase") or "Pending")


def pod_ended(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod has ended for good: nothing of it runs any more."""
    return pod_phase(pod) in ("Succeeded", "Failed")


def pod_ready(pod: Mapping[str, Any]) -> bool:
    """Tell whether the pod's condition Ready is True."""
    return is_true(status_of(pod).get("conditions"), "Ready")
