"""Step 8: the initializers are not done and no training pod is there: they run, start, are tried again, or wait for a machine."""

from jobs.state import causes, phases, problems
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.pods import Pod
from jobs.state.reading import number, objects, text
from jobs.state.times import newest, oldest
from jobs.state.view import Group, Slot, View
from jobs.state.wording import after, listed, who


def decide(view: View) -> Verdict | None:
    """Return how far the initializers are, or None when there are none, they are done, or training has begun."""
    if not view.initializers or any(slot.pod and slot.current for slot in view.slots_in(view.training)):
        return None
    open_slots = [slot for slot in view.slots_in(view.initializers) if not _done(view, slot)]
    here = [slot for slot in open_slots if slot.pod and slot.current]
    if not here:
        return None
    return _waiting(view, open_slots) or _problem(view, here) or _retrying(view, here) or _going(view, here)


def pending(view: View) -> tuple[Group, ...]:
    """Return the initializers that are not done yet."""
    return tuple(
        {slot.group.name: slot.group for slot in view.slots_in(view.initializers) if not _done(view, slot)}.values()
    )


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
    if any(slot.alive and slot.alive.placed for slot in slots):
        return None
    homeless = [slot for slot in slots if slot.alive and not slot.alive.placed]
    if not homeless:
        return None
    why = causes.placement(view, homeless)
    return unplaced(view, homeless, len(slots), "initializers", why.code if why else "", why.clause if why else "")


def unplaced(view: View, slots: list[Slot], needed: int, what: str, code: str, detail: str) -> Verdict:
    """Return Waiting for pods that are no gang and have no machine, by the code of the explanation."""
    gated = [slot for slot in slots if slot.alive and slot.alive.gated]
    since = oldest(*(slot.alive.created for slot in slots if slot.alive))
    if gated:
        gates = sorted(
            {
                text(gate, "name")
                for slot in gated
                if slot.alive
                for gate in objects(slot.alive.raw, "spec", "schedulingGates")
            }
        )
        return say(
            phases.WAITING,
            "SchedulingGated",
            count=len(gated),
            needed=needed,
            what=what,
            detail=after(listed([g for g in gates if g])),
            since=since,
        )
    known = code if code in ("PvcNotFound", "VolumeNotBound") else "Unschedulable"
    said = detail if known != "Unschedulable" else after(detail)
    return say(phases.WAITING, known, count=len(slots), needed=needed, what=what, detail=said, since=since)


def _problem(view: View, slots: list[Slot]) -> Verdict | None:
    problem = problems.find(view, slots)
    if problem is None:
        return None
    code = "InitializerCrashLoop" if problem.code == "CrashLoopBackOff" else problem.code
    return say(phases.INITIALIZING, code, **problem.gaps)


def _retrying(view: View, slots: list[Slot]) -> Verdict | None:
    for slot in slots:
        pod = slot.pod
        if pod is None:
            continue
        container = next((c for c in pod.containers if c.restarts > 0), None)
        if container:
            return say(
                phases.INITIALIZING,
                "InitializerRetrying",
                who=who(slot),
                detail=problems.exit_of(container),
                since=container.started,
            )
        before = [p for p in view.pods if p.replicated_job == slot.group.name and p.failed and view.is_current(p)]
        if before:
            return say(
                phases.INITIALIZING,
                "InitializerRetrying",
                who=who(slot),
                detail=_how(before[-1]),
                since=before[-1].finished,
            )
    return None


def _how(pod: Pod) -> str:
    return next((problems.exit_of(container) for container, _ in pod.ended), after(pod.reason))


def _going(view: View, slots: list[Slot]) -> Verdict:
    running = [slot for slot in slots if slot.alive and slot.alive.running]
    names = [slot.group.name for slot in running or slots]
    needed = sum(group.count for group in view.ranked)
    subject = f"Initializer{'s' if len(names) > 1 else ''} {listed(sorted(set(names)))}"
    if running:
        since = newest(*(slot.alive.started for slot in running if slot.alive))
        return say(
            phases.INITIALIZING,
            "InitializerRunning",
            who=subject,
            are="are" if len(names) > 1 else "is",
            needed=needed,
            since=since,
        )
    since = newest(*(slot.alive.created for slot in slots if slot.alive))
    return say(
        phases.INITIALIZING,
        "InitializerStarting",
        who=subject,
        are="are" if len(names) > 1 else "is",
        needed=needed,
        since=since,
    )
