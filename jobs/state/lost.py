"""Step 9: the job was placed once, and now fewer than the minimum have a machine."""

import re
from datetime import datetime, timedelta

from jobs.state import causes, gang, phases, problems
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.pods import SHUTDOWN, Pod
from jobs.state.reading import moment, text
from jobs.state.times import newest
from jobs.state.view import Slot, View
from jobs.state.wording import after, listed, ranks, verb

# A pod should be gone when its grace has passed; this much later its machine is silent.
STUCK = timedelta(seconds=60)


def decide(view: View) -> Verdict | None:
    """Return Preempted or Degraded for a job that has lost nodes, or None."""
    if not placed_once(view):
        return None
    silent = _silent(view)
    if gang.placed(view) - len(silent) >= view.needed:
        return None
    return _preempted(view) or _machine_lost(view, silent) or _pods_lost(view)


def placed_once(view: View) -> bool:
    """Whether the whole gang had machines once in this run: we noted it, or the pods still show it."""
    if view.scheduled_at or view.started_at:
        return True
    places = {(p.replicated_job, p.job_index, p.index) for p in view.pods if p.was_placed and _of_attempt(view, p)}
    had = sum(1 for slot in view.member_slots if (slot.group.name, slot.job_index, slot.index) in places)
    return view.needed > 0 and had >= view.needed


def _of_attempt(view: View, pod: Pod) -> bool:
    return pod.attempt in (None, view.attempt)


def _silent(view: View) -> list[Slot]:
    """Members whose machine has stopped reporting, while their pods look as if they ran."""
    return [
        slot
        for slot in view.member_slots
        if slot.alive and slot.alive.silent and (slot.alive.phase == "Unknown" or _told(view, slot.alive))
    ]


def _told(view: View, pod: Pod) -> bool:
    return any(event.reason == "NodeNotReady" for event in view.events.about("Pod", pod.name, pod.uid))


def _preempted(view: View) -> Verdict | None:
    victims = [pod for pod in view.pods if pod.preempted and _is_member(view, pod)]
    told = [
        event
        for event in view.events.all
        if _names_victim(view, event.kind, event.reason, event.name) and _in_this_run(view, event.time)
    ]
    before = text(view.record, "code") == "PreemptedByScheduler" and text(view.record, "phase") == phases.PREEMPTED
    if not victims and not told and not before:
        return None
    since = newest(*(moment(pod.disruption, "lastTransitionTime") for pod in victims), *(event.time for event in told))
    lost = max(len({(p.replicated_job, p.job_index, p.index) for p in victims}), view.needed - gang.placed(view))
    return say(
        phases.PREEMPTED, "PreemptedByScheduler", count=lost, needed=sum(g.count for g in view.members), since=since
    )


def _in_this_run(view: View, time: datetime | None) -> bool:
    since = view.scheduled_at or view.began
    return since is None or time is None or time >= since


def _names_victim(view: View, kind: str, reason: str, name: str) -> bool:
    """Whether an event tells that a pod of exactly this job was preempted; the pod itself may be gone."""
    members = "|".join(re.escape(group.name) for group in view.members)
    pattern = rf"{re.escape(view.name)}-(?:{members})-\d+-\d+-[a-z0-9]{{5}}"
    return kind == "Pod" and reason == "Preempted" and bool(members) and re.fullmatch(pattern, name) is not None


def _is_member(view: View, pod: Pod) -> bool:
    return any(group.name == pod.replicated_job for group in view.members)


def _machine_lost(view: View, silent: list[Slot]) -> Verdict | None:
    gone = [pod for pod in view.pods if pod.machine_gone and _is_member(view, pod) and _of_attempt(view, pod)]
    pods = [*gone, *(slot.pod for slot in silent if slot.pod)]
    if not pods:
        return None
    machines = sorted({pod.machine for pod in pods if pod.machine})
    stuck = [pod for pod in gone if pod.deleting and view.now - pod.deleting > STUCK]
    if stuck or silent:
        taint = f"kubectl taint node {machines[0] if machines else 'NAME'} node.kubernetes.io/out-of-service=:NoExecute"
        detail = f" and is silent, so its pods cannot end. Delete the machine, or taint it: {taint}"
    else:
        detail = "; its nodes are started again elsewhere"
    ends = [pod.deleting + STUCK for pod in gone if pod.deleting and pod.deleting + STUCK > view.now]
    return say(
        phases.DEGRADED,
        "NodeLost",
        placed=gang.placed(view),
        needed=sum(group.count for group in view.members),
        machine=listed(machines) or "(unknown)",
        detail=detail,
        since=newest(*(moment(pod.disruption, "lastTransitionTime") for pod in gone)),
        recheck=min(ends, default=None),
    )


def _pods_lost(view: View) -> Verdict:
    total = sum(group.count for group in view.members)
    missing = [slot for slot in view.member_slots if not (slot.alive and slot.alive.placed)]
    failed = [pod for pod in view.pods if pod.failed and _is_member(view, pod) and _of_attempt(view, pod)]
    lost = total - gang.placed(view)
    return say(
        phases.DEGRADED,
        "PodsLost",
        placed=gang.placed(view),
        needed=total,
        lost=lost,
        were=verb(lost, "was", "were"),
        detail=f" ({ranks(missing)}{_how(failed)}){after(_hindrance(view, missing), '; ')}",
        since=newest(*(pod.finished for pod in failed)),
    )


def _how(failed: list[Pod]) -> str:
    if any(pod.reason in SHUTDOWN for pod in failed):
        return ", stopped when the machine was shut down"
    ends = (problems.exit_of(container) for pod in failed for container, _ in pod.ended)
    return next((how.replace(": ", ", ", 1) for how in ends if how), "")


def _hindrance(view: View, missing: list[Slot]) -> str:
    """Why the lost nodes do not come back by themselves: no machine for them, or their pods are refused."""
    why = causes.placement(view, missing)
    if why:
        return why.cause
    refusal = causes.creation(view) if any(slot.alive is None for slot in missing) else None
    return refusal[0].clause if refusal and refusal[0].known else ""
