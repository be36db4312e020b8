"""Pure rules of deletion: what a delete makes of an object, and when it is over."""

from trainui.localcluster.errors import bad_request
from trainui.localcluster.objects import editable, timestamp
from trainui.localcluster.resources import Kind, Obj

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
NAMESPACE_CONTENT = "kubernetes"
_FINALIZERS = {"Background": None, "Foreground": FOREGROUND, "Orphan": ORPHAN}
_FINISHED = ("Succeeded", "Failed")


def marked(kind: Kind, old: Obj, propagation: str, grace: int | None, now: float) -> Obj:
    """Return a copy of an object as a delete leaves it, before it is known whether it stays.

    A second delete changes the propagation, and shortens a pod's grace but never lengthens it. Raises ApiError 400 for a propagation
    that does not exist.
    """
    if propagation not in _FINALIZERS:
        raise bad_request(
            f'invalid propagationPolicy "{propagation}": needs to be one of Foreground, Background, Orphan'
        )
    new = editable(old)
    metadata = new["metadata"]
    finalizers = [name for name in metadata.pop("finalizers", None) or () if name not in (FOREGROUND, ORPHAN)]
    if wanted := _FINALIZERS[propagation]:
        finalizers.append(wanted)
    if finalizers:
        metadata["finalizers"] = finalizers
    seconds = _grace(kind, new, grace)
    first = not metadata.get("deletionTimestamp")
    if first or seconds < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionTimestamp"] = timestamp(now + seconds)
        metadata["deletionGracePeriodSeconds"] = seconds
    if first and kind.generation:
        metadata["generation"] = metadata.get("generation", 1) + 1
    if kind.kind == "Namespace":
        new.setdefault("status", {})["phase"] = "Terminating"
    return new


def _grace(kind: Kind, obj: Obj, grace: int | None) -> int:
    """Return the seconds a pod may take; one without a machine or that has finished needs none."""
    if kind.kind != "Pod":
        return 0
    spec = obj.get("spec") or {}
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _FINISHED:
        return 0
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", 30)
    return max(0, int(grace))


def is_over(obj: Obj) -> bool:
    """Tell whether a marked object goes away now: no finalizer and no grace are left, and a namespace is empty."""
    metadata = obj["metadata"]
    if not metadata.get("deletionTimestamp"):
        return False
    if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (obj["kind"] == "Namespace" and obj.get("spec", {}).get("finalizers"))


def namespace_emptied(obj: Obj) -> Obj:
    """Return a namespace without the finalizer that stands for its content."""
    spec = {**(obj.get("spec") or {})}
    spec["finalizers"] = [name for name in spec.get("finalizers") or () if name != NAMESPACE_CONTENT]
    return {**obj, "spec": {key: value for key, value in spec.items() if value}}
