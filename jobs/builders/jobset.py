"""The JobSet of a job, from its finished draft."""

from .containers import Obj
from .draft import Draft


def jobset(draft: Draft) -> Obj:
    """Return the JobSet to apply: the runtime's template with everything that was built into it."""
    metadata = draft.template.get("metadata") or {}
    result = draft.child("jobset.x-k8s.io/v1alpha2", "JobSet", draft.name, spec=dict(draft.template["spec"]))
    for kind in ("labels", "annotations"):
        if merged := {**(metadata.get(kind) or {}), **result["metadata"].get(kind, {})}:
            result["metadata"][kind] = merged
    result["spec"]["suspend"] = draft.suspended
    return result
