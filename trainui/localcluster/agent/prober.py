"""Makes the probes of a pod's containers in the background and says what their answers mean."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from trainui.localcluster.agent.api import ApiError, Unavailable
from trainui.localcluster.agent.environment import ConfigError
from trainui.localcluster.agent.model import Container
from trainui.localcluster.agent.plan import NoCommand
from trainui.localcluster.agent.probes import KINDS, ProbeState, answered, first_due, is_due, make_probe, probe_of
from trainui.localcluster.agent.starter import Starter
from trainui.localcluster.agent.volumes import VolumeError

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What the probes of a container say now; `unhealthy` names the probe that wants it restarted."""

    started: bool
    ready: bool
    unhealthy: str = ""


class Prober:
    """The probes of one pod. `note` records an event, `wake` tells the pod that an answer came."""

    def __init__(self, note: Callable[[str, str, str, str], None], wake: Callable[[], None], starter: Starter) -> None:
        self._note = note
        self._wake = wake
        self._starter = starter
        self._lock = threading.Lock()
        self._states: dict[tuple[str, str], ProbeState] = {}

    def look(self, pod: Object, spec: Object, container: Container, now: float) -> Verdict:
        """Begin what is due and return the verdict on a running container."""
        name = container.name
        kinds = [kind for kind in KINDS if probe_of(spec, kind) is not None]
        if not kinds:
            return Verdict(True, True)
        with self._lock:
            for kind in kinds:
                self._states.setdefault((name, kind), first_due(probe_of(spec, kind) or {}, container.started_time))
            answers = {kind: self._states[name, kind].passed for kind in kinds}
        started = answers.get("startup", True) is True
        ready = started and answers.get("readiness", True) is True
        unhealthy = next((kind for kind in ("startup", "liveness") if answers.get(kind) is False), "")
        for kind in kinds:
            self._begin(pod, spec, container, kind, started, now)
        return Verdict(started, ready, unhealthy)

    def _begin(self, pod: Object, spec: Object, container: Container, kind: str, started: bool, now: float) -> None:
        with self._lock:
            state = self._states[container.name, kind]
            if not is_due(kind, state, started, now):
                return
            self._states[container.name, kind] = replace(state, busy=True)
        run = threading.Thread(target=self._run, args=(pod, spec, container, kind), name=f"{kind} probe", daemon=True)
        run.start()

    def _run(self, pod: Object, spec: Object, container: Container, kind: str) -> None:
        probe = probe_of(spec, kind) or {}
        try:
            launch = self._starter.launches.get(container.name) or self._starter.launch(pod, spec, container.restarts)
            good, words = make_probe(probe, spec, launch, self._starter.place(pod, container.name).rsh_socket)
        except (ConfigError, NoCommand, VolumeError, ApiError, Unavailable) as error:
            good, words = False, str(error)
        with self._lock:
            state = self._states.get((container.name, kind))
            if state is not None:
                self._states[container.name, kind] = answered(state, probe, good, time.time())
        if not good:
            self._note(container.name, "Warning", "Unhealthy", f"{kind.capitalize()} probe failed: {words}")
        self._wake()

    def next_due(self) -> float | None:
        """Return the moment of the next probe, None when none waits."""
        with self._lock:
            return min((state.due for state in self._states.values() if not state.busy), default=None)

    def forget(self, container: str) -> None:
        """Drop the answers of a container that has ended."""
        with self._lock:
            self._states = {key: state for key, state in self._states.items() if key[0] != container}
