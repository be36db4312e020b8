"""What a JobSet does when one of its Jobs has failed. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from trainui.localcluster.controllers.jobset.children import failure, index_of, job_restarts, rjob_name_of
from trainui.localcluster.controllers.meta import status_of

Obj = dict[str, Any]

FAIL = "FailJobSet"
RESTART = "RestartJobSet"
RESTART_FREELY = "RestartJobSetAndIgnoreMaxRestarts"
RESTART_JOB = "RestartJob"
RESTART_JOB_FREELY = "RestartJobAndIgnoreMaxRestarts"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from a failed Job: an action of the failure policy, the Job that decided, and the texts that go with it.

    `action` FailJobSet ends the JobSet with `reason` and `message`; for the others `reason` is the event's. `cause` is the reason of the
    condition RestartingJobSet, and `counts` tells whether the restart counts towards maxRestarts.
    """

    action: str
    job: Obj
    reason: str
    message: str
    cause: str = ""
    counts: bool = False


def judge(jobset: Obj, failed: Iterable[Obj]) -> Verdict | None:
    """Return what the failure policy says about the failed Jobs, or None when none has failed.

    Without a policy the first failure ends the JobSet. With one, the first rule that matches some failed Job decides; the default is
    RestartJobSet. Restarts that count end the JobSet once they reach maxRestarts.
    """
    jobs = [job for job in failed if failure(job) is not None]
    if not jobs:
        return None
    policy = jobset["spec"].get("failurePolicy")
    if policy is None:
        first = first_failed(jobs)
        message = _with_job("jobset failed due to one or more job failures", first)
        return Verdict(FAIL, first, "FailedJobs", message)
    action, cause, job = _matching(policy, jobs)
    text = _with_job(f"applying {action} failure policy action", job)
    if action == FAIL:
        return Verdict(FAIL, job, "FailJobSetFailurePolicyAction", text)
    counts = action in (RESTART, RESTART_JOB)
    if counts and _used(jobset, job, action) >= int(policy.get("maxRestarts", 0)):
        message = _with_job("jobset failed due to reaching max number of restarts", job)
        return Verdict(FAIL, job, "ReachedMaxRestarts", message)
    return Verdict(action, job, f"{action}FailurePolicyAction", text, cause, counts)


def first_failed(jobs: Iterable[Obj]) -> Obj:
    """Return the Job that failed first; of those that failed in the same second, the first by name."""
    return min(jobs, key=lambda job: ((failure(job) or {}).get("lastTransitionTime", ""), job["metadata"]["name"]))


def _matching(policy: Obj, jobs: list[Obj]) -> tuple[str, str, Obj]:
    for number, rule in enumerate(policy.get("rules") or ()):
        matching = [job for job in jobs if _applies(rule, job)]
        if matching:
            name = rule.get("name") or f"failurePolicyRule{number}"
            return rule.get("action", RESTART), f"FailurePolicy_{name}", first_failed(matching)
    return RESTART, "DefaultFailurePolicy", first_failed(jobs)


def _applies(rule: Obj, job: Obj) -> bool:
    reasons = rule.get("onJobFailureReasons") or ()
    targets = rule.get("targetReplicatedJobs") or ()
    parent = rjob_name_of(job)
    if not parent or (reasons and (failure(job) or {}).get("reason") not in reasons):
        return False
    return not targets or parent in targets


def _used(jobset: Obj, job: Obj, action: str) -> int:
    used = int(status_of(jobset).get("restartsCountTowardsMax", 0))
    if action == RESTART_JOB:
        used += job_restarts(jobset, rjob_name_of(job), index_of(job), counting=True)
    return used


def _with_job(text: str, job: Obj) -> str:
    return f"{text} (first failed job: {job['metadata']['name']})"
