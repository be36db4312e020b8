"""Rules of runtimes beyond their schema: one function per rule, each yields findings.

CEL rules come from the CRD (v2.3.0), webhook rules from its validating webhook, "ours" are what upstream takes and then cannot run.
"""

from collections.abc import Callable, Iterator
from typing import Any

from runtimes.spec.access import ancestor_step, containers, dig, maps, numbered, policies, replicated_jobs
from runtimes.spec.dns import SUBDOMAIN_MESSAGE, is_label_1123, is_subdomain
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import LABEL_WEBHOOK_VALIDATION, NODE, STEP_CONTAINERS
from runtimes.spec.schema import field_path

Rule = Callable[[dict[str, Any]], Iterator[Finding]]

_JOBS = "spec.template.spec.replicatedJobs"


def name(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A runtime has a name that is a DNS subdomain (API server)."""
    given = dig(runtime, "metadata", "name")
    if not given:
        if not dig(runtime, "metadata", "generateName"):
            yield Finding("metadata.name", "required", "name or generateName is required")
    elif not is_subdomain(given):
        yield Finding("metadata.name", "invalid_name", SUBDOMAIN_MESSAGE)


def one_policy(runtime: dict[str, Any]) -> Iterator[Finding]:
    """At most one ML policy is set (CEL)."""
    found = policies(runtime)
    if len(found) > 1:
        yield Finding("spec.mlPolicy", "conflict", f"Only one of the policy can be configured, not {', '.join(found)}")


def flux_processes(runtime: dict[str, Any]) -> Iterator[Finding]:
    """Flux runs at least one process per node (CEL)."""
    yield from _at_least(
        "spec.mlPolicy.flux.numProcPerNode", dig(runtime, "spec", "mlPolicy", "flux", "numProcPerNode"), 1
    )


def injection_without_node(runtime: dict[str, Any]) -> Iterator[Finding]:
    """The main container `node` is no injection target: it gets the variables anyway (CEL)."""
    for index, target in numbered(dig(runtime, "spec", "mlPolicy", "torch", "envInjection", "targets")):
        if NODE in (target.get("containerNames") or []):
            yield Finding(
                f"spec.mlPolicy.torch.envInjection.targets[{index}].containerNames",
                "invalid",
                "containerNames must not include the main node container because PET_* envs are always injected into it",
            )


def step_replicas(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A replicated job with a known ancestor step has one replica (webhook)."""
    for index, job in numbered(replicated_jobs(runtime)):
        if ancestor_step(job) in STEP_CONTAINERS and job.get("replicas", 1) != 1:
            yield Finding(f"{_JOBS}[{index}].replicas", "out_of_range", "always must be 1")


def step_container(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A replicated job with a known ancestor step has the container of that step (webhook)."""
    for index, job in numbered(replicated_jobs(runtime)):
        step = ancestor_step(job)
        wanted = STEP_CONTAINERS.get(step)
        if wanted and wanted not in [c.get("name") for c in containers(job)]:
            yield Finding(
                f"{_JOBS}[{index}].template.spec.template.spec.containers",
                "required",
                f"must contain the required container for the ancestor: {step}; name a container {wanted}",
            )


def spec_given(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A runtime has a spec (ours: upstream stores one without)."""
    if runtime.get("spec") is None:
        yield Finding("spec", "required", "a runtime needs a spec")


def node_count(runtime: dict[str, Any]) -> Iterator[Finding]:
    """The default number of nodes is at least one (ours)."""
    yield from _at_least("spec.mlPolicy.numNodes", dig(runtime, "spec", "mlPolicy", "numNodes"), 1)


def mpi_processes(runtime: dict[str, Any]) -> Iterator[Finding]:
    """MPI runs at least one process per node (ours; in upstream's main branch a CEL rule)."""
    yield from _at_least(
        "spec.mlPolicy.mpi.numProcPerNode", dig(runtime, "spec", "mlPolicy", "mpi", "numProcPerNode"), 1
    )


def ssh_path(runtime: dict[str, Any]) -> Iterator[Finding]:
    """The folder of the SSH keys is an absolute path (ours: a relative mount path never mounts)."""
    path = dig(runtime, "spec", "mlPolicy", "mpi", "sshAuthMountPath")
    if path and not path.startswith("/"):
        yield Finding("spec.mlPolicy.mpi.sshAuthMountPath", "invalid", f'"{path}" must be an absolute path')


def one_gang_scheduler(runtime: dict[str, Any]) -> Iterator[Finding]:
    """At most one gang scheduler is asked for (ours)."""
    policy = dig(runtime, "spec", "podGroupPolicy")
    if policy and policy.get("coscheduling") is not None and policy.get("volcano") is not None:
        yield Finding(
            "spec.podGroupPolicy", "conflict", "only one of coscheduling and volcano can place the pods of a job"
        )


def schedule_timeout(runtime: dict[str, Any]) -> Iterator[Finding]:
    """The time a gang may wait is not negative (ours)."""
    path = ("spec", "podGroupPolicy", "coscheduling", "scheduleTimeoutSeconds")
    yield from _at_least(field_path(path), dig(runtime, *path), 0)


def dependencies(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A replicated job depends on earlier ones only, so there is no cycle (JobSet's webhook; ours to say it with the runtime)."""
    earlier: set[str] = set()
    every = {job.get("name") for job in replicated_jobs(runtime)}
    for index, job in numbered(replicated_jobs(runtime)):
        for position, edge in enumerate(maps(job.get("dependsOn"))):
            wanted = edge.get("name", "")
            if wanted in earlier:
                continue
            path = f"{_JOBS}[{index}].dependsOn[{position}].name"
            if wanted == job.get("name"):
                yield Finding(path, "cycle", f"{wanted} cannot wait for itself")
            elif wanted in every:
                yield Finding(
                    path, "cycle", f"{wanted} must stand before {job.get('name')}: a job can only wait for earlier ones"
                )
            else:
                yield Finding(path, "unknown_reference", f"there is no replicated job {wanted}")
        earlier.add(job.get("name", ""))


def startup_order(runtime: dict[str, Any]) -> Iterator[Finding]:
    """InOrder startup and dependsOn exclude each other (CEL, JobSet's)."""
    order = dig(runtime, "spec", "template", "spec", "startupPolicy", "startupPolicyOrder")
    if order == "InOrder" and any(job.get("dependsOn") for job in replicated_jobs(runtime)):
        yield Finding(
            "spec.template.spec.startupPolicy.startupPolicyOrder",
            "conflict",
            "InOrder cannot be used together with dependsOn",
        )


def claim_namespaces(runtime: dict[str, Any]) -> Iterator[Finding]:
    """Volume claims live where the job lives (CEL, JobSet's)."""
    for index, policy in numbered(dig(runtime, "spec", "template", "spec", "volumeClaimPolicies")):
        for place, template in numbered(policy.get("templates")):
            if dig(template, "metadata", "namespace"):
                path = f"spec.template.spec.volumeClaimPolicies[{index}].templates[{place}].metadata.namespace"
                yield Finding(path, "forbidden", "namespace cannot be set for VolumeClaimPolicies templates")


def no_jobs(runtime: dict[str, Any]) -> Iterator[Finding]:
    """A runtime has a replicated job to run (form level: nothing could ever run)."""
    if runtime.get("spec") and not replicated_jobs(runtime):
        yield Finding(_JOBS, "required", "a runtime needs at least one replicated job")


def job_names(runtime: dict[str, Any]) -> Iterator[Finding]:
    """Names of replicated jobs can be part of pod names (ours: JobSet refuses every job with others)."""
    for index, job in numbered(replicated_jobs(runtime)):
        if not is_label_1123(job.get("name") or ""):
            yield Finding(
                f"{_JOBS}[{index}].name", "invalid_name", "must be a lower case name of letters, digits and '-'"
            )


def policy_targets(runtime: dict[str, Any]) -> Iterator[Finding]:
    """Success and failure policies name replicated jobs that exist (ours: JobSet refuses every job with others)."""
    every = {job.get("name") for job in replicated_jobs(runtime)}
    spec = dig(runtime, "spec", "template", "spec")
    lists = [("successPolicy.targetReplicatedJobs", dig(spec, "successPolicy", "targetReplicatedJobs"))]
    lists += [
        (f"failurePolicy.rules[{i}].targetReplicatedJobs", rule.get("targetReplicatedJobs"))
        for i, rule in numbered(dig(spec, "failurePolicy", "rules"))
    ]
    for path, names in lists:
        for index, wanted in enumerate(names or []):
            if wanted not in every:
                yield Finding(
                    f"spec.template.spec.{path}[{index}]", "unknown_reference", f"there is no replicated job {wanted}"
                )


def _at_least(path: str, value: Any, bound: int) -> Iterator[Finding]:
    if isinstance(value, int) and value < bound:
        yield Finding(path, "out_of_range", f"{value} is too small: must be at least {bound}", {"minimum": bound})


CEL: tuple[Rule, ...] = (
    name,
    one_policy,
    flux_processes,
    injection_without_node,
    startup_order,
    claim_namespaces,
)
WEBHOOK: tuple[Rule, ...] = (step_replicas, step_container)
OURS: tuple[Rule, ...] = (
    spec_given,
    node_count,
    mpi_processes,
    ssh_path,
    one_gang_scheduler,
    schedule_timeout,
    job_names,
    dependencies,
    policy_targets,
)
SUBMIT: tuple[Rule, ...] = (no_jobs,)


def webhook_enabled(runtime: dict[str, Any]) -> bool:
    """Whether the runtime wants the webhook's rules; stock runtimes switch them off by a label."""
    label = dig(runtime, "metadata", "labels", LABEL_WEBHOOK_VALIDATION)
    return bool(label != "disabled")
