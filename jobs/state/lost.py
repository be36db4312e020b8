"""Step 9: the job was placed once, and now fewer than the minimum have a machine."""

import re
from datetime import timedelta

from jobs.state import causes, gang, phases, problems
from jobs.state.codes import say
from jobs.state.model import Verdict
from jobs.state.pods import Pod
from jobs.state.reading import moment, text
from jobs.state.times import newest
from jobs.state.view import Slot, View
from jobs.state.wording import ranks

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
    return any(e.reason == "NodeNotReady" and e.about("Pod", view.namespace, pod.name, pod.uid) for e in view.events)


def _preempted(view: View) -> Verdict | None:
    victims = [pod for pod in view.pods if pod.preempted and _is_member(view, pod)]
    told = [
        event
        for event in view.events
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


def _in_this_run(view: View, time: object) -> bool:
    since = view.scheduled_at or view.began
    return since is None or time is None or time >= since  # type: ignore[operator]


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
        name = machines[0] if machines else "NAME"
        detail = f" and is silent, so its pods cannot end. Delete the machine, or taint it: kubectl taint node {name} node.kubernetes.io/out-of-service=:NoExecute"
    else:
        detail = "; its nodes are started again elsewhere"
    ends = [pod.deleting + STUCK for pod in gone if pod.deleting and pod.deleting + STUCK > view.now]
    return say(
        phases.DEGRADED,
        "NodeLost",
        placed=gang.placed(view),
        needed=sum(group.count for group in view.members),
        machine=", ".join(machines) or "(unknown)",
        detail=detail,
        since=newest(*(moment(pod.disruption, "lastTransitionTime") for pod in gone)),
        recheck=min(ends, default=None),
    )


def _pods_lost(view: View) -> Verdict:
    total = sum(group.count for group in view.members)
    missing = [slot for slot in view.member_slots if not (slot.alive and slot.alive.placed)]
    lost = total - gang.placed(view)
    failed = [pod for pod in view.pods if pod.failed and _is_member(view, pod) and _of_attempt(view, pod)]
    how = next((problems.exit_of(container) for pod in failed for container, _ in pod.ended), "")
    why = causes.placement(view, missing)
    waits = f"; {why.clause}" if why else ""
    since = newest(*(pod.finished for pod in failed))
    detail = f" ({ranks(missing)}{how.replace(': ', ', ', 1)}){waits}"
    return say(
        phases.DEGRADED,
        "PodsLost",
        placed=gang.placed(view),
        needed=total,
        lost=lost,
        were="was" if lost == 1 else "were",
        detail=detail,
        since=since,
    )
