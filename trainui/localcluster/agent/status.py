"""The status of a pod as the kubelet would write it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from trainui.localcluster.agent.lifecycle import remaining_back_off, restart_wanted
from trainui.localcluster.agent.model import Container, Containers, Exit, Kind, Phase, container_spec

Object = Mapping[str, Any]
LOOPBACK = "127.0.0.1"
OUR_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "DisruptionTarget")


def pod_status(
    pod: Object,
    containers: Containers,
    start_time: str,
    now_text: str,
    now: float,
    ending: Mapping[str, str] | None = None,
    terminal: bool = False,
    disruption: str = "",
) -> dict[str, Any]:
    """Return the whole status of a pod.

    `ending` has the reason and message of a pod that was ended from outside, which is then Failed once `terminal`;
    `terminal` says that nothing runs and nothing will; `disruption` is the message of the condition DisruptionTarget.
    """
    phase = pod_phase(pod, containers, terminal, bool(ending and ending.get("reason")))
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": conditions(pod, containers, phase, now_text, disruption),
        "hostIP": LOOPBACK,
        "hostIPs": [{"ip": LOOPBACK}],
        "podIP": LOOPBACK,
        "podIPs": [{"ip": LOOPBACK}],
        "startTime": start_time,
        "qosClass": qos_class(pod),
        "containerStatuses": _statuses(pod, containers, (Kind.APP,), now, terminal),
    }
    early = _statuses(pod, containers, (Kind.INIT, Kind.SIDECAR), now, terminal)
    if early:
        status["initContainerStatuses"] = early
    if terminal and ending:
        status |= {key: value for key, value in ending.items() if value}
    return status


def pod_phase(pod: Object, containers: Containers, terminal: bool, ended_from_outside: bool) -> str:
    """Return the pod's phase. Rule: kubelet's getPhase."""
    policy = pod["spec"].get("restartPolicy") or "Always"
    own = [container for container in containers.values() if container.kind is Kind.APP]
    if terminal:
        good = bool(own) and all(container.succeeded for container in own) and not ended_from_outside
        return "Succeeded" if good else "Failed"
    if not initialized(containers) and all(container.phase is Phase.WAITING for container in own):
        return "Pending"
    if any(container.phase in (Phase.WAITING, Phase.STARTING) and container.last_exit is None for container in own):
        return "Pending"
    if any(container.alive or restart_wanted(container, policy) for container in own):
        return "Running"
    return "Running"  # ended, while sidecars wind down: terminal comes next


def initialized(containers: Containers) -> bool:
    """Tell whether every init container is through and every sidecar has started."""
    return not _incomplete(containers)


def _incomplete(containers: Containers) -> list[str]:
    return [
        container.name
        for container in containers.values()
        if (container.kind is Kind.INIT and not container.succeeded)
        or (container.kind is Kind.SIDECAR and not container.started and container.exit is None)
    ]


def conditions(
    pod: Object, containers: Containers, phase: str, now_text: str, disruption: str = ""
) -> list[dict[str, Any]]:
    """Return the pod's conditions; those of others (PodScheduled) stay, transition times are kept while nothing changes."""
    before: Sequence[Object] = (pod.get("status") or {}).get("conditions") or []
    result = [dict(condition) for condition in before if condition["type"] not in OUR_CONDITIONS]
    wanted = [
        {"type": "PodReadyToStartContainers", "status": "False" if phase in ("Succeeded", "Failed") else "True"},
        _initialized_condition(containers, phase),
        _ready_condition("Ready", containers, phase),
        _ready_condition("ContainersReady", containers, phase),
    ]
    if disruption:
        wanted.append(
            {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": disruption}
        )
    for condition in wanted:
        old = next((each for each in before if each["type"] == condition["type"]), None)
        same = old is not None and old.get("status") == condition["status"]
        condition["lastTransitionTime"] = (
            old["lastTransitionTime"] if same and old and old.get("lastTransitionTime") else now_text
        )
        result.append(condition)
    return result


def _initialized_condition(containers: Containers, phase: str) -> dict[str, Any]:
    if phase == "Succeeded":
        return {"type": "Initialized", "status": "True", "reason": "PodCompleted"}
    missing = _incomplete(containers)
    if not missing:
        return {"type": "Initialized", "status": "True"}
    message = f"containers with incomplete status: [{' '.join(missing)}]"
    return {"type": "Initialized", "status": "False", "reason": "ContainersNotInitialized", "message": message}


def _ready_condition(kind: str, containers: Containers, phase: str) -> dict[str, Any]:
    if phase in ("Succeeded", "Failed"):
        return {"type": kind, "status": "False", "reason": "PodCompleted" if phase == "Succeeded" else "PodFailed"}
    unready = [c.name for c in containers.values() if c.kind is not Kind.INIT and not c.ready]
    if not unready:
        return {"type": kind, "status": "True"}
    message = f"containers with unready status: [{' '.join(unready)}]"
    return {"type": kind, "status": "False", "reason": "ContainersNotReady", "message": message}


def _statuses(
    pod: Object, containers: Containers, kinds: Sequence[Kind], now: float, terminal: bool
) -> list[dict[str, Any]]:
    return [
        container_status(pod, container, containers, now, terminal)
        for container in containers.values()
        if container.kind in kinds
    ]


def container_status(
    pod: Object, container: Container, containers: Containers, now: float, terminal: bool
) -> dict[str, Any]:
    """Return one entry of containerStatuses."""
    spec = container_spec(pod, container.name)
    image = spec.get("image") or ""
    ran = container.phase in (Phase.RUNNING, Phase.EXITED) or container.last_exit is not None
    state, last = _state(pod, container, containers, now, terminal)
    return {
        "name": container.name,
        "image": image,
        "imageID": f"local://{image}" if image and ran else "",
        "containerID": container_id(pod, container) if ran else "",
        "restartCount": container.restarts,
        "ready": container.succeeded if container.kind is Kind.INIT else container.ready,
        "started": container.phase is Phase.RUNNING and container.started,
        "state": state,
        "lastState": {"terminated": terminated_state(pod, container, last)} if last else {},
    }


def container_id(pod: Object, container: Container) -> str:
    """Return the id of a container's present attempt."""
    return f"trainui://{pod['metadata']['uid']}/{container.name}/{container.restarts}"


def _state(
    pod: Object, container: Container, containers: Containers, now: float, terminal: bool
) -> tuple[dict[str, Any], Exit | None]:
    """Return the present state and the exit that lastState shows."""
    if container.phase is Phase.RUNNING:
        return {"running": {"startedAt": container.started_at}}, container.last_exit
    if container.phase is Phase.EXITED and container.exit is not None:
        policy = pod["spec"].get("restartPolicy") or "Always"
        wait = container.back_off if remaining_back_off(container, now) > 0 else 0
        if wait and not terminal and restart_wanted(container, policy):
            return {
                "waiting": {"reason": "CrashLoopBackOff", "message": back_off_message(pod, container)}
            }, container.exit
        return {"terminated": terminated_state(pod, container, container.exit)}, container.last_exit
    reason = container.waiting_reason or _default_reason(container, containers)
    state = {"reason": reason}
    if container.waiting_message:
        state["message"] = container.waiting_message
    return {"waiting": state}, container.last_exit


def _default_reason(container: Container, containers: Containers) -> str:
    early = any(each.kind is not Kind.APP for each in containers.values())
    return (
        "PodInitializing"
        if early and container.kind is Kind.APP
        else "ContainerCreating"
        if not early
        else "PodInitializing"
    )


def terminated_state(pod: Object, container: Container, result: Exit) -> dict[str, Any]:
    """Return a terminated state."""
    state: dict[str, Any] = {
        "exitCode": result.code,
        "reason": result.reason,
        "startedAt": result.started_at or None,
        "finishedAt": result.finished_at or None,
        "containerID": container_id(pod, container),
    }
    if result.signal:
        state["signal"] = result.signal
    if result.message:
        state["message"] = result.message
    return state


def back_off_message(pod: Object, container: Container) -> str:
    """Return the kubelet's words for a container that waits to be restarted."""
    meta = pod["metadata"]
    seconds = int(container.back_off)
    wait = f"{seconds // 60}m{seconds % 60}s" if seconds >= 60 else f"{seconds}s"
    return f"back-off {wait} restarting failed container={container.name} pod={meta['name']}_{meta['namespace']}({meta['uid']})"


def qos_class(pod: Object) -> str:
    """Return the pod's quality of service class."""
    everyone = [*(pod["spec"].get("containers") or []), *(pod["spec"].get("initContainers") or [])]
    guaranteed, burstable = True, False
    for container in everyone:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            burstable |= name in limits or name in requests
            guaranteed &= name in limits and str(requests.get(name, limits[name])) == str(limits[name])
    if guaranteed and everyone:
        return "Guaranteed"
    return "Burstable" if burstable else "BestEffort"
