"""One look at a JobSet: from what is there to what has to be done. Pure."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.actions import Create, Delete, Note, Plan, Update
from trainui.localcluster.controllers.jobset import failure, names, startup, ttl
from trainui.localcluster.controllers.jobset.children import (
    Children,
    index_of,
    job_restarts,
    rjob_name_of,
    sort_children,
)
from trainui.localcluster.controllers.jobset.create import build_claims, build_job, build_service
from trainui.localcluster.controllers.jobset.depends_on import dependencies_met, started
from trainui.localcluster.controllers.jobset.status import is_finished, replicated_jobs_status, set_jobset_condition
from trainui.localcluster.controllers.jobset.success import has_succeeded
from trainui.localcluster.controllers.jobset.suspend import resuming, suspended_job
from trainui.localcluster.controllers.meta import is_deleting, is_true, name_of, namespace_of, status_of, uid_of

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists around a JobSet: the Jobs it controls, and the names of Services and claims in its namespace."""

    jobs: list[Obj]
    services: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Draft:
    """The new status while it is made; events follow the status they tell of."""

    jobset: Obj
    now: datetime
    status: Obj
    plan: Plan = field(default_factory=Plan)
    notes: list[Note] = field(default_factory=list)

    def condition(self, kind: str, on: bool, reason: str, message: str, event: str = "Normal") -> None:
        conditions, changed = set_jobset_condition(self.status.get("conditions"), kind, on, reason, message, self.now)
        if changed:
            self.status["conditions"] = conditions
            self.notes.append(Note(self.jobset, event, reason, message))


def sync(jobset: Obj, observed: Observed, now: datetime) -> Plan:
    """Return what has to be done for a JobSet, in order: objects to create, change and delete, then its status and events.

    Follows JobSet 0.12: restarts and the end of a JobSet are decided from its Jobs, one decision per look.
    """
    if is_deleting(jobset) or (jobset["spec"].get("managedBy") or names.CONTROLLER_NAME) != names.CONTROLLER_NAME:
        return Plan()
    draft = _Draft(jobset, now, copy.deepcopy(status_of(jobset)))
    children = sort_children(jobset, observed.jobs)
    draft.status.setdefault("restarts", 0)
    counts = replicated_jobs_status(jobset, children)
    draft.status["replicatedJobsStatus"] = counts
    if is_finished(jobset):
        _clean_up(draft, children)
    elif not _decide_end(draft, children):
        _create_missing(draft, observed, children, counts)
        if jobset["spec"].get("suspend"):
            _suspend(draft, children)
        else:
            _resume(draft, children, counts)
    return _finish(draft)


def _finish(draft: _Draft) -> Plan:
    plan = draft.plan
    if draft.status != status_of(draft.jobset):
        plan.actions.append(Update("JobSet", {**draft.jobset, "status": draft.status}, "status"))
    plan.actions.extend(draft.notes)
    return plan


def _clean_up(draft: _Draft, children: Children) -> None:
    """After the end: delete what still runs, and the JobSet itself when its time is over."""
    _delete_jobs(draft, [*children.active, *children.previous])
    left = ttl.seconds_left(draft.jobset, draft.now)
    if left is None:
        return
    if left > 0:
        draft.plan.look_again(left)
        return
    jobset = draft.jobset
    delete = Delete("JobSet", namespace_of(jobset), name_of(jobset), uid_of(jobset), "Foreground")
    draft.notes.clear()
    draft.plan.actions.append(delete)
    draft.status = copy.deepcopy(status_of(jobset))


def _delete_jobs(draft: _Draft, jobs: Iterable[Obj]) -> None:
    for job in jobs:
        if not is_deleting(job):
            draft.plan.actions.append(Delete("Job", namespace_of(job), name_of(job), uid_of(job), "Foreground"))


def _decide_end(draft: _Draft, children: Children) -> bool:
    """Delete left-over Jobs, then tell whether a failure or a success has settled this look."""
    _delete_jobs(draft, children.previous)
    verdict = failure.judge(draft.jobset, children.failed)
    if verdict is not None:
        _apply(draft, verdict)
        return True
    if has_succeeded(draft.jobset, children):
        draft.condition("RestartingJobSet", False, "JobSetCompleted", "jobset completed")
        draft.condition("Completed", True, "AllJobsCompleted", "jobset completed successfully")
        draft.status["terminalState"] = "Completed"
        return True
    return False


def _apply(draft: _Draft, verdict: failure.Verdict) -> None:
    if verdict.action == failure.FAIL:
        draft.condition("RestartingJobSet", False, "JobSetFailed", "jobset failed")
        draft.condition("Failed", True, verdict.reason, verdict.message, "Warning")
        draft.status["terminalState"] = "Failed"
        return
    if verdict.action in (failure.RESTART_JOB, failure.RESTART_JOB_FREELY):
        _restart_job(draft, verdict)
        draft.notes.append(Note(draft.jobset, "Warning", verdict.reason, verdict.message))
        return
    draft.status["restarts"] += 1
    if verdict.counts:
        draft.status["restartsCountTowardsMax"] = draft.status.get("restartsCountTowardsMax", 0) + 1
    for entry in draft.status["replicatedJobsStatus"]:
        entry.pop("jobRestarts", None)
        entry.pop("jobRestartsCountTowardsMax", None)
    draft.notes.append(Note(draft.jobset, "Warning", verdict.reason, verdict.message))
    draft.condition("RestartingJobSet", True, verdict.cause, verdict.message, "Warning")


def _restart_job(draft: _Draft, verdict: failure.Verdict) -> None:
    index = index_of(verdict.job)
    for entry in draft.status["replicatedJobsStatus"]:
        if entry["name"] != rjob_name_of(verdict.job):
            continue
        for key in ("jobRestarts", *(("jobRestartsCountTowardsMax",) if verdict.counts else ())):
            numbers = list(entry.get(key) or ())
            numbers += [0] * (index + 1 - len(numbers))
            numbers[index] += 1
            entry[key] = numbers


def _create_missing(draft: _Draft, observed: Observed, children: Children, counts: list[Obj]) -> None:
    jobset = draft.jobset
    actions = draft.plan.actions
    actions.extend(
        Create("PersistentVolumeClaim", c) for c in build_claims(jobset) if name_of(c) not in observed.claims
    )
    if names.dns_hostnames(jobset) and names.subdomain(jobset) not in observed.services:
        actions.append(Create("Service", build_service(jobset)))
    if children.previous and (jobset["spec"].get("failurePolicy") or {}).get("restartStrategy") == "BlockingRecreate":
        return
    taken = children.names()
    suspended = bool(jobset["spec"].get("suspend"))
    if suspended:
        # Nothing runs, so order means nothing; dependent Jobs still wait for what they depend on.
        allowed = [rjob for rjob in names.replicated_jobs(jobset) if dependencies_met(jobset, rjob, counts)]
    else:
        turn = startup.whose_turn(jobset, counts)
        allowed = turn.allowed
        _tell_startup(draft, turn.in_progress)
    for rjob in allowed:
        for index in range(names.replicas_of(rjob)):
            if names.job_name(jobset, rjob["name"], index) not in taken:
                restarts = job_restarts(jobset, rjob["name"], index)
                actions.append(Create("Job", build_job(jobset, rjob, index, restarts)))


def _tell_startup(draft: _Draft, in_progress: bool) -> None:
    if not startup.in_order(draft.jobset):
        return
    if in_progress:
        text = "in order startup policy is in progress"
        draft.condition("StartupPolicyInProgress", True, "InOrderStartupPolicyInProgress", text)
    else:
        text = "in order startup policy has completed"
        draft.condition("StartupPolicyCompleted", True, "InOrderStartupPolicyCompleted", text)


def _suspend(draft: _Draft, children: Children) -> None:
    changed = [suspended_job(job) for job in children.active if not is_deleting(job)]
    draft.plan.actions.extend(Update("Job", job) for job in changed if job is not None)
    draft.condition("RestartingJobSet", False, "JobSetSuspended", "jobset is suspended")
    draft.condition("Suspended", True, "SuspendedJobs", "jobset is suspended")


def _resume(draft: _Draft, children: Children, counts: list[Obj]) -> None:
    """Resume what may run; the JobSet counts as resumed once its start-up order has been gone through."""
    jobset = draft.jobset
    turn = startup.whose_turn(jobset, counts)
    allowed = {rjob["name"]: rjob for rjob in turn.allowed}
    for job in children.active:
        rjob = allowed.get(rjob_name_of(job))
        if rjob is None or is_deleting(job):
            continue
        index = index_of(job)
        draft.plan.actions.extend(resuming(jobset, rjob, index, job, job_restarts(jobset, rjob["name"], index)))
    if not turn.in_progress:
        draft.condition("Suspended", False, "ResumeJobs", "jobset is resumed")
    if (
        is_true(draft.status.get("conditions"), "RestartingJobSet")
        and not children.previous
        and _all_started(jobset, counts)
    ):
        draft.condition("RestartingJobSet", False, "JobsReady", "all jobs are ready")


def _all_started(jobset: Obj, counts: list[Obj]) -> bool:
    replicas = {rjob["name"]: names.replicas_of(rjob) for rjob in names.replicated_jobs(jobset)}
    return all(started(replicas[entry["name"]], entry) for entry in counts)
