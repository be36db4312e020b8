"""Step 7: the JobSet restarts all its Jobs, and the pods of the new attempt are not all there yet."""

from jobs.state import causes, initializing, phases
from jobs.state.codes import say
from jobs.state.groups import Group
from jobs.state.model import Verdict
from jobs.state.reading import condition, moment, number, small, text
from jobs.state.view import View
from jobs.state.wording import created_of, restart_limit, what


def decide(view: View) -> Verdict | None:
    """Return Restarting while pods of the new attempt are missing, or None. Pods that are refused are another matter."""
    restarts = number(view.jobset, "status", "restarts")
    if not restarts:
        return None
    groups = _first(view)
    slots = view.slots_in(groups)
    here = sum(1 for slot in slots if slot.current and slot.pod)
    restarting = condition(view.jobset, "RestartingJobSet")
    since = moment(restarting, "lastTransitionTime")
    if here >= len(slots) or (since and causes.creation(view, since)):
        return None
    allowed = restart_limit(view)
    _, _, first = text(restarting, "message").partition("first failed job: ")
    because = f" (job {first.rstrip(')')} failed)" if first else ""
    limit = f" of {allowed}" if allowed is not None else ""
    return say(
        phases.RESTARTING,
        "JobSetRestart",
        restart=restarts,
        limit=limit,
        because=because,
        created=small(created_of(here, len(slots), what(groups))),
        since=since,
    )


def _first(view: View) -> tuple[Group, ...]:
    """Those whose pods come first in an attempt: initializers if they run again, else all that do not start late."""
    if initializing.pending(view) and not initializing.training_here(view):
        return view.initializers
    return view.members
