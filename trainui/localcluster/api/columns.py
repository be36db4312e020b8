"""What `kubectl get` shows of each kind: the columns and how their cells come from an object."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trainui.localcluster.objects import parse_timestamp
from trainui.localcluster.resources import Obj

Cell = Callable[[Obj, float], Any]
"""(object, Unix time now) -> what the cell holds."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `wide` ones are shown by `-o wide` only."""

    name: str
    cell: Cell
    wide: bool = False
    type: str = "string"

    def definition(self) -> dict[str, Any]:
        """Return the columnDefinition of a Table."""
        form = "name" if self.name == "Name" else ""
        return {
            "name": self.name,
            "type": self.type,
            "format": form,
            "description": self.name,
            "priority": int(self.wide),
        }


def human_duration(seconds: float) -> str:
    """Return a span of time as kubectl writes it: `37s`, `4m12s`, `3h`, `5d`."""
    if seconds < 0:
        return "0s" if seconds > -1 else "<invalid>"
    total = int(seconds)
    minutes, hours, days, years = total // 60, total // 3600, total // 86400, total // 31536000
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if years < 2:
        return f"{days}d"
    if years < 8:
        return f"{years}y{days % 365}d" if days % 365 else f"{years}y"
    return f"{years}y"


def at(obj: Any, path: str, default: Any = None) -> Any:
    """Return the value at a dotted path of plain names."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return default if obj is None else obj


def since(path: str) -> Cell:
    """Return a cell with the time that went by since a timestamp."""

    def cell(obj: Obj, now: float) -> str:
        stamp = at(obj, path)
        try:
            return human_duration(now - parse_timestamp(stamp)) if stamp else "<unknown>"
        except ValueError:
            return "<invalid>"

    return cell


def plain(path: str, default: Any = "<none>") -> Cell:
    """Return a cell with the value at a path."""
    return lambda obj, now: at(obj, path, default)


NAME = Column("Name", lambda obj, now: obj["metadata"]["name"])
AGE = Column("Age", since("metadata.creationTimestamp"))


def _statuses(pod: Obj, name: str = "containerStatuses") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = at(pod, f"status.{name}", [])
    return found


def pod_ready(pod: Obj, now: float) -> str:
    """Return how many containers are ready, of how many."""
    return f"{sum(bool(s.get('ready')) for s in _statuses(pod))}/{len(at(pod, 'spec.containers', []))}"


def pod_status(pod: Obj, now: float) -> str:
    """Return the word for a pod's state: its phase, or what a container waits for or ended with."""
    reason = str(at(pod, "status.reason") or at(pod, "status.phase", "Unknown"))
    for condition in at(pod, "status.conditions", []):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    waiting_init = _init_status(pod)
    if waiting_init:
        reason = waiting_init
    else:
        for status in _statuses(pod):
            reason = _state_word(status.get("state") or {}) or reason
    if pod["metadata"].get("deletionTimestamp"):
        reason = "Terminating" if at(pod, "status.phase") not in ("Succeeded", "Failed") else reason
    return reason


def _state_word(state: dict[str, Any]) -> str:
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    if ended:
        if ended.get("reason"):
            return str(ended["reason"])
        return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"
    return ""


def _init_status(pod: Obj) -> str:
    specs = {container["name"]: container for container in at(pod, "spec.initContainers", [])}
    for index, status in enumerate(_statuses(pod, "initContainerStatuses")):
        state = status.get("state") or {}
        if (state.get("terminated") or {"exitCode": 1}).get("exitCode") == 0:
            continue
        if specs.get(status.get("name"), {}).get("restartPolicy") == "Always" and status.get("started"):
            continue
        word = _state_word(state)
        if word and word != "PodInitializing":
            return f"Init:{word}"
        return f"Init:{index}/{len(specs)}"
    return ""


def pod_restarts(pod: Obj, now: float) -> str:
    """Return how often containers started anew, and when last."""
    statuses = _statuses(pod) or []
    count = sum(status.get("restartCount", 0) for status in statuses)
    ends = [at(status, "lastState.terminated.finishedAt") for status in statuses]
    stamps = [parse_timestamp(end) for end in ends if end]
    return f"{count} ({human_duration(now - max(stamps))} ago)" if count and stamps else str(count)


def job_status(job: Obj, now: float) -> str:
    """Return the word for a Job's state."""
    kinds = {c["type"] for c in at(job, "status.conditions", []) if c.get("status") == "True"}
    for kind, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if kind in kinds:
            return word
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in kinds:
            return kind
    return "Running"


def job_completions(job: Obj, now: float) -> str:
    """Return how many pods succeeded, of how many."""
    done, wanted = at(job, "status.succeeded", 0), at(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = at(job, "spec.parallelism", 1)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def job_duration(job: Obj, now: float) -> str:
    """Return how long a Job ran or runs."""
    start, end = at(job, "status.startTime"), at(job, "status.completionTime")
    if not start:
        return ""
    return human_duration((parse_timestamp(end) if end else now) - parse_timestamp(start))


def node_status(node: Obj, now: float) -> str:
    """Return whether a machine is ready, and takes new pods."""
    ready = [c for c in at(node, "status.conditions", []) if c.get("type") == "Ready"]
    word = "Unknown"
    if ready:
        word = "Ready" if ready[0].get("status") == "True" else "NotReady"
    return word + (",SchedulingDisabled" if at(node, "spec.unschedulable") else "")


def node_roles(node: Obj, now: float) -> str:
    """Return the roles that labels give a machine."""
    prefix = "node-role.kubernetes.io/"
    roles = [label[len(prefix) :] for label in at(node, "metadata.labels", {}) if label.startswith(prefix)]
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def true_condition(obj: Obj, now: float) -> str:
    """Return the type of the last condition that holds.

    The TrainJob's CRD shows the last one whether it holds or not, so that a resumed job reads Suspended (kubeflow/trainer#3666).
    """
    held = [c.get("type", "") for c in at(obj, "status.conditions", []) if c.get("status") == "True"]
    return str(held[-1]) if held else ""
