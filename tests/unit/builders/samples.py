"""TrainJobs and runtimes for the tests of the builders: small, and changed by keyword."""

from typing import Any

from jobs.builders.capabilities import Capabilities

Obj = dict[str, Any]
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
REAL = Capabilities(gang_schedulers=frozenset({"in_tree", "coscheduling", "volcano"}), auto_gang="in_tree")


def trainjob(trainer: Obj | None = None, annotations: Obj | None = None, **spec: Any) -> Obj:
    content: Obj = {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}, **spec}
    if trainer is not None:
        content["trainer"] = trainer
    metadata: Obj = {"name": "job", "namespace": "ml", "uid": "u-1"}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": content}


def rjob(
    name: str, role: str | None = None, container: str = "node", depends_on: list[Obj] | None = None, **pod: Any
) -> Obj:
    """A replicated job with one container; `resources` and `env` go to the container, the rest to the pod."""
    main = {"name": container, "image": "registry.example/app:1"}
    main |= {key: pod.pop(key) for key in ("resources", "env", "command", "args", "securityContext") if key in pod}
    template: Obj = {"spec": {"template": {"spec": {"containers": [main], **pod}}}}
    if role:
        template["metadata"] = {"labels": {ANCESTOR: role}}
    result: Obj = {"name": name, "replicas": 1, "template": template}
    if depends_on:
        result["dependsOn"] = depends_on
    return result


def runtime(*jobs: Obj, policy: Obj | None = None, metadata: Obj | None = None, **spec: Any) -> Obj:
    content: Obj = {"template": {"spec": {"replicatedJobs": list(jobs)}}, **spec}
    if policy is not None:
        content["mlPolicy"] = policy
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "rt", "namespace": "ml", **(metadata or {})},
        "spec": content,
    }


def mpi_runtime(as_node: bool = True, edge: bool = True, **spec: Any) -> Obj:
    ready = [{"name": "node", "status": "Ready"}] if edge else None
    return runtime(
        rjob("node", command=["/usr/sbin/sshd"], args=["-De"]),
        rjob("launcher", "trainer", depends_on=ready),
        policy={"mpi": {"numProcPerNode": 1, "runLauncherAsNode": as_node, "sshAuthMountPath": "/root/.ssh"}},
        **spec,
    )


def one(objects: list[Obj], kind: str, name: str | None = None) -> Obj:
    """The only object of a kind (and name)."""
    [found] = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    return found


def part(jobset: Obj, name: str) -> Obj:
    """A replicated job of a JobSet."""
    [found] = [job for job in jobset["spec"]["replicatedJobs"] if job["name"] == name]
    return found


def pod(jobset: Obj, name: str) -> Obj:
    spec: Obj = part(jobset, name)["template"]["spec"]["template"]["spec"]
    return spec


def main(jobset: Obj, name: str) -> Obj:
    container: Obj = pod(jobset, name)["containers"][0]
    return container


def env(container: Obj) -> dict[str, str | None]:
    return {entry["name"]: entry.get("value") for entry in container.get("env", [])}
