"""The node agent itself: its machines, their pods, its start and its end."""

import contextlib
import fcntl
import logging
import os
import platform
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from trainui.localcluster.agent.api import Api, ApiError, Unavailable
from trainui.localcluster.agent.config import Access, ConfigurationError, Settings
from trainui.localcluster.agent.devices import DeviceBook
from trainui.localcluster.agent.folders import (
    PodFolder,
    helper_folder,
    pod_folders,
    read_json,
    remove,
    short_folder,
    write_helpers,
)
from trainui.localcluster.agent.machines import OWNER_LABEL, Machine, node_object, node_status, ready_condition
from trainui.localcluster.agent.model import Phase, from_json, stamp
from trainui.localcluster.agent.plan import POD_TAG
from trainui.localcluster.agent.pod_worker import TERMINAL, PodWorker, Surroundings
from trainui.localcluster.agent.processes import ExitWatcher, end_tagged
from trainui.localcluster.agent.recorder import Recorder
from trainui.localcluster.agent.watcher import Watcher

log = logging.getLogger(__name__)
Object = dict[str, Any]
OWNER = "local"
REMOVAL_SECONDS = 30.0  # a follower may still read the log of a pod that is gone
END_SECONDS = 15.0  # beyond the grace, for the last statuses
NODES = "/api/v1/nodes"


class Agent:
    """Runs the pods of its machines until it is stopped."""

    def __init__(self, settings: Settings, access: Access) -> None:
        """Take the data folder for this agent alone. Raises ConfigurationError when another agent has it."""
        self._settings = settings
        settings.pods.mkdir(parents=True, exist_ok=True)
        self._lock_file = _take(settings.data / "cluster" / "agent.lock")
        self._api = Api(access)
        self._recorder = Recorder(self._api)
        self._short = short_folder(settings.data)
        write_helpers(helper_folder(settings, self._short))
        self._around = Surroundings(
            settings=settings,
            api=self._api,
            recorder=self._recorder,
            exits=ExitWatcher(),
            short=self._short,
            allocatable={machine.name: machine.capacity for machine in settings.machines},
            devices=DeviceBook(settings.machines),
        )
        self._lock = threading.RLock()
        self._workers: dict[str, PodWorker] = {}
        self._placed: dict[str, str] = {}  # uid of every pod the API server has -> its machine
        self._removals: dict[str, float] = {}
        self._listed: set[str] = set()
        self._swept = False
        self._stopping: float | None = None
        self._stop = threading.Event()
        self._ready: dict[str, Mapping[str, Any]] = {}

    # Machines

    def _register(self, machine: Machine) -> None:
        """Make the machine's Node, or bring it up to date."""
        node = node_object(machine, OWNER)
        path = f"{NODES}/{machine.name}"
        found = self._api.get(path)
        if found is None:
            with contextlib.suppress(ApiError):  # made at the same moment by someone else
                found = self._api.request("POST", NODES, node)
        else:
            self._api.merge_patch(path, {"metadata": {key: node["metadata"][key] for key in ("labels", "annotations")}})
        before = [c for c in ((found or {}).get("status") or {}).get("conditions") or [] if c["type"] == "Ready"]
        self._ready[machine.name] = before[0] if before else {}
        system = {"kernel": platform.release(), "os": platform.platform(terse=True), "architecture": platform.machine()}
        self._heartbeat(machine, True, "the node agent is posting ready status", node_status(machine, system))
        log.info("machine %s (%s) registered", machine.name, machine.kind)

    def _heartbeat(self, machine: Machine, ready: bool, message: str, more: Object | None = None) -> None:
        condition = ready_condition(ready, message, stamp(time.time()), self._ready.get(machine.name))
        self._api.merge_patch(f"{NODES}/{machine.name}/status", {"status": {**(more or {}), "conditions": [condition]}})
        self._ready[machine.name] = condition

    def _forget_old_machines(self) -> None:
        """Delete the Nodes of an earlier description: pods bound to them are then the controllers' to replace."""
        nodes, _ = self._api.list_all(NODES, {"labelSelector": f"{OWNER_LABEL}={OWNER}"})
        ours = {machine.name for machine in self._settings.machines}
        for node in nodes:
            if node["metadata"]["name"] not in ours:
                with contextlib.suppress(ApiError):
                    self._api.request("DELETE", f"{NODES}/{node['metadata']['name']}")

    def _keep_machines(self) -> None:
        """Register the machines and then say regularly that they live, until the agent stops."""
        registered: set[str] = set()
        tidy = away = False
        while not self._stop.is_set():
            pause = self._settings.heartbeat
            try:
                for machine in self._settings.machines:
                    if machine.name not in registered:
                        self._register(machine)
                        registered.add(machine.name)
                    else:
                        self._heartbeat(machine, True, "the node agent is posting ready status")
                if not tidy:
                    self._forget_old_machines()
                    tidy = True
                away = False
            except ApiError as error:
                if error.code == 404:
                    registered.clear()
                pause = 1.0
                log.warning("heartbeat: %s", error)
            except Unavailable as error:
                pause = 0.5
                if not away:
                    log.info("the API server does not answer: %s", error)
                away = True
            self._clear_up()
            self._stop.wait(pause)

    # Pods, as the watchers bring them

    def replace_pods(self, machine: str, pods: list[Object]) -> None:
        """Take the complete list of a machine's pods."""
        present = {pod["metadata"]["uid"] for pod in pods}
        for pod in pods:
            self.take_pod(pod)
        with self._lock:
            missing = [uid for uid, where in self._placed.items() if where == machine and uid not in present]
        for uid in missing:
            self._lose(uid)
        with self._lock:
            self._listed.add(machine)
            complete = self._listed >= {each.name for each in self._settings.machines if each.kind == "process"}
            first = complete and not self._swept
            self._swept |= complete
        if first:
            threading.Thread(target=self._sweep, name="sweep", daemon=True).start()

    def take_pod(self, pod: Object) -> None:
        """Take a new or changed pod of one of our machines."""
        uid = pod["metadata"]["uid"]
        with self._lock:
            self._placed[uid] = pod["spec"]["nodeName"]
            self._removals.pop(uid, None)
            worker = self._workers.get(uid)
            if worker is not None:
                worker.offer(pod)
            elif self._needs_worker(pod):
                self._employ(pod)

    def _needs_worker(self, pod: Object) -> bool:
        saved = read_json(self._settings.pods / pod["metadata"]["uid"] / "_state.json")
        if self._stopping is not None and saved is None:
            return False
        if pod["metadata"].get("deletionTimestamp"):
            return True
        terminal = (pod.get("status") or {}).get("phase") in TERMINAL
        return not (saved or {}).get("done", terminal)

    def _employ(self, pod: Object) -> None:
        worker = PodWorker(pod, self._around, self._worker_finished)
        self._workers[worker.uid] = worker
        if self._stopping is not None:
            worker.shut_down(self._stopping)
        worker.start()

    def lose_pod(self, pod: Object) -> None:
        """Learn that a pod was deleted."""
        self._lose(pod["metadata"]["uid"])

    def _lose(self, uid: str) -> None:
        with self._lock:
            self._placed.pop(uid, None)
            self._removals[uid] = time.monotonic() + REMOVAL_SECONDS
            worker = self._workers.get(uid)
        if worker is not None:
            worker.lose()

    def _worker_finished(self, worker: PodWorker) -> None:
        """Let a worker go; if the pod has changed after its last look, such as by a deletion, another one takes over."""
        with self._lock:
            self._workers.pop(worker.uid, None)
            missed = worker.missed()
            if missed is not None and worker.uid in self._placed and self._needs_worker(missed):
                self._employ(missed)

    # Files and processes of pods that are no more

    def _clear_up(self) -> None:
        with self._lock:
            due = [uid for uid, when in self._removals.items() if time.monotonic() > when and uid not in self._workers]
            for uid in due:
                del self._removals[uid]
        for uid in due:
            PodFolder(self._settings, self._short, uid).remove()

    def _sweep(self) -> None:
        """End the processes of pods that the API server does not know, and remove their files."""
        for uid in pod_folders(self._settings):
            with self._lock:
                if uid in self._placed or uid in self._workers:
                    continue
            folder = PodFolder(self._settings, self._short, uid)
            saved = folder.load_state() or {}
            states = [from_json(record) for record in saved.get("containers") or []]
            alive = [state.process for state in states if state.phase is Phase.RUNNING]
            if not saved.get("done"):
                log.info("pod %s is not known to the API server any more: ending its processes", uid)
                for process in alive or [None]:
                    end_tagged(POD_TAG, uid, process)
            folder.remove()
        for short in self._short.iterdir():
            if short.name != "bin" and not any(
                uid.replace("-", "").startswith(short.name) for uid in pod_folders(self._settings)
            ):
                remove(short)

    # Start and end

    def run(self) -> int:
        """Run until `stop` is called; return 0 when every pod has ended, 1 when one has not."""
        watchers = [Watcher(self._api, each.name, self) for each in self._settings.machines if each.kind == "process"]
        for watcher in watchers:
            watcher.start()
        self._keep_machines()
        code = self._end_pods()
        for watcher in watchers:
            watcher.stop()
        self._recorder.close(2.0)
        with contextlib.suppress(OSError):
            remove(self._short / "bin")
            self._short.rmdir()
        self._lock_file.close()
        return code

    def stop(self) -> None:
        """End as a machine that is shut down does; called again, without further patience. Safe in a signal handler."""
        now = time.time()
        self._stopping = now + self._settings.shutdown_grace if self._stopping is None else now
        self._stop.set()

    def _end_pods(self) -> int:
        with self._lock:
            workers = list(self._workers.values())
        log.info("stopping: ending %d pods", len(workers))
        for machine in self._settings.machines:
            with contextlib.suppress(ApiError, Unavailable):
                self._heartbeat(machine, False, "node is shutting down")
        until = time.time() + self._settings.shutdown_grace + END_SECONDS
        while time.time() < until:
            with self._lock:
                workers = list(self._workers.values())
            if not workers:
                return 0
            for worker in workers:
                worker.shut_down(self._stopping or 0.0)
            workers[0].join(0.2)
        log.error("%d pods did not end: %s", len(workers), ", ".join(worker.name for worker in workers))
        return 1


def _take(path: Path) -> IO[str]:
    """Return the lock file, held. Raises ConfigurationError when another agent holds it."""
    file = open(path, "a", encoding="utf-8")  # noqa: SIM115  held until the end
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ConfigurationError(f"--data: another node agent runs in {path.parent.parent}; stop it first") from error
    os.set_inheritable(file.fileno(), False)
    return file
