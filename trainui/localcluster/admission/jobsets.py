"""JobSets: the defaults and rules of JobSet's own webhooks."""

import re
from collections.abc import Iterator
from typing import Any

from trainui.localcluster.admission.jobs import without_placement
from trainui.localcluster.admission.rules import IMMUTABLE, Write, changed, invalid_value, spec_of
from trainui.localcluster.errors import Cause

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_JOB_NAME_LONG = "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
_POD_NAME_LONG = "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
_SUBDOMAIN_LONG = ".spec.network.subdomain is too long, must be less than 63 characters"
_FROZEN = (
    "network",
    "successPolicy",
    "failurePolicy",
    "startupPolicy",
    "managedBy",
    "coordinator",
    "volumeClaimPolicies",
)
_LIMIT = 63


def default_jobset(write: Write) -> None:
    """Fill in what JobSet's webhook does: policies, network, Indexed completion, restart on failure."""
    spec = write.new.get("spec")
    if not isinstance(spec, dict):
        return
    if not spec.get("successPolicy"):
        spec["successPolicy"] = {"operator": "All"}
    if not spec.get("startupPolicy"):
        spec["startupPolicy"] = {"startupPolicyOrder": "AnyOrder"}
    network = spec["network"] = dict(spec.get("network") or {})
    for name in ("enableDNSHostnames", "publishNotReadyAddresses"):
        if network.get(name) is None:
            network[name] = True
    for replicated in _dicts(spec.get("replicatedJobs")):
        job = _child(replicated.get("template"), "spec")
        if job is not None:
            job["completionMode"] = job.get("completionMode") or "Indexed"
            pod = _child(job.get("template"), "spec")
            if pod is not None:
                pod["restartPolicy"] = pod.get("restartPolicy") or "OnFailure"
    for index, rule in enumerate(_dicts((spec.get("failurePolicy") or {}).get("rules"))):
        rule["name"] = rule.get("name") or f"failurePolicyRule{index}"
    for policy in _dicts(spec.get("volumeClaimPolicies")):
        retention = policy["retentionPolicy"] = dict(policy.get("retentionPolicy") or {})
        retention["whenDeleted"] = retention.get("whenDeleted") or "Delete"


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _child(parent: Any, name: str) -> dict[str, Any] | None:
    """Return a part of a template, made when it is not there; None when it cannot be."""
    if not isinstance(parent, dict):
        return None
    child = parent.setdefault(name, {})
    return child if isinstance(child, dict) else None


def check_jobset(write: Write) -> list[Cause]:
    """Check names and their lengths, dependencies and policies; and what may change later."""
    spec = spec_of(write.new)
    name = write.new["metadata"].get("name", "")
    jobs = spec.get("replicatedJobs") or []
    causes: list[Cause] = []
    if write.old is None:
        for index, job in enumerate(jobs):
            causes += _check_names(name, job, f"spec.replicatedJobs[{index}]")
            causes += _check_dependencies(jobs, index)
        causes += _check_policies(spec, [job.get("name") for job in jobs])
        subdomain = (spec.get("network") or {}).get("subdomain") or ""
        if len(subdomain) > _LIMIT:
            causes.append(invalid_value("spec.network.subdomain", subdomain, _SUBDOMAIN_LONG))
        elif subdomain and not re.fullmatch(
            r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", subdomain
        ):
            causes.append(invalid_value("spec.network.subdomain", subdomain, "must be a lowercase RFC 1123 subdomain"))
        return causes
    return _check_update(write)


def _check_names(jobset: str, job: dict[str, Any], path: str) -> Iterator[Cause]:
    name, replicas = job.get("name", ""), job.get("replicas", 1)
    job_name = f"{jobset}-{name}-{max(replicas - 1, 0)}"
    if len(job_name) > _LIMIT:
        yield invalid_value(f"{path}.name", name, _JOB_NAME_LONG)
    elif not _NAME.fullmatch(job_name):
        yield invalid_value(f"{path}.name", name, _NAME_MESSAGE)
    spec = (job.get("template") or {}).get("spec") or {}
    completions = spec.get("completions") or spec.get("parallelism") or 1
    if spec.get("completionMode") == "Indexed":
        pod_name = f"{job_name}-{max(completions - 1, 0)}-abcde"
        if len(pod_name) > _LIMIT and len(job_name) <= _LIMIT:
            yield invalid_value(f"{path}.name", name, _POD_NAME_LONG)
    parallelism = spec.get("parallelism") or 1
    if replicas * parallelism > 2**31 - 1:
        message = f"the product of replicas and parallelism must not exceed {2**31 - 1} for replicatedJob '{name}'"
        yield invalid_value(f"{path}.replicas", replicas, message)


def _check_dependencies(jobs: list[dict[str, Any]], index: int) -> Iterator[Cause]:
    earlier = {job.get("name") for job in jobs[:index]}
    for position, dependency in enumerate(jobs[index].get("dependsOn") or []):
        path = f"spec.replicatedJobs[{index}].dependsOn[{position}].name"
        if index == 0:
            yield invalid_value(path, dependency.get("name"), "dependsOn can't be set for the first replicatedJob")
        elif dependency.get("name") not in earlier:
            message = "replicatedJob can only depend on replicatedJobs that come before it in the list"
            yield invalid_value(path, dependency.get("name"), message)


def _check_policies(spec: dict[str, Any], names: list[Any]) -> Iterator[Cause]:
    lists = [("spec.successPolicy.targetReplicatedJobs", (spec.get("successPolicy") or {}).get("targetReplicatedJobs"))]
    rules = (spec.get("failurePolicy") or {}).get("rules") or []
    for index, rule in enumerate(rules):
        path = f"spec.failurePolicy.rules[{index}]"
        lists.append((f"{path}.targetReplicatedJobs", rule.get("targetReplicatedJobs")))
        if sum(other.get("name") == rule.get("name") for other in rules) > 1:
            yield invalid_value(f"{path}.name", rule.get("name"), "rule names must be unique")
    for path, targets in lists:
        for index, target in enumerate(targets or []):
            if target not in names:
                message = f"invalid replicatedJob name '{target}' does not appear in .spec.ReplicatedJobs"
                yield invalid_value(f"{path}[{index}]", target, message)
    coordinator = spec.get("coordinator") or {}
    if coordinator and coordinator.get("replicatedJob") not in names:
        message = f"coordinator replicatedJob {coordinator.get('replicatedJob')} does not exist"
        yield invalid_value("spec.coordinator.replicatedJob", coordinator.get("replicatedJob"), message)
    if spec.get("startupPolicy", {}).get("startupPolicyOrder") == "InOrder" and any(
        job.get("dependsOn") for job in spec.get("replicatedJobs") or []
    ):
        yield invalid_value("spec.startupPolicy", None, "startupPolicy InOrder and dependsOn cannot both be set")


def _check_update(write: Write) -> list[Cause]:
    old, new = spec_of(write.old), spec_of(write.new)
    causes = changed(old, new, "spec", *_FROZEN)
    before, after = old.get("replicatedJobs") or [], new.get("replicatedJobs") or []
    if before == after:
        return causes
    suspended = bool(old.get("suspend")) or bool(new.get("suspend"))
    if not suspended or [_fixed(job) for job in before] != [_fixed(job) for job in after]:
        causes.append(invalid_value("spec.replicatedJobs", None, IMMUTABLE))
    return causes


def _fixed(job: dict[str, Any]) -> dict[str, Any]:
    """Return a replicated job without what may change while the JobSet is suspended."""
    template = job.get("template") or {}
    spec = {**(template.get("spec") or {})}
    spec["template"] = without_placement(spec.get("template"))
    return {**job, "template": {**template, "spec": spec}}
