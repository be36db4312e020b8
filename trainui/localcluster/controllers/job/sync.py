"""One look at a Job: from its pods to what has to be done. Pure.

The shell carries a plan out in one transaction, so that a pod's outcome is added to the status in the same write that takes its finalizer
away: it is counted once, and the pod cannot vanish before.
"""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.actions import Create, Delete, Note, Plan, Update
from trainui.localcluster.controllers.job import failure_policy, per_index, verdict
from trainui.localcluster.controllers.job.backoff import (
    DEFAULT_BASE,
    BackoffRecord,
    finished_at,
    next_record,
    seconds_left,
)
from trainui.localcluster.controllers.job.index import first_pending, format_indexes, parse_indexes, valid_index
from trainui.localcluster.controllers.job.pod_template import build_pod
from trainui.localcluster.controllers.job.pods import (
    TRACKING,
    Sorted,
    completions_of,
    is_indexed,
    parallelism_of,
    replaces_only_failed,
    sort_pods,
    surplus,
)
from trainui.localcluster.controllers.job.verdict import REACHED, Verdict
from trainui.localcluster.controllers.meta import (
    find_condition,
    format_time,
    has_finalizer,
    is_deleting,
    is_true,
    name_of,
    namespace_of,
    parse_time,
    pod_ready,
    status_of,
    uid_of,
)

Obj = dict[str, Any]

MOST_CREATED_AT_ONCE = 500
CONTROLLER_NAME = "kubernetes.io/job-controller"


@dataclass(slots=True)
class _Look:
    """What one look has found, and the status and plan it is making."""

    job: Obj
    pods: list[Obj]
    now: datetime
    base: float
    record: BackoffRecord
    status: Obj = field(default_factory=dict)
    sorted: Sorted = field(default_factory=Sorted)
    succeeded: int = 0
    failed: int = 0
    succeeded_indexes: set[int] = field(default_factory=set)
    failed_indexes: set[int] = field(default_factory=set)
    waiting: dict[int, Obj] = field(default_factory=dict)
    gone: list[Obj] = field(default_factory=list)
    created: int = 0
    plan: Plan = field(default_factory=Plan)
    notes: list[Note] = field(default_factory=list)

    @property
    def completions(self) -> int:
        return completions_of(self.job) or 0

    @property
    def active(self) -> list[Obj]:
        gone = {uid_of(pod) for pod in self.gone}
        return [pod for pod in self.sorted.active if uid_of(pod) not in gone]

    @property
    def terminating(self) -> int:
        """Pods that have not ended yet though they are to go; those without a machine go at once."""
        return len(self.sorted.terminating) + sum(1 for pod in self.gone if (pod.get("spec") or {}).get("nodeName"))


def sync(
    job: Obj, pods: Iterable[Obj], record: BackoffRecord, now: datetime, base: float = DEFAULT_BASE
) -> tuple[Plan, BackoffRecord]:
    """Return what has to be done for a Job, in order, and the back-off record to pass the next time.

    `pods` are those the Job controls; `base` is the first back-off in seconds. Follows the Job controller of Kubernetes 1.37.
    """
    pods = list(pods)
    if (job["spec"].get("managedBy") or CONTROLLER_NAME) != CONTROLLER_NAME:
        return Plan(), record
    if is_deleting(job):
        return Plan([release(pod) for pod in pods if has_finalizer(pod, TRACKING)]), record
    if is_finished(job):
        return _after_the_end(job, pods, now), record
    look = _Look(job, pods, now, base, record, status=copy.deepcopy(status_of(job)))
    _count(look)
    end = _find_end(look)
    if end is not None:
        _stop(look, end)
    else:
        end = _manage(look)
    _write_down(look, end)
    return look.plan, look.record


def is_finished(job: Obj) -> bool:
    """Tell whether a Job has ended: Complete or Failed."""
    conditions = status_of(job).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def _after_the_end(job: Obj, pods: list[Obj], now: datetime) -> Plan:
    """Let go of pods, and delete the Job itself when ttlSecondsAfterFinished is over."""
    plan = Plan([release(pod) for pod in pods if has_finalizer(pod, TRACKING)])
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    for kind in ("Complete", "Failed"):
        condition = find_condition(status_of(job).get("conditions"), kind)
        finished = parse_time((condition or {}).get("lastTransitionTime"))
        if ttl is not None and condition and condition.get("status") == "True" and finished:
            left = float(ttl) - (now - finished).total_seconds()
            if left > 0:
                plan.look_again(left)
            else:
                plan.actions.append(Delete("Job", namespace_of(job), name_of(job), uid_of(job), "Foreground"))
    return plan


def release(pod: Obj) -> Update:
    """Return the write that takes the tracking finalizer off a pod."""
    metadata = {**pod["metadata"]}
    left = [name for name in metadata.pop("finalizers", ()) if name != TRACKING]
    if left:
        metadata["finalizers"] = left
    return Update("Pod", {**pod, "metadata": metadata})


def _count(look: _Look) -> None:
    """Add the outcomes that are new to what the status says."""
    job, status = look.job, look.status
    if not status.get("startTime") and not job["spec"].get("suspend"):
        status["startTime"] = format_time(look.now)
    found = look.sorted = sort_pods(job, look.pods)
    policy = job["spec"].get("podFailurePolicy")
    counted = [pod for pod in found.new_failed if failure_policy.match(policy, pod).action != "Ignore"]
    look.failed = int(status.get("failed", 0)) + len(counted)
    look.record = next_record(look.record, found.new_succeeded, found.new_failed, look.now)
    if not is_indexed(job):
        look.succeeded = int(status.get("succeeded", 0)) + len(found.new_succeeded)
        return
    fresh = {valid_index(pod, look.completions) for pod in found.new_succeeded}
    look.succeeded_indexes = parse_indexes(status.get("completedIndexes"), look.completions)
    look.succeeded_indexes |= {index for index in fresh if index is not None}
    look.succeeded = len(look.succeeded_indexes)
    if per_index.has_limit_per_index(job):
        look.failed_indexes = parse_indexes(status.get("failedIndexes"), look.completions)
        look.failed_indexes |= per_index.newly_failed_indexes(job, found.new_failed)
        look.failed_indexes -= look.succeeded_indexes
        replaced = {valid_index(pod, look.completions) for pod in found.active}
        settled = look.succeeded_indexes | look.failed_indexes | {index for index in replaced if index is not None}
        look.waiting = per_index.awaiting_replacement(job, found.new_failed, settled)


def _find_end(look: _Look) -> Verdict | None:
    job = {**look.job, "status": look.status}
    end = verdict.announced(job) or verdict.failed_for_all(job, look.pods, look.failed, look.now)
    if end is None and is_indexed(job):
        if per_index.has_limit_per_index(job):
            end = verdict.failed_by_index(job, look.succeeded_indexes, look.failed_indexes)
        end = end or verdict.succeeded_early(job, look.succeeded_indexes)
    left = verdict.deadline_left(job, look.now)
    if end is None and left is not None:
        look.plan.look_again(left)
    return end


def _stop(look: _Look, end: Verdict) -> None:
    """Delete what runs; of a failed Job every pod that has not succeeded counts as failed."""
    active = look.sorted.active
    if not end.success:
        uncounted = [pod for pod in [*active, *look.sorted.terminating] if has_finalizer(pod, TRACKING)]
        known = {uid_of(pod) for pod in look.sorted.new_failed}
        look.failed += sum(1 for pod in uncounted if uid_of(pod) not in known)
    look.waiting = {}
    _remove(look, active)


def _remove(look: _Look, pods: Iterable[Obj]) -> None:
    """Delete pods without counting their outcome: the finalizer goes first."""
    for pod in pods:
        if has_finalizer(pod, TRACKING):
            look.plan.actions.append(release(pod))
        look.plan.actions.append(Delete("Pod", namespace_of(pod), name_of(pod), uid_of(pod)))
        look.notes.append(Note(look.job, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}"))
        look.gone.append(pod)


def _manage(look: _Look) -> Verdict | None:
    """Bring the number of running pods to what it should be; return the success when nothing is left to do."""
    job = look.job
    if job["spec"].get("suspend"):
        _remove(look, look.sorted.active)
        if _suspended_condition(look, "True", "JobSuspended", "Job suspended"):
            look.notes.append(Note(job, "Normal", "Suspended", "Job suspended"))
    else:
        _adjust(look)
        if _suspended_condition(look, "False", "JobResumed", "Job resumed"):
            look.notes.append(Note(job, "Normal", "Resumed", "Job resumed"))
            look.status["startTime"] = format_time(look.now)
    completions = completions_of(job)
    done = look.succeeded > 0 if completions is None else look.succeeded >= completions
    return REACHED if done and not look.active and not look.created else None


def _adjust(look: _Look) -> None:
    job, active = look.job, look.sorted.active
    if completions_of(job) is None:
        wanted = len(active) if look.succeeded else parallelism_of(job)
    else:
        wanted = max(min(look.completions - look.succeeded, parallelism_of(job)), 0)
    too_many = surplus(job, active, len(active) - wanted)
    if too_many:
        _remove(look, too_many)
        return
    missing = wanted - len(active)
    if replaces_only_failed(job):
        missing -= len(look.sorted.terminating)
    if missing <= 0:
        return
    if not per_index.has_limit_per_index(job):
        wait = seconds_left(look.record.failures, look.record.last, look.now, look.base)
        if wait > 0:
            look.plan.look_again(wait)
            return
    if missing > MOST_CREATED_AT_ONCE:
        missing = MOST_CREATED_AT_ONCE
        look.plan.look_again(0)
    _create(look, missing)


def _create(look: _Look, missing: int) -> None:
    job = look.job
    if not is_indexed(job):
        look.plan.actions.extend(Create("Pod", build_pod(job)) for _ in range(missing))
        look.created = missing
        return
    held = [*look.sorted.active, *(look.sorted.terminating if replaces_only_failed(job) else ())]
    taken = {valid_index(pod, look.completions) for pod in held}
    used = look.succeeded_indexes | look.failed_indexes | {index for index in taken if index is not None}
    for index in first_pending(used, missing, look.completions):
        before = look.waiting.get(index)
        if before is not None:
            failures = per_index.total_failures(before) + 1
            wait = seconds_left(failures, finished_at(before), look.now, look.base)
            if wait > 0:
                look.plan.look_again(wait)
                continue
        counts = per_index.failures_after(job, before) if per_index.has_limit_per_index(job) else None
        look.plan.actions.append(Create("Pod", build_pod(job, index, counts)))
        look.created += 1


def _suspended_condition(look: _Look, status: str, reason: str, message: str) -> bool:
    """Set the condition Suspended, which never begins as False; tell whether it changed."""
    if status == "False" and find_condition(look.status.get("conditions"), "Suspended") is None:
        return False
    return _set_condition(look, "Suspended", status, reason, message)


def _set_condition(look: _Look, kind: str, status: str, reason: str, message: str) -> bool:
    conditions = list(look.status.get("conditions") or ())
    old = find_condition(conditions, kind)
    if old and (old.get("status"), old.get("reason"), old.get("message")) == (status, reason, message):
        return False
    stamp = format_time(look.now)
    new = {"type": kind, "status": status, "lastProbeTime": stamp, "lastTransitionTime": stamp}
    new |= {"reason": reason, "message": message}
    look.status["conditions"] = [new if c is old else c for c in conditions] if old else [*conditions, new]
    return True


def _write_down(look: _Look, end: Verdict | None) -> None:
    """Put counts and conditions into the status, and let go of the pods whose outcome is in it."""
    status = look.status
    waiting = {uid_of(pod) for pod in look.waiting.values()}
    settled = look.sorted.new_succeeded + [pod for pod in look.sorted.new_failed if uid_of(pod) not in waiting]
    if end is not None:
        settled = [pod for pod in look.pods if has_finalizer(pod, TRACKING)]
    gone = {uid_of(pod) for pod in look.gone}
    releases = [release(pod) for pod in settled if uid_of(pod) not in gone]
    ready = sum(1 for pod in look.active if pod_ready(pod))
    status |= {"active": len(look.active) + look.created, "ready": ready, "terminating": look.terminating}
    status |= {"succeeded": look.succeeded, "failed": look.failed - _not_yet_counted(look, waiting)}
    status["uncountedTerminatedPods"] = {}
    if is_indexed(look.job):
        status["completedIndexes"] = format_indexes(look.succeeded_indexes)
        if per_index.has_limit_per_index(look.job):
            status["failedIndexes"] = format_indexes(look.failed_indexes)
    if end is not None:
        _conclude(look, end)
    if status != status_of(look.job):
        look.plan.actions.append(Update("Job", {**look.job, "status": status}, "status"))
    look.plan.actions.extend(releases)
    look.plan.actions.extend(look.notes)


def _not_yet_counted(look: _Look, waiting: set[str]) -> int:
    policy = look.job["spec"].get("podFailurePolicy")
    pods = [pod for pod in look.sorted.new_failed if uid_of(pod) in waiting]
    return sum(1 for pod in pods if failure_policy.match(policy, pod).action != "Ignore")


def _conclude(look: _Look, end: Verdict) -> None:
    """Announce the end; say it is final once nothing of the Job runs any more."""
    _set_condition(look, end.target, "True", end.reason, end.message)
    if look.terminating:
        return
    _set_condition(look, end.final, "True", end.reason, end.message)
    if end.success:
        look.status["completionTime"] = format_time(look.now)
        look.notes.append(Note(look.job, "Normal", "Completed", "Job completed"))
    else:
        look.notes.append(Note(look.job, "Warning", end.reason, end.message))
