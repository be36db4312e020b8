"""The state of a job from what was seen of it: one pure function, asked in the documented order of decisions."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from jobs.state import (
    cluster_gone,
    conditions,
    creating,
    gang,
    initializing,
    lost,
    memory,
    nodes,
    phases,
    restarting,
    running,
    startup,
    suspended,
    terminal,
    waiting,
)
from jobs.state.model import JobState, Verdict
from jobs.state.reading import moment, text
from jobs.state.times import newest, oldest, parse, stamp
from jobs.state.view import View

# The first step that has an answer decides (fixtures README, "Order of decisions"); `running` always has one.
STEPS: tuple[Callable[[View], Verdict | None], ...] = (
    cluster_gone.decide,
    terminal.decide,
    suspended.decide,
    creating.decide,
    gang.decide,
    restarting.decide,
    initializing.decide,
    lost.decide,
    waiting.decide,
)


def observe(snapshot: Mapping[str, Any], now: datetime | str) -> JobState:
    """Return the state of a job. Pure: the same snapshot and time give the same answer, whatever the order of its lists.

    snapshot: a mapping of record (what our database knows), trainjob, jobset (each may be None), jobs, pods, podgroups, workloads,
    events, and crds where the installed ones are known. Anything may be missing.
    now: the time to judge by; `recheck_at` of the answer is when to ask again although nothing was reported.
    """
    time = parse(now)
    view = View(snapshot, time if time is not None else datetime.fromtimestamp(0, UTC))
    verdict = next((found for step in STEPS if (found := step(view)) is not None), None) or running.decide(view)
    finished = verdict.phase in phases.FINISHED
    return JobState(
        phase=verdict.phase,
        code=verdict.code,
        tone=verdict.tone,
        sentence=verdict.sentence,
        since=_since(view, verdict),
        recheck_at=None if finished else _recheck(view, verdict),
        finished=finished,
        nodes=nodes.nodes(view, verdict),
        counts=nodes.counts(view, verdict),
        gang=gang.state(view, verdict),
        startup=startup.startup(view, verdict),
        jobs_status=conditions.jobs_status(view),
        conditions=conditions.wanted(view, verdict),
        unknown_conditions=conditions.unknown(view),
        scheduled_at=_scheduled_at(view),
        started_at=_started_at(view, verdict),
        finished_at=stamp(memory.when(view, "finished_at") or verdict.since or view.now) if finished else None,
        cause=verdict.cause,
    )


def _since(view: View, verdict: Verdict) -> str | None:
    """The transition that the objects tell; else what the record says while nothing has changed."""
    unchanged = (text(view.record, "phase"), text(view.record, "code")) == (verdict.phase, verdict.code)
    return stamp(verdict.since or (memory.when(view, "since") if unchanged else None))


def _recheck(view: View, verdict: Verdict) -> str | None:
    deadline = terminal.deadline(view) if view.seen else None
    return stamp(oldest(verdict.recheck, deadline if deadline and deadline > view.now else None))


def _scheduled_at(view: View) -> str | None:
    """When the gang had its machines: noted once per run, forgotten by a suspend."""
    if view.suspended and view.seen:
        return None
    if view.scheduled_at is None and view.seen and view.needed and gang.placed(view) >= view.needed:
        return stamp(view.now)
    return stamp(view.scheduled_at)


def _started_at(view: View, verdict: Verdict) -> str | None:
    """When all ran for the first time in this run; the record's own time otherwise, so that the page can tell durations."""
    recorded = view.started_at if verdict.phase not in phases.FINISHED else moment(view.record, "started_at")
    if recorded is not None:
        return stamp(recorded)
    pods = [slot.pod for slot in view.slots_in(view.ranked) if slot.pod and slot.current]
    begun = newest(*(pod.started or next((c.ended.started for c in pod.containers if c.ended), None) for pod in pods))
    if verdict.phase == phases.RUNNING:
        return stamp(begun or view.now)
    if verdict.phase in phases.FINISHED:
        return stamp(begun)
    return stamp(moment(view.record, "started_at")) if view.suspended else None
