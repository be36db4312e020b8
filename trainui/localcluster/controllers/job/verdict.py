"""Whether a Job has ended, and why. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.job import failure_policy
from trainui.localcluster.controllers.job.pods import backoff_limit_of, completions_of, is_failed
from trainui.localcluster.controllers.job.success_policy import met_rule
from trainui.localcluster.controllers.meta import find_condition, parse_time, pod_ended, status_of

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a Job: what its conditions say (first SuccessCriteriaMet or FailureTarget, then Complete or Failed)."""

    success: bool
    reason: str
    message: str

    @property
    def target(self) -> str:
        """The condition that announces the end while pods are still terminating."""
        return "SuccessCriteriaMet" if self.success else "FailureTarget"

    @property
    def final(self) -> str:
        """The condition that a finished Job has."""
        return "Complete" if self.success else "Failed"


REACHED = Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


def announced(job: Obj) -> Verdict | None:
    """Return the end that the Job's conditions have announced already, or None."""
    for kind, success in (("SuccessCriteriaMet", True), ("FailureTarget", False)):
        condition = find_condition(status_of(job).get("conditions"), kind)
        if condition and condition.get("status") == "True":
            return Verdict(success, condition.get("reason", ""), condition.get("message", ""))
    return None


def failed_for_all(job: Obj, pods: Iterable[Obj], failures: int, now: datetime) -> Verdict | None:
    """Return the failure of a whole Job: a FailJob rule, too many failures or restarts, the deadline; in this order."""
    pods = list(pods)
    policy = job["spec"].get("podFailurePolicy")
    if policy:
        for pod in pods:
            found = failure_policy.match(policy, pod) if is_failed(job, pod) else failure_policy.COUNT
            if found.action == "FailJob":
                return Verdict(False, "PodFailurePolicy", found.message)
    if failures > backoff_limit_of(job) or _restarted_too_often(job, pods):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = deadline_left(job, now)
    if left is not None and left <= 0:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def failed_by_index(job: Obj, succeeded: Collection[int], failed: Collection[int]) -> Verdict | None:
    """Return the failure of a Job with a limit per index: too many indexes failed, or nothing is left but failed ones."""
    most = job["spec"].get("maxFailedIndexes")
    if most is not None and len(failed) > int(most):
        text = "Job has exceeded the specified maximal number of failed indexes"
        return Verdict(False, "MaxFailedIndexesExceeded", text)
    if failed and len(failed) + len(succeeded) >= (completions_of(job) or 0):
        return Verdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def succeeded_early(job: Obj, succeeded: Collection[int]) -> Verdict | None:
    """Return the success of an Indexed Job by its successPolicy, or None."""
    message = met_rule(job["spec"].get("successPolicy"), succeeded, completions_of(job) or 0)
    return Verdict(True, "SuccessPolicy", message) if message else None


def deadline_left(job: Obj, now: datetime) -> float | None:
    """Return the seconds until activeDeadlineSeconds is over, or None when there is none or the Job is not running."""
    deadline = job["spec"].get("activeDeadlineSeconds")
    started = parse_time(status_of(job).get("startTime"))
    if deadline is None or started is None or job["spec"].get("suspend"):
        return None
    return float(deadline) - (now - started).total_seconds()


def _restarted_too_often(job: Obj, pods: Iterable[Obj]) -> bool:
    """Tell whether containers restarted in place (restartPolicy OnFailure) as often as the limit allows."""
    if job["spec"]["template"].get("spec", {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = 0
    for pod in pods:
        if pod_ended(pod):
            continue
        status = status_of(pod)
        for container in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
            restarts += int(container.get("restartCount", 0))
    limit = backoff_limit_of(job)
    return restarts > 0 if limit == 0 else restarts >= limit
