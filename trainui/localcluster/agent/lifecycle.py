"""What to do next for a pod: which containers to start, to stop, and when to look again. Pure.

Rules: the kubelet's computePodActions, restart back-off and termination, for pods of one machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from trainui.localcluster.agent.model import Container, Containers, Exit, Kind, Phase, Process, moment

MAX_BACK_OFF = 300.0  # the kubelet's MaxContainerBackOff
CALM_SECONDS = 600.0  # a run of this length forgets earlier crashes
DEFAULT_GRACE = 30


class Signal(StrEnum):
    """How to end a container."""

    TERM = "term"
    KILL = "kill"


@dataclass(frozen=True)
class Stop:
    """Why a pod has to end, and when patience ends (seconds since the epoch)."""

    deadline: float
    reason: str = ""  # status.reason of the pod when it ends this way
    message: str = ""


@dataclass(frozen=True)
class Decision:
    """The next step of a pod. `look_again` is the moment at which time alone changes the answer."""

    start: tuple[str, ...] = ()
    signal: Mapping[str, Signal] = field(default_factory=dict)
    look_again: float | None = None
    finished: bool = False  # nothing runs and nothing will


def restart_wanted(container: Container, policy: str) -> bool:
    """Tell whether an ended container is to run again under the pod's restartPolicy."""
    if container.phase is not Phase.EXITED or container.exit is None:
        return False
    if container.kind is Kind.SIDECAR:
        return True
    failed = container.exit.code != 0
    if container.kind is Kind.INIT:
        return failed and policy != "Never"
    return policy == "Always" or (policy == "OnFailure" and failed)


def back_off_after(crashes: int, base: float) -> float:
    """Return the wait before a restart: none for the first, then the base, doubling to five minutes."""
    if crashes <= 1:
        return 0.0
    return float(min(base * 2 ** min(crashes - 2, 30), MAX_BACK_OFF))


def ended(container: Container, result: Exit, base: float) -> Container:
    """Return a container whose attempt has ended with `result`."""
    crashes = 1 if result.lasted >= CALM_SECONDS else container.crashes + 1
    return replace(
        container,
        phase=Phase.EXITED,
        process=None,
        exit=result,
        ready=False,
        started=False,
        crashes=crashes,
        back_off=back_off_after(crashes, base),
        term_sent=False,
        kill_sent=False,
    )


def starting(container: Container) -> Container:
    """Return a container about to run: the same attempt the first time, the next one after an exit."""
    again = container.phase is Phase.EXITED
    return replace(
        container,
        phase=Phase.STARTING,
        restarts=container.restarts + 1 if again else container.restarts,
        last_exit=container.exit if again else container.last_exit,
        exit=None,
        process=None,
        started_at="",
        waiting_reason="",
        waiting_message="",
        ready=False,
        started=False,
        term_sent=False,
        kill_sent=False,
    )


def running(
    container: Container, process: Process, started_at: str, has_startup: bool, has_readiness: bool
) -> Container:
    """Return a container whose program runs; without probes it is started and ready at once."""
    return replace(
        container,
        phase=Phase.RUNNING,
        process=process,
        started_at=started_at,
        started_time=moment(started_at),
        started=not has_startup,
        ready=not has_startup and not has_readiness,
    )


def waiting(container: Container, reason: str, message: str) -> Container:
    """Return a container that could not be started now, with the reason it shows while it waits."""
    return replace(container, phase=Phase.WAITING, waiting_reason=reason, waiting_message=message)


def remaining_back_off(container: Container, now: float) -> float:
    """Return the seconds until an ended container may run again; a clock that stepped back adds nothing."""
    if container.exit is None:
        return 0.0
    return min(max(0.0, container.exit.finished + container.back_off - now), container.back_off)


def decide(pod: Mapping[str, Any], containers: Containers, now: float, stop: Stop | None) -> Decision:
    """Return the next step for a pod that is wanted (`stop` is None) or has to end."""
    if stop is not None:
        return _decide_stop(containers, now, stop)
    policy = pod["spec"].get("restartPolicy") or "Always"
    early = _decide_initialization(containers, policy, now)
    if early is not None:
        return early
    start: list[str] = []
    wake: list[float] = []
    open_ended = False
    for container in containers.values():
        if container.kind is Kind.APP:
            open_ended |= _consider(container, policy, now, start, wake)
    if open_ended:
        for container in containers.values():  # a sidecar that ended while the pod works comes back
            if container.kind is Kind.SIDECAR:
                _consider(container, policy, now, start, wake)
        return Decision(tuple(start), look_again=min(wake, default=None))
    return _wind_down(pod, containers, now)


def _consider(container: Container, policy: str, now: float, start: list[str], wake: list[float]) -> bool:
    """Plan one container; return whether it has more to do."""
    if container.alive:
        return True
    if container.phase is Phase.WAITING:
        start.append(container.name)
        return True
    if not restart_wanted(container, policy):
        return False
    wait = remaining_back_off(container, now)
    if wait > 0:
        wake.append(now + wait)
    else:
        start.append(container.name)
    return True


def _decide_initialization(containers: Containers, policy: str, now: float) -> Decision | None:
    """Return the step while init containers are not through; None when the pod's own containers may run."""
    if any(container.kind is Kind.APP and container.phase is not Phase.WAITING for container in containers.values()):
        return None  # initialization is never repeated
    start: list[str] = []
    wake: list[float] = []
    for container in containers.values():
        if container.kind is Kind.INIT and not container.succeeded:
            if not _consider(container, policy, now, start, wake):
                return _wind_down_now(containers)
            return Decision(tuple(start), look_again=min(wake, default=None))
        if container.kind is Kind.SIDECAR:
            _consider(container, policy, now, start, wake)
            if not (container.phase is Phase.RUNNING and container.started):
                return Decision(tuple(start), look_again=min(wake, default=None))
    return Decision(tuple(start), look_again=min(wake, default=None)) if start else None


def _wind_down_now(containers: Containers) -> Decision:
    signals = {c.name: Signal.KILL for c in containers.values() if c.alive and not c.kill_sent}
    return Decision(signal=signals, finished=not any(c.alive for c in containers.values()))


def _wind_down(pod: Mapping[str, Any], containers: Containers, now: float) -> Decision:
    """End the sidecars after the pod's own containers, with the pod's grace counted from the last exit."""
    alive = [container for container in containers.values() if container.alive]
    if not alive:
        return Decision(finished=True)
    last = max((c.exit.finished for c in containers.values() if c.kind is Kind.APP and c.exit), default=now)
    return _signal(alive, now, min(last + grace_seconds(pod), now + grace_seconds(pod)))


def _decide_stop(containers: Containers, now: float, stop: Stop) -> Decision:
    alive = [container for container in containers.values() if container.alive]
    if not alive:
        return Decision(finished=True)
    own = [container for container in alive if container.kind is not Kind.SIDECAR]
    if own and now < stop.deadline:  # sidecars are there until the others are gone
        return _signal(own, now, stop.deadline)
    return _signal(alive, now, stop.deadline)


def _signal(targets: list[Container], now: float, deadline: float) -> Decision:
    if now >= deadline:
        return Decision(signal={c.name: Signal.KILL for c in targets if not c.kill_sent})
    signals = {c.name: Signal.TERM for c in targets if not c.term_sent}
    return Decision(signal=signals, look_again=deadline)


def grace_seconds(pod: Mapping[str, Any]) -> float:
    """Return how long the pod's programs may take to end after SIGTERM."""
    value = pod["spec"].get("terminationGracePeriodSeconds")
    return float(DEFAULT_GRACE if value is None else value)


def deletion_stop(pod: Mapping[str, Any]) -> Stop | None:
    """Return the stop that a deletion asks for: deletionTimestamp already has the grace in it."""
    text = pod["metadata"].get("deletionTimestamp")
    return Stop(moment(text)) if text else None


def deadline_stop(pod: Mapping[str, Any], start_time: float, now: float) -> tuple[Stop | None, float | None]:
    """Return the stop of a pod that ran longer than activeDeadlineSeconds, or the moment to look again."""
    limit = pod["spec"].get("activeDeadlineSeconds")
    if limit is None:
        return None, None
    end = start_time + float(limit)
    if now < end:
        return None, end
    text = "Pod was active on the node longer than the specified deadline"
    return Stop(end + grace_seconds(pod), "DeadlineExceeded", text), None
