"""Small Kubernetes objects for the tables of tests: only what a case is about has to be said."""

from typing import Any

NOW = "2026-03-01T12:00:00Z"
EARLIER = "2026-03-01T11:50:00Z"
UID = "uid-1"
Object = dict[str, Any]


def snapshot(**parts: Any) -> Object:
    """A job `train` of two plain nodes that has been in the cluster for ten minutes; `parts` replace what is in it."""
    return {
        "record": record(),
        "trainjob": trainjob(),
        "jobset": jobset(),
        "jobs": [],
        "pods": [],
        "podgroups": [],
        "workloads": [],
        "events": [],
    } | parts


def record(**parts: Any) -> Object:
    return {"uid": UID, "expected": [expected("node", 2)]} | parts


def expected(name: str, count: int, role: str | None = "trainer", ranks: bool = True) -> Object:
    return {"replicated_job": name, "count": count, "role": role, "runs_ranks": ranks}


def gang(**parts: Any) -> Object:
    known = {"scheduler": "in-tree", "scheduler_name": "default-scheduler", "podgroup": "train"}
    return known | {"min_member": 2, "members": ["node"]} | parts


def pod_group(minimum: int = 2, **status: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
        "status": status,
    }


def trainjob(
    suspend: bool = False, created: str = EARLIER, conditions: list[Object] | None = None, **metadata: Any
) -> Object:
    return {
        "metadata": {"name": "train", "namespace": "ml", "uid": UID, "creationTimestamp": created} | metadata,
        "spec": {"runtimeRef": {"name": "plain"}, "suspend": suspend},
        "status": {"conditions": conditions or []},
    }


def jobset(suspend: bool = False, conditions: list[Object] | None = None, restarts: int = 0, **spec: Any) -> Object:
    return {
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"suspend": suspend} | spec,
        "status": {"restarts": restarts, "conditions": conditions or []},
    }


def condition(
    kind: str, status: str = "True", reason: str = "R", message: str = "", at: str = "2026-03-01T11:59:00Z"
) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def event(reason: str, message: str, kind: str, name: str, at: str = "2026-03-01T11:59:30Z", **about: Any) -> Object:
    return {
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": kind, "namespace": "ml", "name": name} | about,
        "lastTimestamp": at,
    }


def pod(
    index: int = 0,
    job: str = "node",
    attempt: int = 0,
    machine: str | None = "m-0",
    phase: str = "Pending",
    **parts: Any,
) -> Object:
    """A pod; `parts`: containers, inits, conditions, deleting, reason, message, scheduler, suffix, job_index."""
    job_index = parts.get("job_index", 0)
    metadata: Object = {
        "name": f"train-{job}-{job_index}-{index}-{parts.get('suffix', 'aaaaa')}",
        "namespace": "ml",
        "uid": f"pod-{job}-{job_index}-{index}-{attempt}-{parts.get('suffix', '')}",
        "creationTimestamp": "2026-03-01T11:55:00Z",
        "labels": {
            "jobset.sigs.k8s.io/jobset-name": "train",
            "jobset.sigs.k8s.io/replicatedjob-name": job,
            "jobset.sigs.k8s.io/job-index": str(job_index),
            "jobset.sigs.k8s.io/restart-attempt": str(attempt),
            "batch.kubernetes.io/job-completion-index": str(index),
        },
    }
    if parts.get("deleting"):
        metadata["deletionTimestamp"] = parts["deleting"]
    status = {
        "phase": phase,
        "conditions": parts.get("conditions", []),
        "containerStatuses": parts.get("containers", []),
        "initContainerStatuses": parts.get("inits", []),
    }
    status |= {key: parts[key] for key in ("reason", "message") if key in parts}
    spec: Object = {"schedulerName": parts.get("scheduler", "default-scheduler")}
    if machine:
        spec["nodeName"] = machine
    return {"metadata": metadata, "spec": spec, "status": status}


def running(ready: bool = True, restarts: int = 0, at: str = "2026-03-01T11:56:00Z", name: str = "node") -> Object:
    return {
        "name": name,
        "image": "img:1",
        "ready": ready,
        "restartCount": restarts,
        "state": {"running": {"startedAt": at}},
    }


def waiting(
    reason: str, message: str = "", restarts: int = 0, last: Object | None = None, name: str = "node"
) -> Object:
    status = {"name": name, "image": "img:1", "ready": False, "restartCount": restarts}
    status["state"] = {"waiting": {"reason": reason, "message": message}}
    return status | ({"lastState": {"terminated": last}} if last else {})


def ended(
    code: int, reason: str = "", message: str = "", at: str = "2026-03-01T11:59:30Z", name: str = "node"
) -> Object:
    reason = reason or ("Completed" if code == 0 else "Error")
    detail = {
        "exitCode": code,
        "reason": reason,
        "message": message,
        "startedAt": "2026-03-01T11:56:00Z",
        "finishedAt": at,
    }
    return {"name": name, "image": "img:1", "ready": False, "restartCount": 0, "state": {"terminated": detail}}


def running_pod(index: int = 0, **parts: Any) -> Object:
    return pod(index, phase="Running", containers=[running(ready=parts.pop("ready", True))], **parts)


def succeeded_pod(index: int = 0, **parts: Any) -> Object:
    return pod(index, phase="Succeeded", containers=[ended(0)], **parts)


def failed_pod(index: int = 0, code: int = 1, **parts: Any) -> Object:
    how = {key: parts.pop(f"exit_{key}") for key in ("reason", "message", "at") if f"exit_{key}" in parts}
    return pod(index, phase="Failed", containers=[ended(code, **how)], **parts)


def unplaced_pod(index: int = 0, message: str = "0/2 nodes are available: 2 Insufficient cpu.", **parts: Any) -> Object:
    said = [condition("PodScheduled", "False", "Unschedulable", message)]
    return pod(index, machine=None, conditions=said, **parts)
