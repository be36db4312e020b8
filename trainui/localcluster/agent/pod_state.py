"""What of a pod survives the agent: its containers, when it began, and why it was ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trainui.localcluster.agent import launcher
from trainui.localcluster.agent.endings import lost
from trainui.localcluster.agent.folders import PodFolder
from trainui.localcluster.agent.lifecycle import ended
from trainui.localcluster.agent.model import Container, Phase, containers_of, from_json, moment, stamp, to_json

VERSION = 1


@dataclass
class PodState:
    """One pod's state. `done` says that its last status has been written and nothing is left to do but its removal."""

    containers: dict[str, Container]
    start_time: float
    ending: dict[str, str] = field(default_factory=dict)
    done: bool = False
    devices: dict[str, list[int]] = field(default_factory=dict)
    pod: Mapping[str, str] = field(default_factory=dict)  # namespace and name, for those who read the file

    def save(self, folder: PodFolder) -> None:
        """Keep the state on disk."""
        folder.save_state(
            {
                "version": VERSION,
                "pod": dict(self.pod),
                "startTime": self.start_time,
                "ending": self.ending,
                "done": self.done,
                "devices": self.devices,
                "containers": [to_json(container) for container in self.containers.values()],
            }
        )


def load(pod: Mapping[str, Any], folder: PodFolder, now: float, base: float) -> PodState:
    """Return the state of a pod as an agent before us left it, or a fresh one."""
    names = {"namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"]}
    saved = folder.load_state()
    if saved is None:
        containers = {name: _forgotten(c, pod, now, base) for name, c in containers_of(pod).items()}
        began = moment(str((pod.get("status") or {}).get("startTime") or "")) or now
        return PodState(containers, began, pod=names)
    known = {record["name"]: from_json(record) for record in saved["containers"]}
    containers = {name: known.get(name, fresh) for name, fresh in containers_of(pod).items()}
    containers = {name: _adopted(container, folder) for name, container in containers.items()}
    return PodState(
        containers, float(saved["startTime"]), dict(saved.get("ending") or {}), bool(saved.get("done")), names
    )


def _adopted(container: Container, folder: PodFolder) -> Container:
    """Return a container whose start was not recorded to the end: with the shim that claimed it, or to be started."""
    if container.phase is Phase.RUNNING:
        return replace(container, term_sent=False, kill_sent=False)  # signals are cheap to repeat
    if container.phase is not Phase.STARTING:
        return container
    started = launcher.claimed(folder, container.name, container.restarts)
    if started is None:
        return replace(container, phase=Phase.WAITING)
    began = moment(started.started_at)
    return replace(
        container,
        phase=Phase.RUNNING,
        process=started.process,
        started_at=stamp(began),
        started_time=began,
        started=False,
        ready=False,
    )


def _forgotten(container: Container, pod: Mapping[str, Any], now: float, base: float) -> Container:
    """Return a container of which we have no record: lost when the API server says that it ran."""
    status = pod.get("status") or {}
    for entry in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]:
        state = entry.get("state") or {}
        if entry.get("name") == container.name and ("running" in state or "terminated" in state):
            ran = replace(container, restarts=int(entry.get("restartCount") or 0), phase=Phase.RUNNING)
            return ended(ran, lost(ran, now), base)
    return container
