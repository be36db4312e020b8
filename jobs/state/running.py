"""Step 12: the minimum has machines: it runs, starts, or something keeps it from running."""

from datetime import datetime

from jobs.state import causes, phases, problems
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.times import newest
from jobs.state.view import Slot, View
from jobs.state.wording import after, capital, count, listed, ranks, share, verb, what


def decide(view: View) -> Verdict:
    """Return the state of a job whose minimum has machines. Always answers."""
    slots = view.slots_in(view.training)
    return (
        _problem(view, slots) or _launcher(view) or _running(view, slots) or _optional(view) or _starting(view, slots)
    )


def _problem(view: View, slots: list[Slot]) -> Verdict | None:
    problem = problems.find(view, slots)
    if problem is None:
        return None
    ran = problem.code == "CrashLoopBackOff" and view.started_at is not None
    return say(phases.DEGRADED if ran else phases.STARTING, problem.code, problem.gaps)


def _launcher(view: View) -> Verdict | None:
    """A launcher that is not created yet (it waits for the nodes), or is created and has no machine."""
    members = {group.name for group in view.members}
    late = [slot for slot in view.slots_in(view.training) if slot.group.late and slot.group.name not in members]
    missing = [slot for slot in late if not (slot.alive and slot.alive.placed)]
    if not missing:
        return None
    name = ranks(missing)
    homeless = [slot for slot in missing if slot.alive]
    ready, total = _ready(view.member_slots), len(view.member_slots)
    so_far = f"{share(ready, total, what(view.members))} {verb(1 if total == 1 else ready, 'is', 'are')} ready"
    if homeless:
        why = causes.placement(view, homeless)
        detail = f"{capital(name)} has no machine yet{after(why.cause if why else '')}"
    elif ready < total:
        detail = f"{so_far if total > 1 or ready else 'The node is not ready yet'}; {name} follows when all are, and starts the program"
    else:
        detail = f"{so_far}; {name} is created next, and starts the program"
    return say(phases.STARTING, "LauncherPending", detail=detail, since=_last_start(view.member_slots))


def _ready(slots: list[Slot]) -> int:
    return sum(1 for slot in slots if slot.alive and (slot.alive.ready or slot.alive.succeeded))


def _running(view: View, slots: list[Slot]) -> Verdict | None:
    if not slots or _ready(slots) < len(slots):
        return None
    done = [slot for slot in slots if slot.alive and slot.alive.succeeded]
    groups = view.training
    if len(done) == len(slots):
        since = newest(*(slot.alive.finished for slot in done if slot.alive))
        summary = "The node has finished" if len(slots) == 1 else f"All {len(slots)} {what(groups)} have finished"
        return say(phases.RUNNING, "Finishing", summary=summary, since=since)
    return say(
        phases.RUNNING, "AllReady", summary=_summary(view, len(slots) - len(done), done), since=_last_start(slots)
    )


def _summary(view: View, running: int, done: list[Slot]) -> str:
    ranked = view.slots_in(view.ranked)
    others = [slot for slot in view.slots_in(view.training) if slot.group not in view.ranked]
    if done and any(slot.group.late for slot in done):
        return f"The launcher has finished; {count(running, 'pod')} still {'runs' if running == 1 else 'run'}."
    if done:
        return (
            f"{running} of {running + len(done)} nodes run, {len(done)} {'has' if len(done) == 1 else 'have'} finished."
        )
    nodes = "The node runs" if len(ranked) == 1 else f"All {len(ranked)} nodes run"
    with_others = f", and {listed(sorted({slot.group.name for slot in others}))}" if others else ""
    again = sum(slot.alive.restarts for slot in ranked if slot.alive)
    tries = f" ({count(again, 'restart')} so far)" if again else ""
    return f"{nodes}{with_others}{tries}."


def _last_start(slots: list[Slot]) -> datetime | None:
    return newest(*(slot.alive.started for slot in slots if slot.alive))


def _optional(view: View) -> Verdict | None:
    """An elastic job: the minimum is ready, and what is missing is optional."""
    ready = _ready(view.member_slots)
    extra = [slot for slot in view.member_slots if not (slot.alive and (slot.alive.ready or slot.alive.succeeded))]
    optional = [slot for slot in extra if view.started_at or not (slot.alive and slot.alive.placed)]
    if ready < view.needed or len(optional) < len(extra) or not extra:
        return None
    why = causes.placement(view, extra)
    return say(
        phases.RUNNING,
        "OptionalPodsMissing",
        running=ready,
        expected=len(view.member_slots),
        run=verb(ready, "runs", "run"),
        needed=view.needed,
        are=verb(view.needed, "is", "are"),
        missing=len(extra),
        wait=verb(len(extra), "waits", "wait"),
        detail=after(why.cause if why else ""),
        since=_last_start(view.member_slots),
    )


def _starting(view: View, slots: list[Slot]) -> Verdict:
    total, kind = len(slots), what(view.training)
    if not total:
        return say(phases.CREATING, "CreatingPods", created="It is not known yet which pods the job has")
    alive = [slot for slot in slots if slot.alive]
    idle = [slot for slot in alive if slot.alive and not slot.alive.running and not slot.alive.succeeded]
    running = len(alive) - len(idle)
    so_far = f"{share(running, total, kind)} {verb(running, 'runs', 'run')}"
    inits = sorted({c.name for slot in idle if slot.alive for c in slot.alive.inits if c.state == "running"})
    if inits:
        return say(
            phases.STARTING,
            "InitContainers",
            summary="The node runs" if total == 1 else f"{so_far}; the others run",
            detail=listed(inits),
        )
    if idle or len(alive) < total:
        there = idle or [slot for slot in slots if not slot.alive]
        of = f" of {ranks(there)}" if len(there) < total else ""
        summary = (
            "Its containers are being created" if total == 1 else f"{so_far}; the containers{of} are being created"
        )
        return say(phases.STARTING, "ContainersCreating", summary=summary)
    unready = [slot for slot in alive if slot.alive and not slot.alive.ready and not slot.alive.succeeded]
    ready = total - len(unready)
    summary = f"{share(ready, total, kind)} {verb(ready, 'is', 'are')} ready; not yet {ranks(unready)}"
    summary = "The node runs, but is not ready yet" if total == 1 else summary
    return say(phases.STARTING, "ReadinessPending", summary=summary, since=_last_start(slots))
