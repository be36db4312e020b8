"""The objects that a JobSet creates: its Service, its claims and its Jobs. Pure."""

import copy
from typing import Any

from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.meta import controller_reference

Obj = dict[str, Any]


def build_service(jobset: Obj) -> Obj:
    """Return the headless Service that gives the pods their host names."""
    network = jobset["spec"].get("network") or {}
    return {
        "metadata": {
            "name": names.subdomain(jobset),
            "namespace": jobset["metadata"]["namespace"],
            "ownerReferences": [controller_reference(jobset)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {names.JOBSET_NAME: jobset["metadata"]["name"]},
            "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True),
        },
    }


def build_claims(jobset: Obj) -> list[Obj]:
    """Return the PersistentVolumeClaims of volumeClaimPolicies.

    The JobSet owns those whose retention policy is Delete (the default); the others outlive it.
    """
    claims = []
    for policy in jobset["spec"].get("volumeClaimPolicies") or ():
        when_deleted = (policy.get("retentionPolicy") or {}).get("whenDeleted", "Delete")
        for template in policy.get("templates") or ():
            metadata = template.get("metadata") or {}
            claim_metadata: Obj = {
                "name": names.claim_name(jobset, metadata.get("name", "")),
                "namespace": jobset["metadata"]["namespace"],
                "labels": {**(metadata.get("labels") or {}), names.JOBSET_NAME: jobset["metadata"]["name"]},
            }
            if metadata.get("annotations"):
                claim_metadata["annotations"] = dict(metadata["annotations"])
            if when_deleted == "Delete":
                claim_metadata["ownerReferences"] = [controller_reference(jobset)]
            claims.append({"metadata": claim_metadata, "spec": copy.deepcopy(template.get("spec") or {})})
    return claims


def build_job(jobset: Obj, rjob: Obj, index: int, job_restarts: int = 0) -> Obj:
    """Return one Job of a replicated job for the current attempt of the JobSet."""
    template = rjob.get("template") or {}
    name = names.job_name(jobset, rjob["name"], index)
    spec: Obj = copy.deepcopy(template.get("spec") or {})
    spec.setdefault("completionMode", "Indexed")
    spec["suspend"] = bool(jobset["spec"].get("suspend"))
    pod: Obj = spec.setdefault("template", {})
    pod_spec: Obj = pod.setdefault("spec", {})
    pod_spec.setdefault("restartPolicy", "OnFailure")
    if names.dns_hostnames(jobset):
        pod_spec["subdomain"] = names.subdomain(jobset)
    _add_claim_volumes(jobset, pod_spec)

    marks = names.marks(jobset, rjob, index, job_restarts)
    exclusive = names.exclusive_annotations(jobset, rjob)
    metadata: Obj = {"name": name, "namespace": jobset["metadata"]["namespace"]}
    _mark(metadata, template.get("metadata") or {}, marks, exclusive)
    pod_metadata = dict(pod.get("metadata") or {})
    _mark(pod_metadata, pod_metadata, marks, exclusive)
    pod["metadata"] = pod_metadata
    if names.EXCLUSIVE in exclusive and names.NODE_SELECTOR_STRATEGY in exclusive:
        selector = f"{jobset['metadata']['namespace']}_{name}"
        pod_spec["nodeSelector"] = {**(pod_spec.get("nodeSelector") or {}), names.NAMESPACED_JOB: selector}
        toleration = {"key": names.NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
        pod_spec["tolerations"] = [*(pod_spec.get("tolerations") or ()), toleration]
    metadata["ownerReferences"] = [controller_reference(jobset)]
    return {"metadata": metadata, "spec": spec}


def _mark(metadata: Obj, given: Obj, marks: dict[str, str], exclusive: dict[str, str]) -> None:
    metadata["labels"] = {**(given.get("labels") or {}), **marks}
    metadata["annotations"] = {**(given.get("annotations") or {}), **marks, **exclusive}


def _add_claim_volumes(jobset: Obj, pod_spec: Obj) -> None:
    """Add the volume of each claim that some container mounts by the template's name."""
    containers = [*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())]
    mounted = {mount.get("name") for container in containers for mount in container.get("volumeMounts") or ()}
    present = {volume.get("name") for volume in pod_spec.get("volumes") or ()}
    for policy in jobset["spec"].get("volumeClaimPolicies") or ():
        for template in policy.get("templates") or ():
            name = (template.get("metadata") or {}).get("name", "")
            if name in mounted and name not in present:
                claim = {"claimName": names.claim_name(jobset, name)}
                pod_spec["volumes"] = [*(pod_spec.get("volumes") or ()), {"name": name, "persistentVolumeClaim": claim}]
                present.add(name)
