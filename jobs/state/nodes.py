"""The table of nodes and the counts, from the same slots as the decision."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from jobs.state import gang, memory, phases
from jobs.state.lost import placed_once
from jobs.state.model import Counts, NodeState, Verdict
from jobs.state.pods import Container, Pod
from jobs.state.reading import Object, quote, text
from jobs.state.times import stamp
from jobs.state.view import Slot, View


def nodes(view: View, verdict: Verdict) -> tuple[NodeState, ...]:
    """Return one entry per pod that should exist: those with ranks by rank, then launchers and initializers.

    Once the job has ended, nodes whose pods are gone are shown as they were last seen.
    """
    found = [_node(slot) for slot in view.slots]
    if verdict.phase not in phases.FINISHED:
        return tuple(found)
    last = memory.nodes(view)
    return tuple(
        _afterwards(node, last.get((node.replicated_job, node.job_index, node.index)), verdict) for node in found
    )


def _afterwards(node: NodeState, last: Object | None, verdict: Verdict) -> NodeState:
    if node.name is not None:
        return node
    if last is not None and last.get("name"):
        return memory.node(last, node)
    return replace(node, state="succeeded" if verdict.phase == phases.SUCCEEDED else "waiting")


def counts(view: View, verdict: Verdict) -> Counts:
    """Return how far the nodes that run ranks are. Pods of an earlier attempt or on their way out are not counted as there."""
    slots = view.slots_in(view.ranked)
    if verdict.phase in phases.FINISHED:
        states = [node.state for node in nodes(view, verdict) if node.rank is not None]
        return Counts(
            expected=len(slots),
            needed=min(view.needed, len(slots)),
            succeeded=states.count("succeeded"),
            failed=states.count("failed"),
            lost=states.count("lost"),
        )

    def number(wanted: Callable[[Pod], bool]) -> int:
        return sum(1 for slot in slots if slot.alive and wanted(slot.alive))

    placed = number(lambda pod: pod.placed)
    had = placed_once(view) and not view.suspended
    return Counts(
        expected=len(slots),
        needed=min(view.needed, len(slots)) if not view.gang else view.needed,
        created=number(lambda pod: True),
        gated=number(lambda pod: pod.gated),
        placed=placed,
        starting=number(lambda pod: pod.placed and not pod.running and not pod.succeeded),
        running=number(lambda pod: pod.running),
        ready=number(lambda pod: pod.ready),
        succeeded=number(lambda pod: pod.succeeded),
        failed=sum(1 for slot in slots if slot.pod and slot.current and slot.pod.failed),
        lost=len(slots) - placed if had and gang.placed(view) < view.needed else 0,
    )


def word(slot: Slot) -> str:
    """Return the state of a node in one word."""
    pod = slot.pod
    if pod is None:
        return "waiting"
    if pod.succeeded:
        return "succeeded"
    if pod.machine_gone or pod.preempted or (pod.silent and pod.phase == "Unknown"):
        return "lost"
    if pod.failed:
        return "failed"
    if pod.machine is None:
        return "waiting"
    if pod.ready:
        return "ready"
    started = [container.state == "running" for container in pod.containers]
    return "running" if started and all(started) else "starting"


def _node(slot: Slot) -> NodeState:
    pod = slot.pod
    if pod is None:
        return NodeState(slot.rank, slot.group.name, slot.group.role, slot.job_index, slot.index)
    container = _telling(pod)
    reason, message = _why(pod, container)
    ended = (container.ended or container.last) if container else None
    return NodeState(
        slot.rank,
        slot.group.name,
        slot.group.role,
        slot.job_index,
        slot.index,
        name=pod.name or None,
        machine=pod.machine,
        state=word(slot),
        reason=reason or None,
        message=quote(message) or None,
        exit_code=ended.exit_code if ended else None,
        restarts=pod.restarts,
        attempt=pod.attempt or 0,
        started_at=stamp(pod.started or _first_start(pod)),
        finished_at=stamp(pod.finished),
    )


def _telling(pod: Pod) -> Container | None:
    """The container that says most: one that ended badly, one that waits, else the first."""
    everyone = (*pod.containers, *pod.inits)
    bad = next((container for container, _ in pod.ended), None)
    waits = next((container for container in everyone if container.state == "waiting" and container.reason), None)
    return bad or waits or next(iter(everyone), None)


def _why(pod: Pod, container: Container | None) -> tuple[str, str]:
    if pod.disruption:
        return text(pod.disruption, "reason"), text(pod.disruption, "message")
    if pod.reason:
        return pod.reason, pod.message
    if pod.terminating:
        return "Terminating", ""
    if pod.machine is None and pod.unplaced:
        return text(pod.unplaced, "reason"), text(pod.unplaced, "message")
    if container is None:
        return "", ""
    if container.ended:
        return container.ended.reason, container.ended.message
    if container.state == "waiting":
        return container.reason, container.message
    return "", ""


def _first_start(pod: Pod) -> datetime | None:
    return next((c.ended.started for c in pod.containers if c.ended and c.ended.started), None)
