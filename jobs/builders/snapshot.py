"""The copy of a runtime that a job keeps: later edits of the runtime never change the job."""

from typing import Any

import yaml

from runtimes.spec.findings import Finding

from .errors import BuildError

Obj = dict[str, Any]

SUFFIX = "-runtime-snapshot"
KEY = "runtime"
_SERVER_FIELDS = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def snapshot_name(job: str) -> str:
    """Return the name of the ConfigMap that holds a job's runtime."""
    return job + SUFFIX


def snapshot_data(runtime: Obj) -> dict[str, str]:
    """Return the `data` of the snapshot: the runtime as YAML, without what the API server adds."""
    metadata = {key: value for key, value in (runtime.get("metadata") or {}).items() if key not in _SERVER_FIELDS}
    kept: Obj = {key: runtime[key] for key in ("apiVersion", "kind", "spec") if key in runtime}
    kept["metadata"] = metadata
    text: str = yaml.dump(kept, Dumper=_DUMPER, sort_keys=True, allow_unicode=True)
    return {KEY: text}


def read_snapshot(configmap: Obj, trainjob: Obj) -> Obj:
    """Return the runtime a snapshot holds.

    trainjob: the job it must belong to.
    Raises BuildError if the ConfigMap belongs to another object, or holds another runtime than `spec.runtimeRef`.
    """
    owner = (trainjob.get("metadata") or {}).get("uid")
    references = (configmap.get("metadata") or {}).get("ownerReferences") or []
    if not any(reference.get("uid") == owner for reference in references):
        name = (configmap.get("metadata") or {}).get("name", "")
        raise BuildError.of("", "snapshot_not_ours", f"ConfigMap {name} belongs to another object.", name=name)
    runtime = yaml.load((configmap.get("data") or {}).get(KEY, ""), Loader=_LOADER)  # noqa: S506 (a safe loader)
    wanted = (trainjob.get("spec") or {}).get("runtimeRef") or {}
    if not isinstance(runtime, dict) or not isinstance(runtime.get("spec"), dict):
        raise BuildError([Finding("spec.runtimeRef", "snapshot_unreadable", "The stored runtime cannot be read.")])
    found = (runtime.get("kind", ""), (runtime.get("metadata") or {}).get("name", ""))
    if found != (wanted.get("kind", "ClusterTrainingRuntime"), wanted.get("name", "")):
        message = f"The stored runtime is {found[0]} {found[1]}, the job names another one."
        raise BuildError([Finding("spec.runtimeRef", "snapshot_mismatch", message)])
    return runtime
