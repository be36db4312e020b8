"""The JobSet of a job, from its finished draft."""

from typing import Any

from runtimes.spec.quantities import QuantityError, format_quantity, parse

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

    Texts and indices whose empty value means "not set" are left out; the divisor that the API server fills in is there, and
    quantities have the form in which JobSet's webhook stores them.
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
            _quantities(target.get("resources"))
            for entry in target.get("env") or []:
                if field := (entry.get("valueFrom") or {}).get("resourceFieldRef"):
                    field.setdefault("divisor", "0")
    return spec


def _quantities(resources: Obj | None) -> None:
    """Write the amounts of requests and limits as Kubernetes does: 2 as "2", 1000m as "1", 1.5Gi as "1536Mi"."""
    for part in ("requests", "limits"):
        amounts = (resources or {}).get(part) or {}
        for name, value in amounts.items():
            amounts[name] = _quantity(value)


def _quantity(value: Any) -> Any:
    """The amount in its canonical form; exponents, and what is no quantity, stay as they are."""
    text = str(value)
    if "e" in text.lower().rstrip("ei"):
        return text
    try:
        return format_quantity(parse(value), binary=text.endswith("i"))
    except QuantityError:
        return value


def _claims(spec: Obj) -> None:
    """Make claim templates resumable: what JobSet's webhook fills in is written out, and pods leave the volume to JobSet.

    A re-apply without retention policy, or without the empty status of a template, would take those back and be refused
    as a change (facts: kubeflow-trainer 8.1; seen with JobSet 0.12). JobSet adds a template's volume to the pods that
    mount it, and refuses one of that name.
    """
    names = set()
    for policy in spec.get("volumeClaimPolicies") or []:
        if not (policy.get("retentionPolicy") or {}).get("whenDeleted"):
            policy["retentionPolicy"] = {**(policy.get("retentionPolicy") or {}), "whenDeleted": "Delete"}
        for template in policy.get("templates") or []:
            template.setdefault("status", {})
            _quantities((template.get("spec") or {}).get("resources"))
            names.add((template.get("metadata") or {}).get("name"))
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
