"""In which order replicated jobs start: startupPolicy. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trainui.localcluster.controllers.jobset import names
from trainui.localcluster.controllers.jobset.depends_on import dependencies_met, started

Obj = dict[str, Any]


@dataclass(slots=True)
class Turn:
    """The replicated jobs that may run now, and whether the order holds others back."""

    allowed: list[Obj] = field(default_factory=list)
    in_progress: bool = False


def in_order(jobset: Obj) -> bool:
    """Tell whether replicated jobs start one after the other."""
    return (jobset["spec"].get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"


def whose_turn(jobset: Obj, statuses: Iterable[Obj]) -> Turn:
    """Return which replicated jobs may be created (or resumed) now.

    Those whose dependencies are met; with InOrder only up to the first one that has not started yet.
    """
    statuses = list(statuses)
    counts = {status["name"]: status for status in statuses}
    turn = Turn()
    for rjob in names.replicated_jobs(jobset):
        if not dependencies_met(jobset, rjob, statuses):
            continue
        turn.allowed.append(rjob)
        if in_order(jobset) and not started(names.replicas_of(rjob), counts[rjob["name"]]):
            turn.in_progress = True
            break
    return turn
