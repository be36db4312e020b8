"""What the agent knows of a pod's containers: plain values that are stored on disk and decided upon. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What a container is to its pod."""

    INIT = "init"
    SIDECAR = "sidecar"  # an init container with restartPolicy Always
    APP = "app"


class Phase(StrEnum):
    """Where a container's present attempt is."""

    WAITING = "waiting"
    STARTING = "starting"  # written before the process exists, so that an attempt is never run twice
    RUNNING = "running"
    EXITED = "exited"


@dataclass(frozen=True)
class Process:
    """A process that can be told from a later one with the same id."""

    pid: int
    start: str


@dataclass(frozen=True)
class Exit:
    """How an attempt ended. Times are RFC 3339 with whole seconds, or '' when nothing ever ran."""

    code: int
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    finished: float = 0.0  # the same moment as seconds, for back-off
    lasted: float = 0.0


@dataclass(frozen=True)
class Container:
    """The state of one container over all its attempts. `restarts` numbers the attempt and its log file."""

    name: str
    kind: Kind
    restarts: int = 0
    phase: Phase = Phase.WAITING
    waiting_reason: str = ""
    waiting_message: str = ""
    process: Process | None = None
    started_at: str = ""
    started_time: float = 0.0
    exit: Exit | None = None
    last_exit: Exit | None = None
    back_off: float = 0.0  # seconds the next restart waits
    crashes: int = 0  # restarts since the last long run
    ready: bool = False
    started: bool = False
    term_sent: bool = False
    kill_sent: bool = False

    @property
    def alive(self) -> bool:
        """Whether a process may exist for it."""
        return self.phase in (Phase.STARTING, Phase.RUNNING)

    @property
    def succeeded(self) -> bool:
        """Whether its present attempt ended well."""
        return self.phase is Phase.EXITED and self.exit is not None and self.exit.code == 0


Containers = Mapping[str, Container]  # in the order of the spec: init containers first


def containers_of(pod: Mapping[str, Any]) -> dict[str, Container]:
    """Return the untouched state of every container of a pod's spec."""
    states: dict[str, Container] = {}
    for spec in pod["spec"].get("initContainers") or []:
        kind = Kind.SIDECAR if spec.get("restartPolicy") == "Always" else Kind.INIT
        states[spec["name"]] = Container(spec["name"], kind)
    for spec in pod["spec"].get("containers") or []:
        states[spec["name"]] = Container(spec["name"], Kind.APP)
    return states


def container_spec(pod: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the spec of a container by name."""
    everyone = [*(pod["spec"].get("initContainers") or []), *(pod["spec"].get("containers") or [])]
    return next(spec for spec in everyone if spec["name"] == name)


def to_json(container: Container) -> dict[str, Any]:
    """Return a container's state as JSON values."""
    return asdict(container)


def from_json(record: Mapping[str, Any]) -> Container:
    """Return the state that `to_json` made; unknown keys of a later version are left out."""
    known = {key: value for key, value in record.items() if key in Container.__dataclass_fields__}
    container = Container(**{**known, "kind": Kind(record["kind"]), "phase": Phase(record["phase"])})
    process, last, ended = record.get("process"), record.get("last_exit"), record.get("exit")
    return replace(
        container,
        process=Process(**process) if process else None,
        exit=Exit(**ended) if ended else None,
        last_exit=Exit(**last) if last else None,
    )


def stamp(moment: float) -> str:
    """Return seconds since the epoch as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> float:
    """Return the seconds since the epoch of an RFC 3339 time with up to nine digits; 0.0 for ''."""
    if not text:
        return 0.0
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp()
    return seconds + (float(f"0.{fraction}") if fraction else 0.0)
