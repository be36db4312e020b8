"""The one validator of TrainJobs: pages, REST, dry run, the admission webhook and reconcile ask it."""

from collections.abc import Collection
from typing import Any

from jobs.spec.defaults import untimed
from jobs.spec.resources import negative_amounts
from jobs.spec.rules import identity, initializers, patches, policies, scheduling, submit, text, torchtune
from jobs.spec.rules.base import Case, Rule
from jobs.spec.schema import STATUS, TRAIN_JOB
from runtimes.spec.access import dig, maps, numbered
from runtimes.spec.defaults import default_runtime
from runtimes.spec.findings import Finding, Findings, under
from runtimes.spec.schema import check, prune, with_defaults
from runtimes.spec.validation import deprecated, unknown, validate_runtime

RULES: tuple[Rule, ...] = (
    identity.name,
    identity.generate_name,
    identity.managed_by,
    identity.runtime_kind,
    initializers.storage_uri,
    initializers.initializer_job,
    policies.reserved_env,
    policies.injection_targets,
    policies.mpi_jobs,
    policies.flux_installer,
    torchtune.model,
    torchtune.nodes,
    torchtune.qlora,
    torchtune.managed_args,
    scheduling.volcano_queue,
    scheduling.priority_class,
    patches.manager,
    patches.known_jobs,
    patches.known_containers,
    patches.own_env,
)
SUBMIT_CHECKS: tuple[Rule, ...] = (
    submit.name_fits,
    submit.some_nodes,
    submit.resize_annotation,
    submit.image,
    submit.storage_uris,
    submit.secret_names,
    submit.environment,
    submit.secret_keys,
    submit.arguments,
    submit.resources,
    submit.tolerations,
    submit.node_selectors,
    submit.volumes,
    submit.gated,
    submit.labels,
    text.without_nul,
)
_IMMUTABLE = ("runtimeRef", "initializer", "trainer", "managedBy", "activeDeadlineSeconds")
# Fields of a pod patch that stay as they are once they are set (CEL rules of the CRD).
_IMMUTABLE_POD = (
    "serviceAccountName",
    "volumes",
    "initContainers",
    "containers",
    "imagePullSecrets",
    "securityContext",
    "terminationGracePeriodSeconds",
)


def validate_trainjob(
    trainjob: dict[str, Any], runtime: dict[str, Any] | None, priority_classes: Collection[str] | None = None
) -> Findings:
    """Return everything that is wrong with a TrainJob that is to be created.

    runtime: the runtime it refers to (or the job's snapshot of it), None if there is none: then that is an error (`runtime_not_found`,
    which may pass) and what depends on the runtime is not judged. priority_classes: those of the cluster, None if not known.
    errors hold for every channel; submit_checks stop form, REST and dry run too. Wrong types hide all else. Both are sorted by rule, and
    nothing of the arguments is changed.
    """
    return _validate(trainjob, runtime, priority_classes, identity.runtime_exists)


def _validate(
    trainjob: dict[str, Any], runtime: dict[str, Any] | None, priority_classes: Collection[str] | None, *more: Rule
) -> Findings:
    findings = Findings(submit_checks=unknown(TRAIN_JOB, trainjob), warnings=deprecated(runtime))
    defaulted = with_defaults(TRAIN_JOB, prune(TRAIN_JOB, trainjob))
    findings.errors = check(TRAIN_JOB, defaulted)
    if any(f.code == "wrong_type" for f in findings.errors):
        return findings
    case = Case(defaulted, default_runtime(runtime) if runtime else None, priority_classes)
    findings.errors += negative_amounts(case.trainer.get("resourcesPerNode"), "spec.trainer.resourcesPerNode")
    findings.errors += _runtime_unusable(runtime)
    findings.errors += [finding for rule in (*RULES, *more) for finding in rule(case)]
    known = {(f.path, f.code) for f in findings.errors}
    checks = [finding for rule in SUBMIT_CHECKS for finding in rule(case)]
    findings.submit_checks += [f for f in checks if (f.path, f.code) not in known]
    return findings


def _runtime_unusable(runtime: dict[str, Any] | None) -> list[Finding]:
    """One error if the runtime itself cannot work: it may be older than our rules, or written past them."""
    problems = validate_runtime(runtime).errors if runtime else []
    if not problems:
        return []
    name = dig(runtime, "metadata", "name") or ""
    reasons = "; ".join(f"{f.path}: {f.message}" for f in problems[:3])
    return [Finding("spec.runtimeRef", "runtime_invalid", f"the runtime {name} cannot be used: {reasons}")]


def validate_update(
    old: dict[str, Any],
    new: dict[str, Any],
    runtime: dict[str, Any] | None,
    jobset: dict[str, Any] | None = None,
    priority_classes: Collection[str] | None = None,
) -> Findings:
    """Return what is wrong with a change of a stored TrainJob.

    old, new: as stored (defaulted by `default_trainjob`). runtime: the job's snapshot, else its runtime; None is fine: a job keeps its own
    copy, so a deleted runtime stops no update (upstream refuses even labels then). jobset: the live JobSet, whose active jobs forbid a
    change of patches. What was already wrong in `old` is not held against the change, or nobody could mend or delete such a job.
    """
    findings = _validate(new, runtime, priority_classes)
    if any(f.code == "wrong_type" for f in findings.errors):
        return findings
    before = _validate(old, runtime, priority_classes)
    findings.errors = _added(findings.errors, before.errors)
    findings.submit_checks = _added(findings.submit_checks, before.submit_checks)
    findings.errors = [*_immutable(old, new), *_patch_changes(old, new, jobset), *findings.errors]
    return findings


def _added(now: list[Finding], before: list[Finding]) -> list[Finding]:
    known = {(f.path, f.code, f.message) for f in before}
    return [f for f in now if (f.path, f.code, f.message) not in known]


def _immutable(old: dict[str, Any], new: dict[str, Any]) -> list[Finding]:
    """Fields of the spec that never change. The CRD lets absent ones be added and set ones removed, without any effect on the pods."""
    findings = []
    for name in _IMMUTABLE:
        if (dig(old, "spec", name) or None) != (dig(new, "spec", name) or None):
            message = "field is immutable"
            if name == "trainer":
                message += "; a suspended job is resized by the annotation trainui.dev/num-nodes"
            findings.append(Finding(f"spec.{name}", "immutable", message))
    return findings


def _patch_changes(old: dict[str, Any], new: dict[str, Any], jobset: dict[str, Any] | None) -> list[Finding]:
    before, after = (maps(dig(job, "spec", "runtimePatches")) for job in (old, new))
    if [untimed(p) for p in before] == [untimed(p) for p in after]:
        return []
    findings = []
    if not (dig(old, "spec", "suspend") or dig(new, "spec", "suspend")):
        message = "RuntimePatches can only be modified when the TrainJob is suspended before or after the update"
        findings.append(Finding("spec.runtimePatches", "forbidden", message))
    for status in maps(dig(jobset, "status", "replicatedJobsStatus")):
        if (status.get("active") or 0) > 0:
            message = f"RuntimePatches cannot be modified when the JobSet's ReplicatedJob {status.get('name')} is still active"
            findings.append(Finding("spec.runtimePatches", "forbidden", message))
    return findings + _changed_pods(before, after)


def _changed_pods(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Finding]:
    """Changes of pod fields that stay once they are set, patch by manager and job by name."""
    old_pods = {key: pod for key, _path, pod in _pods(before)}
    findings = []
    for key, path, pod in _pods(after):
        old_pod = old_pods.get(key, {})
        for field in _IMMUTABLE_POD:
            if field in old_pod and field in pod and old_pod[field] != pod[field]:
                findings.append(Finding(f"{path}.{field}", "immutable", "field is immutable"))
    return findings


def _pods(patch_list: list[dict[str, Any]]) -> list[tuple[tuple[Any, Any], str, dict[str, Any]]]:
    found = []
    for index, patch in enumerate(patch_list):
        for position, job in numbered(dig(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")):
            path = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template.spec.replicatedJobs[{position}].template.spec.template.spec"
            pod = dig(job, "template", "spec", "template", "spec")
            if isinstance(pod, dict):
                found.append(((patch.get("manager"), job.get("name")), path, pod))
    return found


def validate_status(status: Any) -> Findings:
    """Return what the schema says against a status of a TrainJob (the `status` subresource)."""
    return Findings(errors=under("status", check(STATUS, prune(STATUS, status))))
