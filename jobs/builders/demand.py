"""What a job asks of the cluster as a whole: the pods that must run together, what they request, and whose queue they wait in."""

from typing import Any

from jobs.spec.accelerators import devices

from .containers import Obj, pod_spec, pod_template
from .counts import total
from .resources import add, as_quantities, pod_requests

KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
VOLCANO_POD_GROUP = "scheduling.volcano.sh/v1beta1"


def demand(trainjob: Obj, objects: list[Obj], gang: Obj | None) -> Obj:
    """Return `pods`, `accelerators`, `requests` (all members together, quantities as text) and `queue` ({kind, name}) of a built job.

    Members are those of the gang; without one all pods of the JobSet. Raises QuantityError for amounts that are none.
    """
    members = members_of(objects, gang)
    amounts = add({name: value * total(job) for name, value in pod_requests(pod_spec(job)).items()} for job in members)
    return {
        "pods": sum(total(job) for job in members),
        "accelerators": sum(total(job) * _devices(pod_spec(job)) for job in members),
        "requests": as_quantities(amounts),
        "queue": _queue(trainjob, objects, gang),
    }


def members_of(objects: list[Obj], gang: Obj | None) -> list[Obj]:
    """Return the replicated jobs of a built JobSet that must run together."""
    jobset: Obj = next((obj for obj in objects if obj.get("kind") == "JobSet"), {})
    jobs: list[Obj] = (jobset.get("spec") or {}).get("replicatedJobs") or []
    named = (gang or {}).get("members")
    return [job for job in jobs if named is None or job.get("name") in named]


def _devices(pod: Obj) -> int:
    return sum(sum(devices(container.get("resources")).values()) for container in pod.get("containers") or [])


def _queue(trainjob: Obj, objects: list[Obj], gang: Obj | None) -> dict[str, Any]:
    """Kueue's queue by the job's label, Volcano's by its pod group, else that of the scheduler which places the pods."""
    labels = (trainjob.get("metadata") or {}).get("labels") or {}
    if labels.get(KUEUE_QUEUE):
        return {"kind": "kueue", "name": labels[KUEUE_QUEUE]}
    group = next((obj for obj in objects if obj.get("apiVersion") == VOLCANO_POD_GROUP), None)
    if group is not None:
        return {"kind": "volcano", "name": (group.get("spec") or {}).get("queue") or "default"}
    if gang:
        return {"kind": "scheduler", "name": str(gang.get("scheduler_name") or "default-scheduler")}
    first = next(iter(members_of(objects, None)), None)
    template = pod_template(first).get("spec") or {} if first else {}
    return {"kind": "scheduler", "name": template.get("schedulerName") or "default-scheduler"}
