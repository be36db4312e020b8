"""A pod as the state needs it: whose it is, where it is placed, and how far its containers are."""

from dataclasses import dataclass
from datetime import datetime

from jobs.state.lazy import lazy
from jobs.state.reading import Object, condition, dig, holds, mapping, moment, number, objects, text
from jobs.state.times import newest, oldest

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

# Reasons of the DisruptionTarget condition that mean: the machine is gone, not the pod is at fault.
MACHINE_GONE = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
PREEMPTION = "PreemptionByScheduler"
# Reasons of a pod that ended because its machine, or trainui on it, was shut down.
SHUTDOWN = frozenset({"NodeShutdown", "Shutdown", "Terminated"})


@dataclass(frozen=True)
class Ended:
    """How a container ended."""

    exit_code: int | None
    reason: str
    message: str
    started: datetime | None
    finished: datetime | None

    @property
    def bad(self) -> bool:
        """Whether it ended with an error."""
        return self.exit_code not in (0, None) or self.reason not in ("", "Completed")


@dataclass(frozen=True)
class Container:
    """One container of a pod; `state` is waiting, running, terminated or empty when nothing is known yet."""

    name: str
    image: str
    ready: bool
    restarts: int
    state: str
    reason: str
    message: str
    started: datetime | None
    ended: Ended | None
    last: Ended | None

    @property
    def crash_loops(self) -> bool:
        """Whether the kubelet waits longer and longer before it starts the container again."""
        return self.state == "waiting" and self.reason == "CrashLoopBackOff"


@dataclass(frozen=True)
class Pod:
    """A pod of the job, read once; everything the decisions ask is a property."""

    raw: Object

    @lazy
    def name(self) -> str:
        return text(self.raw, "metadata", "name")

    @lazy
    def uid(self) -> str:
        return text(self.raw, "metadata", "uid")

    @lazy
    def _labels(self) -> Object:
        return mapping(self.raw, "metadata", "labels")

    @lazy
    def replicated_job(self) -> str:
        return text(self._labels.get(REPLICATED_JOB))

    @lazy
    def job_index(self) -> int:
        return number(self._labels.get(JOB_INDEX))

    @lazy
    def index(self) -> int:
        annotations = mapping(self.raw, "metadata", "annotations")
        return number(self._labels.get(COMPLETION_INDEX, annotations.get(COMPLETION_INDEX)))

    @lazy
    def attempt(self) -> int | None:
        return number(self._labels[ATTEMPT]) if ATTEMPT in self._labels else None

    @lazy
    def created(self) -> datetime | None:
        return oldest(moment(self.raw, "metadata", "creationTimestamp"), moment(self.raw, "status", "startTime"))

    @lazy
    def deleting(self) -> datetime | None:
        """When its grace ends, if it is being deleted."""
        return moment(self.raw, "metadata", "deletionTimestamp")

    @lazy
    def terminating(self) -> bool:
        return bool(dig(self.raw, "metadata", "deletionTimestamp"))

    @lazy
    def machine(self) -> str | None:
        return text(self.raw, "spec", "nodeName") or None

    @lazy
    def scheduler(self) -> str:
        return text(self.raw, "spec", "schedulerName") or "default-scheduler"

    @lazy
    def gated(self) -> bool:
        return bool(dig(self.raw, "spec", "schedulingGates")) and not self.machine

    @lazy
    def phase(self) -> str:
        return text(self.raw, "status", "phase") or "Pending"

    @lazy
    def reason(self) -> str:
        return text(self.raw, "status", "reason")

    @lazy
    def message(self) -> str:
        return text(self.raw, "status", "message")

    @lazy
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @lazy
    def failed(self) -> bool:
        return self.phase == "Failed"

    @lazy
    def over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @lazy
    def placed(self) -> bool:
        """Whether it has a machine, or had one until it finished well."""
        return not self.failed and (self.machine is not None or self.succeeded)

    @lazy
    def was_placed(self) -> bool:
        return self.machine is not None or self.over

    @lazy
    def containers(self) -> tuple[Container, ...]:
        return tuple(_container(item) for item in objects(self.raw, "status", "containerStatuses"))

    @lazy
    def inits(self) -> tuple[Container, ...]:
        return tuple(_container(item) for item in objects(self.raw, "status", "initContainerStatuses"))

    @lazy
    def running(self) -> bool:
        """Whether it runs: not only placed, every container has been started and none waits."""
        states = [container.state for container in self.containers]
        return (
            self.phase == "Running"
            and not self.terminating
            and bool(states)
            and "waiting" not in states
            and "" not in states
        )

    @lazy
    def ready(self) -> bool:
        return self.running and all(container.ready for container in self.containers) and not self.silent

    @lazy
    def silent(self) -> bool:
        """Whether the cluster says NotReady although every container was ready when its machine last reported."""
        ready = condition(self.raw, "Ready")
        reported = bool(self.containers) and all(container.ready for container in self.containers)
        return self.phase == "Unknown" or (
            self.phase == "Running" and reported and ready.get("status") in ("False", "Unknown")
        )

    @lazy
    def disruption(self) -> Object:
        """Its DisruptionTarget condition if that is True, else an empty mapping."""
        found = condition(self.raw, "DisruptionTarget")
        return found if holds(found) else {}

    @property
    def preempted(self) -> bool:
        return self.disruption.get("reason") == PREEMPTION

    @property
    def machine_gone(self) -> bool:
        return self.disruption.get("reason") in MACHINE_GONE or self.reason == "NodeLost"

    @lazy
    def unplaced(self) -> Object:
        """Its PodScheduled condition if that is False, else an empty mapping."""
        found = condition(self.raw, "PodScheduled")
        return found if found.get("status") == "False" else {}

    @lazy
    def ended(self) -> tuple[tuple[Container, Ended], ...]:
        """Its containers that ended with an error: now, or in the run before the one that goes on now."""
        found: list[tuple[Container, Ended]] = []
        for container in (*self.inits, *self.containers):
            how = container.ended or container.last
            if how is not None and how.bad:
                found.append((container, how))
        return tuple(found)

    @lazy
    def started(self) -> datetime | None:
        return oldest(*(container.started for container in self.containers))

    @lazy
    def finished(self) -> datetime | None:
        return newest(*(c.ended.finished for c in self.containers if c.ended)) if self.over else None

    @lazy
    def restarts(self) -> int:
        return sum(container.restarts for container in self.containers)


def _container(status: Object) -> Container:
    states = mapping(status, "state")
    state = next((name for name in ("running", "terminated", "waiting") if isinstance(states.get(name), dict)), "")
    detail = mapping(states, state) if state else {}
    ended = _ended(mapping(states, "terminated")) if state == "terminated" else None
    before = mapping(status, "lastState", "terminated")
    return Container(
        name=text(status, "name"),
        image=text(status, "image"),
        ready=status.get("ready") is True,
        restarts=number(status, "restartCount"),
        state=state,
        reason=text(detail, "reason"),
        message=text(detail, "message"),
        started=moment(detail, "startedAt"),
        ended=ended,
        last=_ended(before) if before else None,
    )


def _ended(detail: Object) -> Ended:
    code = detail.get("exitCode")
    return Ended(
        exit_code=code if isinstance(code, int) else None,
        reason=text(detail, "reason"),
        message=text(detail, "message"),
        started=moment(detail, "startedAt"),
        finished=moment(detail, "finishedAt"),
    )


def belongs(raw: Object, namespace: str, job: str, jobset_uid: str) -> bool:
    """Return whether a pod is one of the job: by namespace and label, never by its name (`llama` is no `llama-2`)."""
    labels = mapping(raw, "metadata", "labels")
    if text(raw, "metadata", "namespace") != namespace or labels.get(JOBSET_NAME) != job:
        return False
    owner = text(labels.get(JOBSET_UID))
    return not owner or not jobset_uid or owner == jobset_uid
