"""Reads the state of a case from the cluster, in the words of the corpus."""

from collections import Counter
from typing import Any

from tests.conformance.lifecycle.api import Api, Json
from trainui.cluster import kinds

CHILDREN = (kinds.JOB_SET, kinds.POD_GROUP, kinds.CONFIG_MAP, kinds.SECRET)
PROGRESS = "trainui-progress"  # where programs report: on this cluster every job has it
OURS = "trainui.dev/"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"  # on every job template that has a role: not recorded
QUEUE = "scheduling.volcano.sh/queue-name"
COSCHEDULING = "scheduling.x-k8s.io/pod-group"
POD_FIELDS = ("nodeSelector", "tolerations", "schedulingGates", "serviceAccountName", "affinity")
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"


def read_state(api: Api, namespace: str, name: str, gang: str) -> Json:
    """Return the state of a job, with every field that a `look` may choose.

    gang: the gang scheduler that its runtime asks for. The local cluster has one of its own in place of all others, so its PodGroup is
    read as one of that kind.
    """
    trainjob, jobset = api.get(kinds.TRAIN_JOB, namespace, name), api.get(kinds.JOB_SET, namespace, name)
    owned = [obj for kind in CHILDREN for obj in api.list(kind, namespace) if _owned(obj, name)]
    state: Json = {"exists": trainjob is not None}
    if trainjob is not None:
        state |= _own(trainjob)
    state["jobSet"] = _jobset(jobset) if jobset else None
    state["jobs"] = sorted(job["metadata"]["name"] for job in api.list(kinds.JOB, namespace))
    state["pods"] = dict(Counter(_pod(pod) for pod in api.list(kinds.POD, namespace)))
    names = (f"{_kind(obj, gang)}/{obj['metadata']['name']}" for obj in owned)
    state["children"] = sorted(child for child in names if not child.endswith(f"-{PROGRESS}"))
    group = next((obj for obj in owned if obj["kind"] == "PodGroup"), None)
    state["look"] = _look(jobset, group, gang) if jobset else {}
    return state


def only_if_told(look: Json, told: str) -> None:
    """Leave out what every JobSet or PodGroup has where a case does not speak of it: `told` is all it says of looks, as text."""
    for holder in (look, *look.get("replicatedJobs", {}).values()):
        for key in ("image", "minMember", "queue"):
            if key not in told:
                holder.pop(key, None)


def _owned(obj: Json, name: str) -> bool:
    owners = obj["metadata"].get("ownerReferences") or []
    return any((owner["kind"], owner["name"]) == ("TrainJob", name) for owner in owners)


def _own(trainjob: Json) -> Json:
    status = trainjob.get("status") or {}
    told = ("type", "status", "reason", "message")
    found: Json = {
        "suspend": bool(trainjob["spec"].get("suspend")),
        "conditions": [{key: c.get(key) for key in told} for c in status.get("conditions") or []],
        "jobsStatus": status.get("jobsStatus") or [],
    }
    if "trainerStatus" in status:
        found["trainerStatus"] = status["trainerStatus"]
    return found


def _jobset(jobset: Json) -> Json:
    status = jobset.get("status") or {}
    return {
        "suspend": bool(jobset["spec"].get("suspend")),
        "restarts": status.get("restarts") or 0,
        "terminalState": status.get("terminalState"),
        "conditions": [
            {key: c.get(key) for key in ("type", "status", "reason")} for c in status.get("conditions") or []
        ],
        "replicatedJobsStatus": status.get("replicatedJobsStatus") or [],
    }


def _pod(pod: Json) -> str:
    return f"{pod['metadata']['labels'][REPLICATED_JOB]}/{(pod.get('status') or {}).get('phase', 'Pending')}"


def _kind(obj: Json, gang: str) -> str:
    return "VolcanoPodGroup" if obj["kind"] == "PodGroup" and gang == "volcano" else str(obj["kind"])


def _look(jobset: Json, group: Json | None, gang: str) -> Json:
    jobs = {job["name"]: _replicated_job(job, gang) for job in jobset["spec"]["replicatedJobs"]}
    found: Json = {"replicatedJobs": jobs, "jobSetLabels": _labels(jobset)}
    if group:
        found["minMember"] = group["spec"]["schedulingPolicy"]["gang"]["minCount"]
        if gang == "volcano":
            found["queue"] = (jobset["metadata"].get("annotations") or {}).get(QUEUE)
    return _set(found)


def _replicated_job(job: Json, gang: str) -> Json:
    template = job["template"]
    pod = template["spec"]["template"]
    spec = pod["spec"]
    labels = _labels(pod)
    if gang == "coscheduling" and spec.get("schedulingGroup"):
        labels[COSCHEDULING] = spec["schedulingGroup"]["podGroupName"]
    fields = {key: spec.get(key) for key in POD_FIELDS}
    fields["image"] = {container["name"]: container.get("image") for container in spec["containers"]}
    fields["volumes"] = [volume for volume in spec.get("volumes") or [] if volume["name"] != PROGRESS]
    return _set(fields | {"podLabels": labels, "jobLabels": _labels(template)})


def _labels(obj: Json) -> Json:
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return {key: value for key, value in labels.items() if key != STEP and not key.startswith(OURS)}


def _set(fields: dict[str, Any]) -> Json:
    return {key: value for key, value in fields.items() if value not in (None, {}, [], "")}
