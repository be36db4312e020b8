"""Status of a JobSet: the counts per replicated job and the conditions. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.jobset.children import Children, rjob_name_of
from trainui.localcluster.controllers.meta import format_time, is_true, spec_of, status_of

Obj = dict[str, Any]

_KEPT = ("jobRestarts", "jobRestartsCountTowardsMax")
_EXCLUSIVE = ({"StartupPolicyInProgress", "StartupPolicyCompleted"},)


def replicated_jobs_status(jobset: Obj, children: Children) -> list[Obj]:
    """Return status.replicatedJobsStatus: how many Jobs of each replicated job are ready, active, suspended, succeeded, failed.

    A Job is ready when its ready and succeeded pods reach min(parallelism, completions), active while it has pods.
    """
    old = {entry.get("name"): entry for entry in status_of(jobset).get("replicatedJobsStatus") or ()}
    found: dict[str, Obj] = {}
    for rjob in names.replicated_jobs(jobset):
        counts = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
        kept = {key: old[rjob["name"]][key] for key in _KEPT if rjob["name"] in old and key in old[rjob["name"]]}
        found[rjob["name"]] = {"name": rjob["name"], **counts, **kept}
    for job in children.active:
        entry = found.get(rjob_name_of(job))
        if entry is None:
            continue
        status = status_of(job)
        entry["ready"] += status.get("succeeded", 0) + status.get("ready", 0) >= _expected_pods(job)
        entry["active"] += status.get("active", 0) > 0
        entry["suspended"] += bool(spec_of(job).get("suspend"))
    for key, jobs in (("succeeded", children.succeeded), ("failed", children.failed)):
        for job in jobs:
            if rjob_name_of(job) in found:
                found[rjob_name_of(job)][key] += 1
    return list(found.values())


def _expected_pods(job: Obj) -> int:
    spec = spec_of(job)
    parallelism = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def is_finished(jobset: Obj) -> bool:
    """Tell whether a JobSet has ended: Completed or Failed."""
    conditions = status_of(jobset).get("conditions")
    return is_true(conditions, "Completed") or is_true(conditions, "Failed")


def set_jobset_condition(
    conditions: Iterable[Obj] | None, kind: str, on: bool, reason: str, message: str, now: datetime
) -> tuple[list[Obj], bool]:
    """Return the conditions with one set, and whether anything changed.

    As the JobSet controller does: nothing changes while the status stays the same (only RestartingJobSet takes a new reason then), a
    condition never begins as False, and one that excludes another (startup in progress, startup completed) turns it to False.
    """
    status = "True" if on else "False"
    new = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": format_time(now)}
    result: list[Obj] = []
    changed, found = False, False
    for old in conditions or ():
        if old.get("type") == kind:
            found = True
            moved = old.get("status") != status
            reworded = kind == "RestartingJobSet" and old.get("reason") != reason
            kept = {} if moved else {"lastTransitionTime": old.get("lastTransitionTime") or new["lastTransitionTime"]}
            changed = changed or moved or reworded
            result.append({**new, **kept} if moved or reworded else old)
        elif on and old.get("status") == "True" and {kind, old.get("type")} in _EXCLUSIVE:
            changed = True
            result.append({**old, "status": "False"})
        else:
            result.append(old)
    if not found and on:
        changed = True
        result.append(new)
    return result, changed
