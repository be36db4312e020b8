"""Rules of the ML policies but torchtune: reserved variables, injection targets, replicated jobs that a policy needs."""

from collections.abc import Iterator

from jobs.spec.rules.base import Case
from runtimes.spec.access import as_list, by_name, containers, maps, numbered, replicated_jobs
from runtimes.spec.env import reserved_by, reserved_message
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import LAUNCHER, NODE

FLUX_INSTALLER = "flux-installer"


def reserved_env(case: Case) -> Iterator[Finding]:
    """A job sets none of the variables that its policy sets for every rank (webhook; for JAX ours)."""
    for index, entry in numbered(case.trainer.get("env")):
        name = entry.get("name", "")
        if policy := reserved_by(name, case.policies):
            yield Finding(
                f"spec.trainer.env[{index}].name", "reserved_env", reserved_message(name, policy), {"name": name}
            )


def injection_targets(case: Case) -> Iterator[Finding]:
    """The containers that torch variables are injected into exist in the runtime (webhook)."""
    injection = case.policy("torch").get("envInjection") or {}
    for target in maps(injection.get("targets")):
        job = by_name(replicated_jobs(case.runtime), target.get("jobName", ""))
        names = (
            [c.get("name") for kind in ("containers", "initContainers") for c in containers(job, kind)] if job else []
        )
        for wanted in as_list(target.get("containerNames")):
            if wanted not in names:
                message = f'envInjection target podSet "{target.get("jobName")}" container "{wanted}" not found in runtime template'
                yield Finding("spec.runtimeRef", "unknown_reference", message)


def mpi_jobs(case: Case) -> Iterator[Finding]:
    """Several MPI nodes need a replicated job `node`, and `launcher` if the launcher is a node (webhook; the second case ours)."""
    nodes = case.trainer.get("numNodes")
    if "mpi" not in case.policies or not isinstance(nodes, int) or nodes < 2:
        return
    names = {job.get("name") for job in replicated_jobs(case.runtime)}
    if case.policy("mpi").get("runLauncherAsNode") and not {LAUNCHER, NODE} <= names:
        message = (
            "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node"
        )
        yield Finding("spec.trainer.numNodes", "out_of_range", message, {"maximum": 1})
    elif NODE not in names:
        message = "must be 1 when the MPI runtime has no replicated job node: nothing could run the other nodes"
        yield Finding("spec.trainer.numNodes", "out_of_range", message, {"maximum": 1})


def flux_installer(case: Case) -> Iterator[Finding]:
    """The init container that installs Flux is not taken (webhook)."""
    job = by_name(replicated_jobs(case.runtime), NODE)
    if "flux" in case.policies and job and by_name(containers(job, "initContainers"), FLUX_INSTALLER):
        message = f"InitContainer '{FLUX_INSTALLER}' is reserved: rename it in the runtime"
        yield Finding("spec.runtimeRef", "conflict", message)
