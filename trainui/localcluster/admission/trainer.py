"""The Kubeflow Trainer's kinds: the rules that its CRDs carry, and the ones for updates of its webhook."""

import re
from collections.abc import Iterator
from typing import Any

from trainui.localcluster.admission.rules import Write, changed_if_both, invalid_value, spec_of
from trainui.localcluster.errors import ApiError, Cause
from trainui.localcluster.objects import timestamp

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_FROZEN = ("runtimeRef", "initializer", "trainer", "managedBy", "activeDeadlineSeconds")
_FROZEN_POD = (
    "serviceAccountName",
    "volumes",
    "initContainers",
    "containers",
    "imagePullSecrets",
    "securityContext",
    "terminationGracePeriodSeconds",
)
_POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")


def default_trainjob(write: Write) -> None:
    """Stamp new and changed runtime patches with the time."""
    patches = spec_of(write.new).get("runtimePatches")
    if not isinstance(patches, list):
        return
    before = {patch["manager"]: patch for patch in spec_of(write.old).get("runtimePatches") or []}
    for patch in patches:
        if not isinstance(patch, dict) or not isinstance(patch.get("manager"), str):
            continue
        old = before.get(patch["manager"])
        if old is None:
            patch["time"] = patch.get("time") or timestamp(write.now)
        elif _without_time(old) == _without_time(patch):
            patch["time"] = old.get("time")
        else:
            patch["time"] = timestamp(write.now)


def _without_time(patch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in patch.items() if key != "time"}


def check_trainjob(write: Write) -> list[Cause]:
    """Check the name of a new TrainJob, and what may change of an existing one.

    Raises ApiError 403 where patches of the runtime change at the wrong time.
    """
    name = write.new["metadata"].get("name", "")
    if write.old is None:
        if not name:
            return []
        causes = []
        if not _NAME.fullmatch(name):
            causes.append(invalid_value("", None, "metadata.name must match RFC 1035 DNS label format"))
        if len(name) > 63:
            causes.append(invalid_value("", None, "metadata.name must be no more than 63 characters"))
        return causes
    old, new = spec_of(write.old), spec_of(write.new)
    causes = changed_if_both(old, new, "spec", *_FROZEN)
    causes += _frozen_patches(old.get("runtimePatches") or [], new.get("runtimePatches") or [])
    if not causes:
        _check_patch_time(write, old, new)
    return causes


def _frozen_patches(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[Cause]:
    for index, after, before in _pairs(old, new, "manager"):
        path = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template.spec"
        for inner, job, job_before in _pairs(_jobs(before), _jobs(after), "name"):
            pod_path = f"{path}.replicatedJobs[{inner}].template.spec.template.spec"
            yield from changed_if_both(_pod(job_before), _pod(job), pod_path, *_FROZEN_POD)


def _pairs(
    old: list[dict[str, Any]], new: list[dict[str, Any]], key: str
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    before = {item.get(key): item for item in old}
    for index, item in enumerate(new):
        if item.get(key) in before:
            yield index, item, before[item.get(key)]


def _jobs(patch: dict[str, Any]) -> list[dict[str, Any]]:
    spec: Any = patch
    for name in ("trainingRuntimeSpec", "template", "spec"):
        spec = spec.get(name) or {}
    return spec.get("replicatedJobs") or []


def _pod(job: dict[str, Any]) -> dict[str, Any]:
    found: Any = job
    for name in ("template", "spec", "template", "spec"):
        found = found.get(name) or {}
    return found if isinstance(found, dict) else {}


def _check_patch_time(write: Write, old: dict[str, Any], new: dict[str, Any]) -> None:
    if (old.get("runtimePatches") or []) == (new.get("runtimePatches") or []):
        return
    metadata = write.new["metadata"]
    message = ""
    if not old.get("suspend") and not new.get("suspend"):
        message = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
    else:
        jobset = write.reader.get("JobSet", metadata.get("namespace"), metadata["name"]) or {}
        for status in (jobset.get("status") or {}).get("replicatedJobsStatus") or []:
            if status.get("active"):
                name = status.get("name")
                message = f"RuntimePatches cannot be modified when the JobSet's ReplicatedJob {name} is still active"
    if message:
        cause = Cause("spec.runtimePatches", f"Forbidden: {message}", "FieldValueForbidden")
        text = f'TrainJob "{metadata["name"]}" is forbidden: spec.runtimePatches: Forbidden: {message}'
        raise ApiError(403, "Forbidden", text, {"name": metadata["name"], "kind": "TrainJob"}, [cause])


def check_runtime(write: Write) -> list[Cause]:
    """Check that a runtime has at most one policy, and does not inject twice into the main container."""
    policy = spec_of(write.new).get("mlPolicy") or {}
    causes = []
    if sum(name in policy for name in _POLICIES) > 1:
        causes.append(invalid_value("spec.mlPolicy", None, "Only one of the policy can be configured"))
    targets = ((policy.get("torch") or {}).get("envInjection") or {}).get("targets") or []
    message = "containerNames must not include the main node container because PET_* envs are always injected into it"
    for index, target in enumerate(targets):
        if "node" in (target.get("containerNames") or []):
            path = f"spec.mlPolicy.torch.envInjection.targets[{index}].containerNames"
            causes.append(invalid_value(path, None, message))
    return causes
