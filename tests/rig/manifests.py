"""Objects that tests of the cluster itself submit."""

from typing import Any

from tests.rig.kwok import GPU
from tests.rig.stages import PREFIX


def life(**annotations: str) -> dict[str, str]:
    """Return a pod's annotations for its life on a fake machine: life(run_for="1s", behaviour="fail")."""
    return {f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()}


def pod(name: str, image: str, command: list[str] | None = None, gpus: int = 0, **annotations: str) -> dict[str, Any]:
    """Return a pod; one with GPUs goes to a fake machine."""
    template = pod_template(image, command, gpus, **annotations)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **template["metadata"]},
        "spec": template["spec"],
    }


def pod_template(image: str, command: list[str] | None = None, gpus: int = 0, **annotations: str) -> dict[str, Any]:
    """Return a pod template."""
    container: dict[str, Any] = {"name": "node", "image": image}
    if command:
        container["command"] = command
    if gpus:
        container["resources"] = {"limits": {GPU: str(gpus)}}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 2, "containers": [container]}
    return {"metadata": {"annotations": life(**annotations)}, "spec": spec}


def jobset(name: str, pods: int, template: dict[str, Any]) -> dict[str, Any]:
    """Return a JobSet of one replicated job `node` with so many pods."""
    job = {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": template,
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}]},
    }
