"""The Jobs of a JobSet by what has become of them. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.meta import find_condition, labels_of, status_of

Obj = dict[str, Any]


@dataclass(slots=True)
class Children:
    """Jobs of the current attempt (active, succeeded, failed) and those of earlier attempts, which have to go."""

    active: list[Obj] = field(default_factory=list)
    succeeded: list[Obj] = field(default_factory=list)
    failed: list[Obj] = field(default_factory=list)
    previous: list[Obj] = field(default_factory=list)

    def names(self) -> set[str]:
        """Return the names that are taken."""
        groups = (self.active, self.succeeded, self.failed, self.previous)
        return {job["metadata"]["name"] for jobs in groups for job in jobs}


def sort_children(jobset: Obj, jobs: Iterable[Obj]) -> Children:
    """Return the Jobs of a JobSet sorted into what is active, succeeded, failed, and left from an earlier attempt.

    A Job whose restart-attempt label cannot be read counts as left over.
    """
    restarts = int(status_of(jobset).get("restarts", 0))
    found = Children()
    for job in jobs:
        if _number(job, names.RESTART_ATTEMPT) < restarts or _individually_restarted(jobset, job):
            found.previous.append(job)
        elif failure(job) is not None:
            found.failed.append(job)
        elif is_complete(job):
            found.succeeded.append(job)
        else:
            found.active.append(job)
    return found


def failure(job: Obj) -> Obj | None:
    """Return the condition Failed=True of a Job, or None."""
    condition = find_condition(status_of(job).get("conditions"), "Failed")
    return condition if condition and condition.get("status") == "True" else None


def is_complete(job: Obj) -> bool:
    """Tell whether a Job has the condition Complete=True."""
    condition = find_condition(status_of(job).get("conditions"), "Complete")
    return condition is not None and condition.get("status") == "True"


def job_restarts(jobset: Obj, rjob_name: str, index: int, counting: bool = False) -> int:
    """Return how often one Job was restarted alone; with `counting` only what counts towards the limit."""
    key = "jobRestartsCountTowardsMax" if counting else "jobRestarts"
    for status in status_of(jobset).get("replicatedJobsStatus") or ():
        if status.get("name") == rjob_name:
            numbers = status.get(key) or ()
            return int(numbers[index]) if index < len(numbers) else 0
    return 0


def rjob_name_of(job: Obj) -> str:
    """Return the replicated job that a Job belongs to, by its label."""
    return labels_of(job).get(names.REPLICATED_JOB, "")


def index_of(job: Obj) -> int:
    """Return the index of a Job in its replicated job, by its label."""
    return max(_number(job, names.JOB_INDEX), 0)


def _number(job: Obj, label: str) -> int:
    text = labels_of(job).get(label, "")
    return int(text) if text.isdigit() else -1


def _individually_restarted(jobset: Obj, job: Obj) -> bool:
    wanted = job_restarts(jobset, rjob_name_of(job), index_of(job))
    return wanted > 0 and max(_number(job, names.JOB_RESTART_ATTEMPT), 0) < wanted
