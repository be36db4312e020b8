"""The JobSet of a job, from its finished draft."""

from .containers import Obj, all_containers, pod_spec
from .draft import Draft

_EMPTY_IS_ABSENT = (
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
    "serviceAccountName",
    "nodeName",
    "subdomain",
)


def _canonical(spec: Obj) -> Obj:
    """Write a JobSet spec as a typed client does, so that applying it twice changes nothing.

    Texts and indices whose empty value means "not set" are left out; the divisor that the API server fills in is there.
    """
    if coordinator := spec.get("coordinator"):
        spec["coordinator"] = {key: value for key, value in coordinator.items() if value != 0}
    _claims(spec)
    for job in spec["replicatedJobs"]:
        pod = pod_spec(job)
        for key in _EMPTY_IS_ABSENT:
            if pod.get(key) == "":
                del pod[key]
        for target in all_containers(pod):
            for entry in target.get("env") or []:
                if field := (entry.get("valueFrom") or {}).get("resourceFieldRef"):
                    field.setdefault("divisor", "0")
    return spec


def _claims(spec: Obj) -> None:
    """Make claim templates resumable: JobSet's default retention is written out, and pods leave the volume to JobSet.

    A re-apply without the policy would take back what JobSet's webhook filled in, and be refused as a change (facts:
    kubeflow-trainer 8.1). JobSet adds a template's volume to the pods that mount it, and refuses one of that name.
    """
    names = set()
    for policy in spec.get("volumeClaimPolicies") or []:
        if not (policy.get("retentionPolicy") or {}).get("whenDeleted"):
            policy["retentionPolicy"] = {**(policy.get("retentionPolicy") or {}), "whenDeleted": "Delete"}
        names |= {(template.get("metadata") or {}).get("name") for template in policy.get("templates") or []}
    for job in spec["replicatedJobs"]:
        pod = pod_spec(job)
        if any(volume.get("name") in names for volume in pod.get("volumes") or []):
            pod["volumes"] = [volume for volume in pod["volumes"] if volume.get("name") not in names]


def jobset(draft: Draft) -> Obj:
    """Return the JobSet to apply: the runtime's template with everything that was built into it."""
    metadata = draft.template.get("metadata") or {}
    spec = _canonical(draft.template["spec"])
    result = draft.child("jobset.x-k8s.io/v1alpha2", "JobSet", draft.name, spec={**spec, "suspend": draft.suspended})
    for kind in ("labels", "annotations"):
        if merged := {**(metadata.get(kind) or {}), **result["metadata"].get(kind, {})}:
            result["metadata"][kind] = merged
    return result
