"""Suspending and resuming the Jobs of a JobSet. Pure."""

import copy
from typing import Any

from trainui.localcluster.controllers.actions import Update
from trainui.localcluster.controllers.jobset.create import build_job

Obj = dict[str, Any]

_OF_THE_JOB_CONTROLLER = ("controller-uid", "job-name")
_PREFIX_OF_THE_JOB_CONTROLLER = "batch.kubernetes.io/"


def suspended_job(job: Obj) -> Obj | None:
    """Return a running Job as it has to be written to suspend it, or None when it is suspended already."""
    if job["spec"].get("suspend"):
        return None
    changed = copy.deepcopy(job)
    changed["spec"]["suspend"] = True
    return changed


def resuming(jobset: Obj, rjob: Obj, index: int, job: Obj, job_restarts: int = 0) -> list[Update]:
    """Return the writes that resume a suspended Job, in order; none when it is running already.

    The pod template is made anew: whatever the API let change while the JobSet was suspended counts. Upstream takes over labels,
    annotations, nodeSelector, tolerations and schedulingGates only, and only adds to them. A Job that has run before forgets its start
    first, or its template could not be changed.
    """
    if not job["spec"].get("suspend"):
        return []
    writes = []
    status = job.get("status") or {}
    if status.get("startTime"):
        forgotten = {key: value for key, value in status.items() if key != "startTime"}
        writes.append(Update("Job", {**job, "status": forgotten}, "status"))
    changed = copy.deepcopy(job)
    changed["spec"]["suspend"] = False
    wanted = build_job(jobset, rjob, index, job_restarts)["spec"]["template"]
    labels = ((changed["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    wanted["metadata"]["labels"] |= {key: value for key, value in labels.items() if _belongs_to_job_controller(key)}
    changed["spec"]["template"] = wanted
    return [*writes, Update("Job", changed)]


def _belongs_to_job_controller(label: str) -> bool:
    return label in _OF_THE_JOB_CONTROLLER or label.startswith(_PREFIX_OF_THE_JOB_CONTROLLER)
