"""Step 7: the JobSet restarts all its Jobs, and the pods of the new attempt are not all there yet."""

from jobs.state import phases
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.reading import condition, moment, number, text
from jobs.state.view import Group, View
from jobs.state.wording import restart_limit, what


def decide(view: View) -> Verdict | None:
    """Return Restarting while pods of the new attempt are missing, or None."""
    restarts = number(view.jobset, "status", "restarts")
    if not restarts:
        return None
    groups = _first(view)
    slots = view.slots_in(groups)
    here = sum(1 for slot in slots if slot.current and slot.pod)
    if here >= len(slots):
        return None
    allowed = restart_limit(view)
    restarting = condition(view.jobset, "RestartingJobSet")
    _, _, first = text(restarting, "message").partition("first failed job: ")
    because = f" (job {first.rstrip(')')} failed)" if first else ""
    limit = f" of {allowed}" if allowed is not None else ""
    return say(
        phases.RESTARTING,
        "JobSetRestart",
        restart=restarts,
        limit=limit,
        because=because,
        created=here,
        needed=len(slots),
        what=what(groups),
        since=moment(restarting, "lastTransitionTime"),
    )


def _first(view: View) -> tuple[Group, ...]:
    """Those whose pods come first in an attempt: initializers if they run again, else all that do not start late."""
    again = [
        slot.group for slot in view.slots_in(view.initializers) if slot.pod and slot.current and not slot.pod.succeeded
    ]
    ranked_here = any(slot.pod and slot.current for slot in view.member_slots)
    if again and not ranked_here:
        return view.initializers
    return tuple(group for group in view.training if not group.late or group in view.members)
