"""The resources that rules judge: those of the job laid over those of the container that runs ranks."""

from typing import Any

from jobs.spec.accelerators import merged_resources
from jobs.spec.rules.base import Case
from runtimes.spec.access import ancestor_step, by_name, containers, replicated_jobs
from runtimes.spec.kinds import NODE, STEP_TRAINER


def find_trainer(runtime: dict[str, Any] | None) -> tuple[str, dict[str, Any]] | None:
    """Return the replicated job and container that the TrainJob's image, command and resources go to, or None.

    That is the container `node` of the job labelled trainer.
    """
    for job in replicated_jobs(runtime):
        container = by_name(containers(job), NODE)
        if ancestor_step(job) == STEP_TRAINER and container is not None:
            return str(job.get("name") or ""), container
    return None


def merged_with_runtime(case: Case) -> dict[str, Any]:
    """Return the resources a node of this job gets."""
    _job, container = find_trainer(case.runtime) or ("", {})
    return merged_resources(container.get("resources"), case.trainer.get("resourcesPerNode"))
