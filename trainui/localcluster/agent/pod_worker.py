"""Runs one pod: a thread that looks at what is, decides, acts, and tells the API server."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainui.localcluster.agent import launcher, pod_state
from trainui.localcluster.agent.api import Api, ApiError, Unavailable, pod_path
from trainui.localcluster.agent.config import Settings
from trainui.localcluster.agent.devices import DeviceBook
from trainui.localcluster.agent.endings import ended_by, lost, not_started
from trainui.localcluster.agent.environment import ConfigError
from trainui.localcluster.agent.folders import PodFolder
from trainui.localcluster.agent.lifecycle import (
    Decision,
    Signal,
    Stop,
    deadline_stop,
    decide,
    deletion_stop,
    ended,
    grace_seconds,
    restart_wanted,
    running,
    starting,
    waiting,
)
from trainui.localcluster.agent.model import Container, Phase, container_spec, moment, stamp
from trainui.localcluster.agent.plan import CONTAINER_TAG, NoCommand, container_tag, pod_hostname
from trainui.localcluster.agent.prober import Prober
from trainui.localcluster.agent.probes import probe_of
from trainui.localcluster.agent.processes import ExitWatcher, end_tagged, signal_process
from trainui.localcluster.agent.programs import NO_COMMAND
from trainui.localcluster.agent.publisher import Publisher, Told
from trainui.localcluster.agent.recorder import Recorder
from trainui.localcluster.agent.starter import Starter
from trainui.localcluster.agent.volumes import VolumeError

log = logging.getLogger(__name__)
Object = dict[str, Any]
TERMINAL = ("Succeeded", "Failed")
RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0)
UNANSWERED_KILL_SECONDS = 5.0  # after this a shim that does not kill is killed itself
REFRESH_SECONDS = 60.0  # the kubelet's syncFrequency
LAST_WORD_SECONDS = 3.0  # how long a stopping agent tries to write a pod's last status
SHUTDOWN_MESSAGE = "Pod was terminated in response to imminent node shutdown."


@dataclass(frozen=True)
class Surroundings:
    """What all pods share."""

    settings: Settings
    api: Api
    recorder: Recorder
    exits: ExitWatcher
    short: Path
    allocatable: Mapping[str, Mapping[str, str]]
    devices: DeviceBook


class PodWorker(threading.Thread):
    """One pod on one of our machines. `finished` is called once, when nothing is left to do."""

    def __init__(self, pod: Object, around: Surroundings, finished: "Callable[[PodWorker], None]") -> None:
        super().__init__(name=f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}", daemon=True)
        self._pod = pod
        self._offered = pod
        self._around = around
        self._finished = finished
        self.uid: str = pod["metadata"]["uid"]
        self.folder = PodFolder(around.settings, around.short, self.uid)
        allocatable = around.allocatable.get(pod["spec"].get("nodeName") or "", {})
        self._starter = Starter(around.settings, around.api, self.folder, allocatable, around.devices)
        self._state = pod_state.load(pod, self.folder, time.time(), around.settings.restart_back_off)
        around.devices.restore(self.uid, self._state.devices)
        self._prober = Prober(self._event_of, self.wake, self._starter)
        self._woken = threading.Event()
        self._gone = False  # the API server has no such pod any more
        self._shutdown: Stop | None = None
        self._foreign: Stop | None = None  # someone else has declared the pod finished
        self._resumed: Stop | None = None  # an agent before us was ending the pod
        if self._state.ending:
            self._resumed = Stop(time.time() + grace_seconds(pod), **self._state.ending)
        self._tries: dict[str, int] = {}
        self._retry_at: dict[str, float] = {}
        self._killed_at: dict[str, float] = {}
        self._publisher = Publisher(around.api, self.uid)
        self._watched: set[int] = set()
        self._refresh_at = 0.0
        self._annotations = pod["metadata"].get("annotations")

    # Called from other threads

    def offer(self, pod: Object) -> None:
        """Take a newer version of the pod."""
        self._offered = pod
        self.wake()

    def lose(self) -> None:
        """Learn that the API server has no such pod any more."""
        self._gone = True
        self.wake()

    def shut_down(self, deadline: float) -> None:
        """End the pod because its machine stops: by the deadline, or its own grace if that is shorter.

        A second call can only shorten the deadline.
        """
        deadline = min(deadline, time.time() + grace_seconds(self._pod))
        if self._shutdown is None or deadline < self._shutdown.deadline:
            self._shutdown = Stop(deadline, "NodeShutdown", SHUTDOWN_MESSAGE)
        self.wake()

    def missed(self) -> Object | None:
        """Return the version of the pod that came after the last look, if one did. For when the worker has finished."""
        return None if self._offered is self._pod else self._offered

    def wake(self) -> None:
        """Look again now."""
        self._woken.set()

    # The thread

    def run(self) -> None:
        """Run the pod to its end."""
        while True:
            self._woken.clear()
            try:
                wake_at = self._step()
            except Exception:
                log.exception("%s: will be tried again", self.name)
                wake_at = time.time() + RETRY_SECONDS[-1]
            if wake_at is None:
                break
            self._woken.wait(max(0.0, wake_at - time.time()))
        self._finished(self)

    def _step(self) -> float | None:
        """Do what is to be done now; return when to look again, None when the pod is through."""
        self._pod = self._offered
        self._collect()
        now = time.time()
        stop, look_again = self._why_stop(now)
        decision = decide(self._pod, self._state.containers, now, stop)
        if decision.finished:
            return self._finish(stop, now)
        acted = self._signal(decision, stop, now)
        if self._start(decision, now):
            self._save()
            return 0.0  # look at once what became of it, then tell
        if acted:
            self._save()
        self._refresh(now)
        self._probe(time.time())
        if not self._gone and self._foreign is None:
            self._publish(time.time(), terminal=False)
        moments = [self._refresh_at, look_again, decision.look_again, self._prober.next_due(), *self._retry_at.values()]
        moments += [when + UNANSWERED_KILL_SECONDS for when in self._killed_at.values()]
        if self._publisher.again_at:
            moments.append(self._publisher.again_at)
        later = [each for each in moments if each is not None and each > now]
        return min(later, default=now + 3600)

    def _why_stop(self, now: float) -> tuple[Stop | None, float | None]:
        """Return why the pod has to end now, if it has to, and the next moment that may change this."""
        if self._gone:
            return Stop(now), None
        stops = [stop for stop in (self._shutdown, deletion_stop(self._pod)) if stop]
        overdue, look_again = deadline_stop(self._pod, self._state.start_time, now)
        if overdue:
            stops.append(overdue)
        status = self._pod.get("status") or {}
        if status.get("phase") in TERMINAL and not self._state.done and status["phase"] != self._publisher.phase:
            self._foreign = self._foreign or Stop(now + grace_seconds(self._pod))
            stops.append(self._foreign)
        if self._resumed:
            stops.append(self._resumed)
        if not stops:
            return None, look_again
        first = min(stops, key=lambda stop: stop.deadline)
        named = next((stop for stop in stops if stop.reason), first)
        return Stop(first.deadline, named.reason, named.message), look_again

    # What has happened

    def _collect(self) -> None:
        """Take in every attempt that has ended."""
        changed = False
        for name, container in self._state.containers.items():
            if container.process is None or container.phase is not Phase.RUNNING:
                continue
            if not launcher.collect(container.process):
                self._watch(container)
                continue
            self._state.containers[name] = self._ended(container)
            self._note_back_off(self._state.containers[name])
            self._prober.forget(name)
            self._killed_at.pop(name, None)
            self._starter.launches.pop(name, None)
            changed = True
        if changed:
            self._save()

    def _watch(self, container: Container) -> None:
        if container.process is not None and container.process.pid not in self._watched:
            self._watched.add(container.process.pid)
            self._around.exits.watch(container.process, self.wake)

    def _ended(self, container: Container) -> Container:
        spec = container_spec(self._pod, container.name)
        record = launcher.exit_record(self.folder.file(container.name, container.restarts, "exit"))
        if container.process is not None:
            self._watched.discard(container.process.pid)
        base = self._around.settings.restart_back_off
        if record is None:
            self._end_rest(container)
            return ended(container, lost(container, time.time()), base)
        result = ended_by(
            record,
            spec,
            self.folder.last_words(container.name),
            self.folder.log_tail(container.name, container.restarts),
            str(self._around.settings.job_env),
            container.kill_sent,
        )
        if result.reason in ("StartError", "ContainerCannotRun"):
            self._event_of(container.name, "Warning", "Failed", f"Error: {result.message}")
        return ended(container, result, base)

    def _note_back_off(self, container: Container) -> None:
        policy = self._pod["spec"].get("restartPolicy") or "Always"
        if container.back_off and restart_wanted(container, policy) and not self._state.ending:
            meta = self._pod["metadata"]
            pod = f"{meta['name']}_{meta['namespace']}({self.uid})"
            text = f"Back-off restarting failed container {container.name} in pod {pod}"
            self._event_of(container.name, "Warning", "BackOff", text)

    def _end_rest(self, container: Container) -> None:
        """Kill what a lost shim left behind."""
        _, _, value = container_tag(self._pod, container.name, container.restarts).partition("=")
        end_tagged(CONTAINER_TAG, value, container.process)

    # What is done

    def _signal(self, decision: Decision, stop: Stop | None, now: float) -> bool:
        for name, how in decision.signal.items():
            container = self._state.containers[name]
            if stop and not self._state.ending and stop.reason:
                self._state.ending = {"reason": stop.reason, "message": stop.message}
            if container.process is None:
                continue
            if how is Signal.TERM:
                self._event_of(name, "Normal", "Killing", f"Stopping container {name}")
                signal_process(container.process, signal.SIGTERM)
                self._state.containers[name] = replace(container, term_sent=True)
            else:
                signal_process(container.process, signal.SIGUSR1)
                self._state.containers[name] = replace(container, term_sent=True, kill_sent=True)
                self._killed_at[name] = now
        for name, when in self._killed_at.items():
            if now >= when + UNANSWERED_KILL_SECONDS:
                log.warning("%s: container %s did not end when killed; ending its processes", self.name, name)
                self._end_rest(self._state.containers[name])
                self.wake()
        return bool(decision.signal)

    def _start(self, decision: Decision, now: float) -> bool:
        acted = False
        for name in decision.start:
            if now >= self._retry_at.get(name, 0.0):
                acted |= self._start_one(name)
        return acted

    def _start_one(self, name: str) -> bool:
        """Start a container, or note why it has to wait."""
        container = self._state.containers[name]
        spec = container_spec(self._pod, name)
        attempt = starting(container)
        try:
            launch = self._starter.launch(self._pod, spec, attempt.restarts)
        except ConfigError as error:
            self._event_of(name, "Warning", "Failed", f"Error: {error}")
            return self._wait(container, "CreateContainerConfigError", str(error))
        except VolumeError as error:
            self._around.recorder.record(self._pod, "Warning", "FailedMount", str(error))
            return self._wait(container, "", "")
        except NoCommand as error:
            result = not_started(NO_COMMAND, "StartError", str(error), time.time())
            self._event_of(name, "Warning", "Failed", f"Error: {error}")
            self._state.containers[name] = ended(attempt, result, self._around.settings.restart_back_off)
            return True
        except (Unavailable, ApiError) as error:
            log.warning("%s: %s", self.name, error)
            return self._wait(container, "", "")
        self._retry_at.pop(name, None)
        self._tries.pop(name, None)
        self._state.containers[name] = attempt
        try:
            self._save()
        except OSError:
            self._state.containers[name] = container
            raise
        self._run_attempt(attempt, spec, launch)
        return True

    def _run_attempt(self, attempt: Container, spec: Mapping[str, Any], launch: Any) -> None:
        name = attempt.name
        try:
            started = self._starter.start(self._pod, spec, attempt.restarts, launch)
        except OSError as error:
            result = not_started(NO_COMMAND, "StartError", f"No process could be made: {error.strerror}", time.time())
            self._state.containers[name] = ended(attempt, result, self._around.settings.restart_back_off)
            return
        if started is None:
            words = self.folder.shim_fault(name)
            result = not_started(NO_COMMAND, "StartError", f"The container's process broke: {words}", time.time())
            self._state.containers[name] = ended(attempt, result, self._around.settings.restart_back_off)
            return
        began = stamp(moment(started.started_at)) if started.started_at else ""
        has = [probe_of(spec, kind) is not None for kind in ("startup", "readiness")]
        container = running(attempt, started.process, began, *has)
        self._state.containers[name] = container
        if started.failed:
            launcher.await_end(started.process)
            return
        self._watch(container)
        self._event_of(name, "Normal", "Started", f"Started container {name}")

    def _wait(self, container: Container, reason: str, message: str) -> bool:
        tries = self._tries.get(container.name, 0)
        self._tries[container.name] = tries + 1
        self._retry_at[container.name] = time.time() + RETRY_SECONDS[min(tries, len(RETRY_SECONDS) - 1)]
        if container.phase is not Phase.EXITED:
            self._state.containers[container.name] = waiting(container, reason, message)
        return False

    def _refresh(self, now: float) -> None:
        """Renew the files of volumes regularly, and at once when the pod's annotations change, as the kubelet does."""
        annotations = self._pod["metadata"].get("annotations")
        if now >= self._refresh_at or annotations != self._annotations:
            if self._refresh_at:
                self._starter.refresh_volumes(self._pod)
            self._refresh_at = now + REFRESH_SECONDS
            self._annotations = annotations

    def _probe(self, now: float) -> None:
        """Make the probes that are due and apply what they said."""
        for name, container in self._state.containers.items():
            if container.phase is not Phase.RUNNING or container.process is None:
                continue
            spec = container_spec(self._pod, name)
            verdict = self._prober.look(self._pod, spec, container, now)
            self._state.containers[name] = replace(container, started=verdict.started, ready=verdict.ready)
            if verdict.unhealthy and not container.term_sent and not container.kill_sent:
                text = f"Container {name} failed {verdict.unhealthy} probe, will be restarted"
                self._event_of(name, "Normal", "Killing", text)
                signal_process(container.process, signal.SIGTERM)
                self._state.containers[name] = replace(container, ready=False, term_sent=True)
                self._killed_at[name] = now + grace_seconds(self._pod)

    # What is told

    def _event_of(self, container: str, kind: str, reason: str, message: str) -> None:
        self._around.recorder.record(self._pod, kind, reason, message, container)

    def _save(self) -> None:
        self._state.devices = self._around.devices.held(self.uid)
        self._state.save(self.folder)

    def _publish(self, now: float, terminal: bool) -> bool:
        """Tell the pod's status if it has changed; return whether the API server has it."""
        told = self._publisher.publish(self._pod, self._state, now, terminal)
        if told is Told.GONE:
            self.lose()
        return told is not Told.LATER

    def _finish(self, stop: Stop | None, now: float) -> float | None:
        """Tell the end of the pod and clear up; return when to try again, None when all is done."""
        if stop and stop.reason and not self._state.ending and self._unfinished():
            self._state.ending = {"reason": stop.reason, "message": stop.message}
        self._save()
        if not self._gone and self._foreign is None and not self._publish(now, terminal=True):
            if self._shutdown is not None and now > self._shutdown.deadline + LAST_WORD_SECONDS:
                return None  # the next agent tells it: the state is on disk
            return max(self._publisher.again_at, now + 0.1)
        self._state.done = True
        self._around.devices.release(self.uid)
        self._save()
        self.folder.remove_short()
        self.folder.unregister(self._pod["metadata"]["namespace"], pod_hostname(self._pod))
        if not self._gone and self._pod["metadata"].get("deletionTimestamp") and not self._remove_object():
            return now + RETRY_SECONDS[0]
        return None

    def _unfinished(self) -> bool:
        """Tell whether the pod had more to do when it was ended."""
        policy = self._pod["spec"].get("restartPolicy") or "Always"
        everyone = self._state.containers.values()
        return any(each.phase is not Phase.EXITED or restart_wanted(each, policy) for each in everyone)

    def _remove_object(self) -> bool:
        """Delete the pod for good; return False when that has to be tried again."""
        options: Object = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        try:
            self._around.api.request("DELETE", pod_path(self._pod), options)
        except Unavailable:
            return False
        except ApiError as error:
            if error.code not in (404, 409):
                log.warning("%s: cannot be removed: %s", self.name, error)
                return False
        return True
