"""TrainJobs as manifests to keep or apply elsewhere: without what the server adds, and without secrets."""

import copy
from dataclasses import dataclass
from typing import Any

from jobs.spec.masking import LAST_APPLIED, MASK, mask_object
from runtimes.spec.access import as_map
from runtimes.spec.kinds import ANNOTATION_SUBMISSION
from runtimes.spec.schema import field_path

_SERVER = "set by the server"
_OURS = "belongs to the one submission it was made for"
_SECRET = "a secret value; keep it in a Secret and refer to it"  # noqa: S105

# Fields of metadata that say what the object is to one cluster.
_METADATA = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "ownerReferences",
    "finalizers",
)
_ANNOTATIONS = {LAST_APPLIED: _SERVER, ANNOTATION_SUBMISSION: _OURS}


@dataclass(frozen=True)
class Omission:
    """One field that an export leaves out or hides, and why."""

    path: str
    reason: str


def as_submitted(live: dict[str, Any]) -> dict[str, Any]:
    """Return a TrainJob as it may be submitted again, nameless: secrets stay, what belongs to one object of one cluster goes."""
    manifest = {key: copy.deepcopy(value) for key, value in live.items() if key != "status"}
    metadata = as_map(manifest.get("metadata"))
    kept = {key: value for key, value in metadata.items() if key not in (*_METADATA, "name", "generateName")}
    annotations = {k: v for k, v in as_map(metadata.get("annotations")).items() if k not in _ANNOTATIONS}
    kept.pop("annotations", None)
    return manifest | {"metadata": kept | ({"annotations": annotations} if annotations else {})}


def export_trainjob(live: dict[str, Any]) -> tuple[dict[str, Any], list[Omission]]:
    """Return a manifest of a live TrainJob, and what it leaves out.

    Without status, uid, managed fields and the like; the rest stays, so applying it changes nothing. Variables with secret values are left
    out, secrets inside other texts are hidden: then it does change something, and the omissions say so. The same works for a runtime.
    """
    manifest = copy.deepcopy(live)
    omitted: list[Omission] = []
    if manifest.pop("status", None):
        omitted.append(Omission("status", _SERVER))
    metadata = as_map(manifest.get("metadata"))
    for key in _METADATA:
        if metadata.pop(key, None) is not None:
            omitted.append(Omission(field_path(["metadata", key]), _SERVER))
    annotations = as_map(metadata.get("annotations"))
    for key, reason in _ANNOTATIONS.items():
        if annotations.pop(key, None) is not None:
            omitted.append(Omission(field_path(["metadata", "annotations", key]), reason))
    for key in ("annotations", "labels"):
        if metadata.get(key) == {}:
            del metadata[key]
    masked, secrets = mask_object(manifest)
    _drop_masked(masked)
    return masked, omitted + [Omission(path, _SECRET) for path in secrets]


def _drop_masked(value: Any) -> None:
    """Take variables whose whole value is hidden out of every env list: set to the mask they would only mislead a program."""
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _drop_masked(item)
    if isinstance(value, dict) and isinstance(value.get("env"), list):
        kept = [entry for entry in value["env"] if not (isinstance(entry, dict) and entry.get("value") == MASK)]
        if len(kept) != len(value["env"]):
            value["env"] = kept
            if not kept:
                del value["env"]
