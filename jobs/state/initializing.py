"""Step 8: the initializers are not done and no training pod is there: they run, start, are tried again, or wait for a machine."""

from jobs.state import causes, phases, problems, unplaced
from jobs.state.codes import say
from jobs.state.groups import Group
from jobs.state.model import Verdict
from jobs.state.pods import Pod
from jobs.state.reading import number, objects, text
from jobs.state.times import newest
from jobs.state.view import Slot, View
from jobs.state.wording import after, capital, count, ranks, verb, who


def decide(view: View) -> Verdict | None:
    """Return how far the initializers are, or None when there are none, they are done, or training has begun."""
    if not view.initializers or training_here(view):
        return None
    to_do = [slot for slot in view.slots_in(view.initializers) if not _done(view, slot)]
    here = [slot for slot in to_do if slot.pod and slot.current]
    if not here:
        return None
    return _waiting(view, to_do) or _problem(view, here) or _retrying(view, here) or _going(view, here)


def pending(view: View) -> tuple[Group, ...]:
    """Return the initializers that are not done yet."""
    slots = [slot for slot in view.slots_in(view.initializers) if not _done(view, slot)]
    return tuple({slot.group.name: slot.group for slot in slots}.values())


def training_here(view: View) -> bool:
    """Return whether any training pod of this attempt is there."""
    return any(slot.pod and slot.current for slot in view.slots_in(view.training))


def _done(view: View, slot: Slot) -> bool:
    """A pod that finished well, or a Job that did and whose pod is gone."""
    if slot.pod is not None and slot.current:
        return slot.pod.succeeded
    for owner, key in ((view.jobset, "replicatedJobsStatus"), (view.trainjob, "jobsStatus")):
        for item in objects(owner, "status", key):
            if text(item, "name") == slot.group.name and number(item, "succeeded") > 0:
                return True
    return False


def _waiting(view: View, slots: list[Slot]) -> Verdict | None:
    homeless = [slot for slot in slots if slot.alive and not slot.alive.placed]
    if not homeless or any(slot.alive and slot.alive.placed for slot in slots):
        return None
    return unplaced.verdict(homeless, len(slots), "initializers", causes.placement(view, homeless))


def _problem(view: View, slots: list[Slot]) -> Verdict | None:
    problem = problems.find(view, slots)
    if problem is None:
        return None
    code = "InitializerCrashLoop" if problem.code == "CrashLoopBackOff" else problem.code
    return say(phases.INITIALIZING, code, problem.gaps)


def _retrying(view: View, slots: list[Slot]) -> Verdict | None:
    """One whose container was started again, or whose pod failed and is made anew."""
    for slot in slots:
        if slot.pod is None:
            continue
        again = next((container for container in slot.pod.containers if container.restarts > 0), None)
        if again:
            how, since = problems.exit_of(again), again.started
            return say(phases.INITIALIZING, "InitializerRetrying", who=who(slot), detail=how, since=since)
        before = [p for p in view.pods if p.replicated_job == slot.group.name and p.failed and view.is_current(p)]
        if before:
            how, since = _how(before[-1]), before[-1].finished
            return say(phases.INITIALIZING, "InitializerRetrying", who=who(slot), detail=how, since=since)
    return None


def _how(pod: Pod) -> str:
    return next((problems.exit_of(container) for container, _ in pod.ended), after(pod.reason))


def _going(view: View, slots: list[Slot]) -> Verdict:
    running = [slot for slot in slots if slot.alive and slot.alive.running]
    shown = running or slots
    nodes = sum(group.count for group in view.ranked)
    starts = [slot.alive.started if running else slot.alive.created for slot in shown if slot.alive]
    return say(
        phases.INITIALIZING,
        "InitializerRunning" if running else "InitializerStarting",
        who=capital(ranks(shown)),
        are=verb(len({slot.group.name for slot in shown}), "is", "are"),
        needed=count(nodes, "node"),
        follow=verb(nodes, "follows", "follow"),
        since=newest(*starts),
    )
