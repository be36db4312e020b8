"""Which replicated jobs may be created yet: dependsOn. Pure."""

from collections.abc import Iterable
from typing import Any

from trainui.localcluster.controllers.jobset import names

Obj = dict[str, Any]


def dependencies_met(jobset: Obj, rjob: Obj, statuses: Iterable[Obj]) -> bool:
    """Tell whether everything a replicated job depends on has reached the status that it waits for.

    Ready means that all Jobs are ready or have ended, Complete that all have succeeded. A name that does not exist is never reached.
    """
    counts = {status["name"]: status for status in statuses}
    replicas = {other["name"]: names.replicas_of(other) for other in names.replicated_jobs(jobset)}
    return all(_reached(edge, counts, replicas) for edge in rjob.get("dependsOn") or ())


def _reached(edge: Obj, counts: dict[str, Obj], replicas: dict[str, int]) -> bool:
    status = counts.get(edge.get("name", ""))
    if status is None:
        return False
    wanted = replicas[edge["name"]]
    if edge.get("status") == "Complete":
        return wanted == int(status["succeeded"])
    return started(wanted, status)


def started(replicas: int, status: Obj) -> bool:
    """Tell whether all Jobs of a replicated job have started: they are ready, or have ended."""
    return replicas == int(status["ready"]) + int(status["succeeded"]) + int(status["failed"])
