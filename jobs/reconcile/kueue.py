"""What Kueue knows of a job that it manages, and how such a job is held: by its Workload, never by the TrainJob's own `suspend`.

Kueue puts `suspend` back within seconds, whoever set it (experiments, pitfall D); only `spec.active` of the Workload holds a job. Workloads are
not watched: the TrainJob, which Kueue changes with them, is; what changes only on the Workload is looked for now and then while the job waits.
"""

from typing import Any

from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.errors import ClusterError, Forbidden, NotFound

Object = dict[str, Any]
GROUP = kinds.KUEUE
QUEUE_NAME = f"{GROUP}/queue-name"
JOB_UID = f"{GROUP}/job-uid"
WORKLOAD = kinds.WORKLOAD
# The aggregated API that tells who is ahead; it may be absent.
PENDING = kinds.PENDING_WORKLOADS
LOOK_SECONDS = 5.0


def is_managed(trainjob: Object | None) -> bool:
    """Return whether a TrainJob names a queue of Kueue."""
    return bool(queue_of(trainjob))


def queue_of(trainjob: Object | None) -> str:
    """Return the queue that a TrainJob names, or an empty text."""
    metadata = (trainjob or {}).get("metadata") or {}
    return str((metadata.get("labels") or {}).get(QUEUE_NAME) or "")


def workloads_of(cluster: Cluster, trainjob: Object) -> list[Object] | None:
    """Return the Workloads of a TrainJob, found by its uid; None where Kueue is not installed or not for us. Raises ClusterError."""
    metadata = trainjob["metadata"]
    try:
        return cluster.list(WORKLOAD, metadata["namespace"], f"{JOB_UID}={metadata['uid']}")[0]
    except (NotFound, Forbidden):
        return None


def hold(cluster: Cluster, workload: Object, held: bool) -> Object:
    """Take a job out of its queue and off its machines, or let it queue again; return the Workload. Raises ClusterError."""
    metadata = workload["metadata"]
    if is_held(workload) == held:
        return workload
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"active": not held}}
    return cluster.merge_patch(WORKLOAD, metadata["namespace"], metadata["name"], patch)


def place_of(cluster: Cluster, trainjob: Object, workloads: list[Object]) -> Object | None:
    """Return where the job is in its queue, as Kueue tells: `{queue, number, in_queue}` from 0; None when it waits no more or nobody tells."""
    if not any(waits(workload) for workload in workloads):
        return None
    queue, metadata = queue_of(trainjob), trainjob["metadata"]
    try:
        answer = cluster.get(PENDING, metadata["namespace"], f"{queue}/pendingworkloads")
    except ClusterError:  # not installed, or not for us: our own order stands in
        return None
    for item in answer.get("items") or []:
        owners = (item.get("metadata") or {}).get("ownerReferences") or []
        if any(owner.get("uid") == metadata["uid"] for owner in owners):
            return {
                "queue": queue,
                "number": int(item.get("positionInClusterQueue") or 0),
                "in_queue": int(item.get("positionInLocalQueue") or 0),
                "priority": int(item.get("priority") or 0),
            }
    return None


def is_held(workload: Object) -> bool:
    """Return whether somebody has taken a Workload out of its queue."""
    return (workload.get("spec") or {}).get("active") is False


def waits(workload: Object) -> bool:
    """Return whether a Workload waits for its quota."""
    conditions = _conditions(workload)
    return not is_held(workload) and conditions.get("QuotaReserved") != "True" and not _over(workload)


def settled(workloads: list[Object]) -> bool:
    """Return whether nothing is expected of Kueue that the TrainJob would not show: the job runs, or is over. One that is held may be let go."""
    return bool(workloads) and all(_runs(workload) or _over(workload) for workload in workloads)


def _runs(workload: Object) -> bool:
    """Whether it is admitted, and not being taken out again."""
    conditions = _conditions(workload)
    return not is_held(workload) and conditions.get("Admitted") == "True" and conditions.get("Evicted") != "True"


def _over(workload: Object) -> bool:
    return _conditions(workload).get("Finished") == "True"


def _conditions(workload: Object) -> dict[str, str]:
    return {c.get("type"): c.get("status") for c in (workload.get("status") or {}).get("conditions") or []}
