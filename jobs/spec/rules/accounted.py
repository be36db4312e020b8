"""The resources that rules judge: those of the job laid over those of the container that runs ranks."""

from typing import Any

from jobs.spec.accelerators import merged_resources
from jobs.spec.rules.base import Case
from runtimes.spec.access import ancestor_step, by_name, containers, replicated_jobs
from runtimes.spec.kinds import NODE, STEP_TRAINER


def trainer_container(runtime: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the container that the TrainJob's image, command and resources go to: `node` of the job labelled trainer."""
    jobs = replicated_jobs(runtime)
    labelled = [job for job in jobs if ancestor_step(job) == STEP_TRAINER]
    found = (by_name(containers(job), NODE) for job in labelled)
    return next((container for container in found if container is not None), None)


def merged_with_runtime(case: Case) -> dict[str, Any]:
    """Return the resources a node of this job gets."""
    container = trainer_container(case.runtime)
    return merged_resources((container or {}).get("resources"), case.trainer.get("resourcesPerNode"))
