"""Pure comparison of a blueprint's runtime with the one in the cluster."""

import hashlib
from typing import Any

import orjson

HASH_ANNOTATION = "trainui.dev/blueprint-hash"


def manifest_hash(manifest: dict[str, Any]) -> str:
    """Return a short digest of a runtime as a blueprint has it."""
    return hashlib.sha256(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def stamped(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the runtime with its digest as an annotation, by which an edited one is told from an outdated one."""
    metadata = manifest["metadata"]
    annotations = (metadata.get("annotations") or {}) | {HASH_ANNOTATION: manifest_hash(manifest)}
    return manifest | {"metadata": metadata | {"annotations": annotations}}


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Return the field paths at which `found` lacks or changes what `wanted` says; more than wanted is no difference (defaults)."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return [path or "."]
        return [
            d
            for key, value in wanted.items()
            for d in differences(value, found.get(key), f"{path}.{key}" if path else key)
        ]
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return [path]
        return [
            d for i, (a, b) in enumerate(zip(wanted, found, strict=True)) for d in differences(a, b, f"{path}[{i}]")
        ]
    return [] if wanted == found else [path]


def outdated(manifest: dict[str, Any], observed: dict[str, Any] | None) -> bool:
    """Whether the cluster lacks the runtime, or has what an earlier version of the blueprint applied.

    One without our digest is somebody else's of the same name, such as Kubeflow's stock runtime: it is never outdated.
    """
    if observed is None:
        return True
    stamp = (observed["metadata"].get("annotations") or {}).get(HASH_ANNOTATION)
    return stamp is not None and stamp != manifest_hash(manifest)
