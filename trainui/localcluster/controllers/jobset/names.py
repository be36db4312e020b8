"""Names, labels and annotations that a JobSet gives to what it creates (JobSet 0.12). Pure."""

import hashlib
from typing import Any

Obj = dict[str, Any]

PREFIX = "jobset.sigs.k8s.io"
JOBSET_NAME = f"{PREFIX}/jobset-name"
JOBSET_UID = f"{PREFIX}/jobset-uid"
REPLICATED_JOB = f"{PREFIX}/replicatedjob-name"
REPLICATED_JOB_REPLICAS = f"{PREFIX}/replicatedjob-replicas"
GLOBAL_REPLICAS = f"{PREFIX}/global-replicas"
JOB_INDEX = f"{PREFIX}/job-index"
JOB_KEY = f"{PREFIX}/job-key"
JOB_GLOBAL_INDEX = f"{PREFIX}/job-global-index"
GROUP_NAME = f"{PREFIX}/group-name"
GROUP_REPLICAS = f"{PREFIX}/group-replicas"
JOB_GROUP_INDEX = f"{PREFIX}/job-group-index"
RESTART_ATTEMPT = f"{PREFIX}/restart-attempt"
JOB_RESTART_ATTEMPT = f"{PREFIX}/job-restart-attempt"
COORDINATOR = f"{PREFIX}/coordinator"
CONTROLLER_NAME = f"{PREFIX}/jobset-controller"

ALPHA = "alpha.jobset.sigs.k8s.io"
EXCLUSIVE = f"{ALPHA}/exclusive-topology"
NODE_SELECTOR_STRATEGY = f"{ALPHA}/node-selector"
NAMESPACED_JOB = f"{ALPHA}/namespaced-job"
NO_SCHEDULE = f"{ALPHA}/no-schedule"

DEFAULT_GROUP = "default"


def replicated_jobs(jobset: Obj) -> list[Obj]:
    """Return spec.replicatedJobs."""
    return list(jobset.get("spec", {}).get("replicatedJobs") or ())


def replicas_of(rjob: Obj) -> int:
    """Return how many Jobs a replicated job stands for; 1 when it does not say."""
    return int(rjob.get("replicas", 1))


def group_of(rjob: Obj) -> str:
    """Return the group of a replicated job."""
    return str(rjob.get("groupName") or DEFAULT_GROUP)


def job_name(jobset: Obj, rjob_name: str, index: int) -> str:
    """Return the name of one Job: `<jobset>-<replicated job>-<index>`."""
    return f"{jobset['metadata']['name']}-{rjob_name}-{index}"


def subdomain(jobset: Obj) -> str:
    """Return the subdomain of the pods, which is also the name of the headless Service."""
    return str((jobset["spec"].get("network") or {}).get("subdomain") or jobset["metadata"]["name"])


def dns_hostnames(jobset: Obj) -> bool:
    """Tell whether the pods get host names, which needs the Service; yes when it does not say."""
    return (jobset["spec"].get("network") or {}).get("enableDNSHostnames", True) is not False


def claim_name(jobset: Obj, template_name: str) -> str:
    """Return the name of a claim made from volumeClaimPolicies: `<template>-<jobset>`."""
    return f"{template_name}-{jobset['metadata']['name']}"


def coordinator(jobset: Obj) -> str | None:
    """Return the endpoint of the pod that spec.coordinator names, or None."""
    wanted = jobset["spec"].get("coordinator")
    if not wanted:
        return None
    name = job_name(jobset, wanted["replicatedJob"], int(wanted.get("jobIndex", 0)))
    return f"{name}-{int(wanted.get('podIndex', 0))}.{subdomain(jobset)}"


def job_key(namespace: str, name: str) -> str:
    """Return the hash that identifies a Job in selectors."""
    return hashlib.sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()


def global_index(jobset: Obj, rjob_name: str, index: int) -> int:
    """Return the place of a Job among all Jobs of its JobSet, in the order of the spec."""
    before = 0
    for rjob in replicated_jobs(jobset):
        if rjob["name"] == rjob_name:
            break
        before += replicas_of(rjob)
    return before + index


def group_index(jobset: Obj, rjob: Obj, index: int) -> int:
    """Return the place of a Job among the Jobs of its group."""
    before = 0
    for other in replicated_jobs(jobset):
        if other["name"] == rjob["name"]:
            break
        before += replicas_of(other) if group_of(other) == group_of(rjob) else 0
    return before + index


def marks(jobset: Obj, rjob: Obj, index: int, job_restarts: int = 0) -> dict[str, str]:
    """Return what Job and pods of one index carry both as labels and as annotations."""
    metadata = jobset["metadata"]
    all_jobs = replicated_jobs(jobset)
    group = group_of(rjob)
    found = {
        JOBSET_NAME: metadata["name"],
        JOBSET_UID: metadata.get("uid", ""),
        REPLICATED_JOB: rjob["name"],
        REPLICATED_JOB_REPLICAS: str(replicas_of(rjob)),
        GLOBAL_REPLICAS: str(sum(replicas_of(other) for other in all_jobs)),
        JOB_INDEX: str(index),
        JOB_KEY: job_key(metadata["namespace"], job_name(jobset, rjob["name"], index)),
        JOB_GLOBAL_INDEX: str(global_index(jobset, rjob["name"], index)),
        GROUP_NAME: group,
        GROUP_REPLICAS: str(sum(replicas_of(other) for other in all_jobs if group_of(other) == group)),
        JOB_GROUP_INDEX: str(group_index(jobset, rjob, index)),
        RESTART_ATTEMPT: str((jobset.get("status") or {}).get("restarts", 0)),
    }
    if job_restarts:
        found[JOB_RESTART_ATTEMPT] = str(job_restarts)
    endpoint = coordinator(jobset)
    if endpoint:
        found[COORDINATOR] = endpoint
    return found


def exclusive_annotations(jobset: Obj, rjob: Obj) -> dict[str, str]:
    """Return the annotations of exclusive placement; the replicated job's win over the JobSet's."""
    found: dict[str, str] = {}
    template = (rjob.get("template") or {}).get("metadata") or {}
    for annotations in (jobset["metadata"].get("annotations") or {}, template.get("annotations") or {}):
        if EXCLUSIVE in annotations:
            found[EXCLUSIVE] = annotations[EXCLUSIVE]
            if NODE_SELECTOR_STRATEGY in annotations:
                found[NODE_SELECTOR_STRATEGY] = annotations[NODE_SELECTOR_STRATEGY]
    return found
