"""Running a job again that did not end well: a new job with the same manifest and parameters, linked to the one it repeats."""

import re
from typing import Any

from jobs.models import TrainJob
from jobs.reconcile.runtimes import find_runtime
from jobs.services.submit import Submission, submit
from jobs.spec.export import as_submitted
from jobs.spec.names import name_budget, num_nodes
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import require
from trainui.problems import Problem

_TRIES = 5
_NUMBERED = re.compile(r"(?P<stem>.+?)-retry-(?P<number>\d{1,6})")


def retry(user: User, job: TrainJob, key: str | None = None) -> tuple[TrainJob, bool]:
    """Submit a job again as `<name>-retry-N` and return the new one, and whether it was there already (same key).

    The runtime is the one the catalog has now. Raises Http404 or PermissionDenied; Problem 409 for a job that is not Failed, Cancelled or
    Lost, and what `submit` raises.
    """
    require(user, "view", job)
    require(user, "submit", job.project)
    if key and (earlier := TrainJob.objects.filter(owner=user, submission_key=key, origin=job).first()):
        return earlier, True
    if not phases.allows(job.phase, phases.RETRY):
        raise Problem(
            409,
            "not_in_this_phase",
            f"{job} is {job.phase}: only a failed, cancelled or lost job is run again; clone it instead.",
        )
    manifest = as_submitted(job.detail.manifest)
    for attempt in range(_TRIES):
        manifest["metadata"]["name"] = retry_name(job, manifest)
        submission = Submission(manifest, key, job.detail.blueprint, job.detail.parameters, job, phases.RETRY)
        try:
            return submit(user, job.project, submission)
        except Problem as problem:
            if problem.code != "name_taken" or attempt == _TRIES - 1:
                raise
    raise AssertionError  # the last try returned or raised


def retry_key(job: TrainJob) -> str:
    """Return the key that a page's button sends: pressed twice it is one retry, pressed again after that one was made it is the next."""
    return f"retry:{job.pk}:{job.successors.filter(origin_relation=phases.RETRY).count()}"


def retry_name(job: TrainJob, manifest: dict[str, Any]) -> str:
    """Return the next free `<name>-retry-N`, its stem cut where pod names would leave it no room."""
    room = name_budget(find_runtime(manifest, job.project), num_nodes(manifest)).max_length
    match = _NUMBERED.fullmatch(job.name)
    stem = match["stem"] if match else job.name
    beginning = _fitted(stem, room, "-retry-")
    taken = TrainJob.objects.filter(namespace=job.namespace, name__startswith=beginning).values_list("name", flat=True)
    numbers = [int(m["number"]) for name in taken if (m := _NUMBERED.fullmatch(name)) and name.startswith(beginning)]
    number = max([*numbers, int(match["number"]) if match else 0]) + 1
    return _fitted(stem, room, f"-retry-{number}")


def _fitted(stem: str, room: int, ending: str) -> str:
    """A stem and an ending in so many characters; room for a number of four digits is kept, so that a series of retries has one stem."""
    space = max(room - len("-retry-") - 4, 1)
    return stem[:space].rstrip("-") + ending
