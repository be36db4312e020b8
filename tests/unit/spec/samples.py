"""Small objects that the tests of the spec packages start from."""

import copy
from typing import Any

Obj = dict[str, Any]


def trainjob(spec: Obj | None = None, **metadata: Any) -> Obj:
    """A TrainJob of the cluster runtime `rt`."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "team-a", **metadata},
        "spec": {"runtimeRef": {"name": "rt"}, **copy.deepcopy(spec or {})},
    }


def replicated_job(name: str, step: str = "", container: Obj | None = None, **more: Any) -> Obj:
    """A replicated job with one container, named `node` unless said otherwise."""
    pod = {"containers": [{"name": "node", "image": "app:1", **(container or {})}]}
    template: Obj = {"spec": {"template": {"spec": pod}}}
    if step:
        template["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}}
    return {"name": name, "template": template, **more}


def runtime(policy: Obj | None = None, *jobs: Obj, **spec: Any) -> Obj:
    """A cluster runtime `rt`; without jobs it has one `node` labelled trainer."""
    template = {"spec": {"replicatedJobs": copy.deepcopy(list(jobs)) or [replicated_job("node", "trainer")]}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "rt"},
        "spec": {"template": template, **({"mlPolicy": policy} if policy is not None else {}), **spec},
    }


def mpi_runtime(launcher_is_node: bool = True, nodes: int = 1) -> Obj:
    """An MPI runtime with workers and a launcher that waits for them."""
    launcher = replicated_job("launcher", "trainer", dependsOn=[{"name": "node", "status": "Ready"}])
    return runtime(
        {"numNodes": nodes, "mpi": {"runLauncherAsNode": launcher_is_node}}, replicated_job("node"), launcher
    )
