"""Every state of the gang panel, made by the production core from objects as a cluster shows them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from jobs.models import MirrorObject, TrainJob, TrainJobDetail
from jobs.state import observe
from jobs.state.model import JobState
from jobs.state.times import parse, stamp
from tests.unit.state import objects as some
from tests.unit.web_job.conftest import World
from trainui.cluster import kinds

NODES = 8
GPU = "nvidia.com/gpu"
SHORT = "0/8 nodes are available: 5 Insufficient nvidia.com/gpu, 3 node(s) had untolerated taint {pool: a100}."
Snapshot = dict[str, Any]


def record(nodes: int = NODES, **parts: Any) -> Snapshot:
    gang = some.gang(min_member=nodes)
    known = {"expected": [some.expected("node", nodes)], "gang": gang, "accepted_at": "2026-03-01T11:50:00Z"}
    return some.record(**(known | parts))


def scene(pods: list[Any], nodes: int = NODES, **parts: Any) -> Snapshot:
    return some.snapshot(
        record=record(nodes, **parts.pop("record", {})), pods=pods, podgroups=[some.pod_group(nodes)], **parts
    )


def running(count: int, first: int = 0) -> list[Any]:
    scheduled = [some.condition("PodScheduled", at="2026-03-01T11:55:20Z")]
    return [some.running_pod(n, machine=f"gpu-{n}", conditions=scheduled) for n in range(first, first + count)]


def waiting_gang() -> Snapshot:
    first = some.unplaced_pod(0, message=SHORT)
    return scene(
        [
            first,
            *(
                some.unplaced_pod(n, message="minCount (8) cannot be satisfied: 3 scheduled, 4 remaining")
                for n in range(1, NODES)
            ),
        ]
    )


def queued_by_kueue() -> Snapshot:
    message = "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor h100, 16 more needed"
    workload = {
        "metadata": {"name": "w", "ownerReferences": [{"uid": some.UID}], "creationTimestamp": some.EARLIER},
        "spec": {"queueName": "research", "active": True},
        "status": {"conditions": [some.condition("QuotaReserved", "False", "Pending", message)]},
    }
    labels = {"kueue.x-k8s.io/queue-name": "research"}
    return scene([], trainjob=some.trainjob(suspend=True, labels=labels), workloads=[workload])


def pulling() -> Snapshot:
    scheduled = [some.condition("PodScheduled", at="2026-03-01T11:55:20Z")]
    pods = [
        some.pod(n, machine=f"gpu-{n}", conditions=scheduled, containers=[some.waiting("ContainerCreating")])
        for n in range(NODES)
    ]
    pods[3]["status"]["containerStatuses"] = [
        some.waiting("ImagePullBackOff", 'Back-off pulling image "registry.example/train:7"')
    ]
    return scene(pods)


def started() -> Snapshot:
    pods = running(NODES)
    events = [
        some.event("Pulled", "Successfully pulled image", "Pod", pod["metadata"]["name"], "2026-03-01T11:55:50Z")
        for pod in pods
    ]
    return scene(pods, events=events)


def lost() -> Snapshot:
    gone = some.condition(
        "DisruptionTarget", reason="DeletionByTaintManager", message="Taint manager: deleting due to NoExecute taint"
    )
    pod = some.running_pod(5, machine="gpu-5", deleting="2026-03-01T11:57:00Z", conditions=[gone])
    return scene([*running(5), pod, *running(2, 6)], record={"scheduled_at": "2026-03-01T11:55:20Z"})


def preempted() -> Snapshot:
    taken = some.condition(
        "DisruptionTarget",
        reason="PreemptionByScheduler",
        message="default-scheduler: preempting to accommodate a higher priority podgroup",
    )
    pods = [some.failed_pod(n, 143, machine=f"gpu-{n}", conditions=[taken]) for n in range(NODES)]
    return scene(pods, record={"scheduled_at": "2026-03-01T11:55:20Z"})


def no_pod_group() -> Snapshot:
    pods = [some.pod(n, machine=None) for n in range(NODES)]
    return scene(pods) | {"podgroups": []}


def failed() -> Snapshot:
    pods = [some.failed_pod(5, 137, machine="gpu-5", exit_reason="OOMKilled")]  # the others went with the JobSet
    done = some.condition("Failed", reason="FailedJobs", message="jobset failed due to one or more job failures")
    return scene(pods, jobset=some.jobset(conditions=[done]), trainjob=some.trainjob(conditions=[done]))


def ten_thousand() -> Snapshot:
    total = 10_000
    pods = running(total)
    for lost_one in (17, 4_000, 4_001):
        pods[lost_one]["status"]["containerStatuses"] = [some.waiting("ContainerCreating")]
        pods[lost_one]["status"]["phase"] = "Pending"
    return scene(pods, nodes=total)


SCENES: dict[str, tuple[Callable[[], Snapshot], str, str]] = {  # what is seen, phase, words of the panel
    "waiting": (waiting_gang, "Waiting", "5 of 8 machines have too little nvidia.com/gpu free"),
    "queued": (queued_by_kueue, "Queued", "16 more nvidia.com/gpu needed in flavor h100"),
    "pulling": (pulling, "Starting", "Pulling images"),
    "running": (started, "Running", "8 running"),
    "lost": (lost, "Degraded", "kubectl taint node gpu-5 node.kubernetes.io/out-of-service=:NoExecute"),
    "preempted": (preempted, "Preempted", "preempted"),
    "misconfigured": (no_pod_group, "Misconfigured", "The pod group train"),
    "failed": (failed, "Failed", "1 failed"),
    "large": (ten_thousand, "Starting", "9997 running"),
}  # fmt: skip


def job_in(world: World, name: str) -> TrainJob:
    """Store a job in the state of a scene, its times moved to now; one that waits has others ahead and machines too small."""
    make, _, _ = SCENES[name]
    state = observe(make(), some.NOW)
    kept = to_now(state)
    times = {key: parse(kept[key]) for key in ("scheduled_at", "started_at", "finished_at")}
    begun = {"created_at": timezone.now() - timedelta(minutes=10), "pushed_at": timezone.now() - timedelta(minutes=10)}
    job = world.job(
        name=f"llama-{name}", state=state, phase=state.phase, nodes_expected=state.counts.expected, **times, **begun
    )
    expected = {"gang": {"members": ["node"], "min_member": NODES}, "demand": demand()}
    TrainJobDetail.objects.filter(job=job).update(state=kept, expected=expected, objects_built=[jobset()])
    return TrainJob.objects.select_related("detail").get(pk=job.pk)


def demand(accelerators: int = 64, priority: int = 0) -> Snapshot:
    queue = {"kind": "scheduler", "name": "default-scheduler"}
    return {"pods": NODES, "accelerators": accelerators, "priority": priority, "queue": queue}


def jobset() -> Snapshot:
    container = {"name": "node", "resources": {"requests": {GPU: "8"}}}
    template = {"spec": {"parallelism": NODES, "template": {"spec": {"containers": [container]}}}}
    return {"kind": "JobSet", "spec": {"replicatedJobs": [{"name": "node", "template": template}]}}


def crowd(world: World) -> None:
    """Machines of which three are free, and a job that is ahead."""
    ready = [{"type": "Ready", "status": "True"}]
    for n in range(NODES):
        raw = {"spec": {}, "metadata": {}, "status": {"conditions": ready, "allocatable": {GPU: "8" if n < 3 else "4"}}}
        MirrorObject.objects.create(
            kind=kinds.NODE.key, name=f"gpu-{n}", uid=f"gpu-{n}", resource_version="1", raw=raw, seen_at=timezone.now()
        )
    first = world.job("Waiting", name="ahead-of-it", created_at=timezone.now() - timedelta(hours=3))
    TrainJobDetail.objects.filter(job=first).update(expected={"demand": demand(24, 5)})


def to_now(state: JobState) -> Any:
    """Return the state as stored, with every time as far from now as it was from the time of the scene."""
    begin = parse(some.NOW)
    assert begin is not None
    return _moved(state.as_dict(), timezone.now() - begin)


def _moved(value: Any, by: timedelta) -> Any:
    if isinstance(value, dict):
        return {key: _moved(item, by) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_moved(item, by) for item in value]
    time: datetime | None = parse(value) if isinstance(value, str) else None
    return stamp(time + by) if time else value
