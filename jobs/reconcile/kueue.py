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
    spec, metadata = workload.get("spec") or {}, workload["metadata"]
    if (spec.get("active") is False) == held:
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


def waits(workload: Object) -> bool:
    """Return whether a Workload waits for its quota."""
    conditions = _conditions(workload)
    active = (workload.get("spec") or {}).get("active") is not False
    return active and conditions.get("QuotaReserved") != "True" and conditions.get("Finished") != "True"


def settled(workloads: list[Object]) -> bool:
    """Return whether nothing is expected of Kueue soon: the job runs, is held, or is over."""
    return bool(workloads) and not any(waits(workload) or _half_way(workload) for workload in workloads)


def _half_way(workload: Object) -> bool:
    """Whether quota is reserved and admission checks are still open."""
    conditions = _conditions(workload)
    reserved = conditions.get("QuotaReserved") == "True" and conditions.get("Admitted") != "True"
    return reserved and conditions.get("Finished") != "True"


def _conditions(workload: Object) -> dict[str, str]:
    return {c.get("type"): c.get("status") for c in (workload.get("status") or {}).get("conditions") or []}
