"""The runtime that a TrainJob refers to, as the catalog knows it."""

from typing import Any

from runtimes.models import Runtime
from runtimes.spec.defaults import default_runtime
from trainui.accounts.models import Project


def find_runtime(manifest: dict[str, Any], project: Project) -> dict[str, Any] | None:
    """Return the runtime that a TrainJob of this project refers to, with defaults, or None."""
    spec = manifest.get("spec")
    reference = spec.get("runtimeRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return None
    kind = reference.get("kind") or Runtime.CLUSTER_KIND
    namespace = "" if kind == Runtime.CLUSTER_KIND else project.namespace
    row = Runtime.objects.filter(kind=kind, namespace=namespace, name=reference["name"]).first()
    return default_runtime(row.effective) if row and row.effective else None
