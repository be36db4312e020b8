"""What tests of gangs on a real Kubernetes share: fake machines of their own, runtimes whose pods only seem to live, submissions."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.jobs.tools import objects
from tests.rig.coscheduling import SCHEDULER_NAME
from tests.rig.manifests import life
from tests.rig.rig import Rig
from tests.stack import Json, Stack, wait_for

GPU = "nvidia.com/gpu"
TRAINER = "trainer.kubeflow.org/v1alpha1"
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
DISRUPTED = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
AGAIN = {
    "name": "disruption",
    "action": "RestartJobSetAndIgnoreMaxRestarts",
    "onJobFailureReasons": ["PodFailurePolicy"],
}


@pytest.fixture
def pool(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """Fake machines of eight GPUs each, of this test alone (four, or as many as its parameter says): the value of their label `pool`."""
    name = f"gang-{os.urandom(3).hex()}"
    rig.add_machines(getattr(request, "param", 4), name, labels={"pool": name}, taints=[])
    yield name
    for made in rig.admin.list(TRAINER, "ClusterTrainingRuntime"):
        if made["metadata"]["name"].startswith(name):
            rig.admin.delete(
                {
                    "apiVersion": TRAINER,
                    "kind": "ClusterTrainingRuntime",
                    "metadata": {"name": made["metadata"]["name"]},
                }
            )
    there = [node["metadata"]["name"] for node in rig.admin.list("v1", "Node")]
    rig.remove_machines([machine for machine in there if machine.startswith(f"{name}-")])


def part(name: str, pool: str, gpus: int = 8, role: str = "trainer", after: Json | None = None, **spec: Any) -> Json:
    """Return a replicated job whose pods live as `life` says: on machines of the pool, restarted as those of our blueprints are."""
    container: Json = {"name": name, "image": "any", "resources": {"limits": {GPU: str(gpus)}} if gpus else {}}
    lives = spec.pop("lives", {})
    pod = {"restartPolicy": "Never", "nodeSelector": {"pool": pool}, "containers": [container], **spec}
    job = {
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [DISRUPTED]},
        "template": {"metadata": {"annotations": life(**lives)}, "spec": pod},
    }
    made: Json = {"name": name, "template": {"metadata": {"labels": {ANCESTOR: role}}, "spec": job}}
    return made | ({"dependsOn": [after]} if after else {})


def runtime(
    rig: Rig,
    name: str,
    way: str,
    parts: list[Json],
    policy: Json | None = None,
    marks: dict[str, str] | None = None,
    **template: Any,
) -> str:
    """Make a runtime whose gangs are placed in a way, and return its name. marks: annotations of its template."""
    annotations = {"trainui.dev/gang-scheduler": way}
    if way == "coscheduling":
        for one in parts:
            one["template"]["spec"]["template"]["spec"]["schedulerName"] = SCHEDULER_NAME
    jobset = {"failurePolicy": {"maxRestarts": 0, "rules": [AGAIN]}, "replicatedJobs": parts, **template}
    rig.admin.apply(
        {
            "apiVersion": TRAINER,
            "kind": "ClusterTrainingRuntime",
            "metadata": {
                "name": name,
                "labels": {"trainer.kubeflow.org/framework": "plain"},
                "annotations": annotations,
            },
            "spec": {
                "mlPolicy": {"numNodes": 1, **(policy or {})},
                "template": {"metadata": {"annotations": marks or {}}, "spec": jobset},
            },
        }
    )
    return name


def submit(stack: Stack, runtime: str, name: str, nodes: int, labels: dict[str, str] | None = None) -> Json:
    unique = f"{name}-{os.urandom(2).hex()}"
    manifest = {
        "apiVersion": TRAINER,
        "kind": "TrainJob",
        "metadata": {"name": unique, "namespace": stack.project, "labels": labels or {}},
        "spec": {"runtimeRef": {"name": runtime, "kind": "ClusterTrainingRuntime"}, "trainer": {"numNodes": nodes}},
    }
    answer: Any = None

    def taken() -> bool:  # once the runtime has been mirrored
        nonlocal answer
        with stack.client() as client:
            answer = client.post("/api/v1/trainjobs", json=manifest)
        assert answer.status_code in (201, 422), answer.text
        return bool(answer.status_code == 201)

    wait_for(taken, 60, f"the submission of {name} to be taken")
    return dict(answer.json())


def pods(stack: Stack, job: Json) -> list[Json]:
    return objects(stack, "pods", f"jobset.sigs.k8s.io/jobset-name={job['name']}")


def told(stack: Stack, job: Json, code: str, *words: str) -> None:
    """Wait until the job says this, and says these words."""
    seen: Json = {}

    def says() -> bool:
        nonlocal seen
        seen = stack.job(job["id"])["reason"]
        return seen["code"] == code and all(word in seen["sentence"] for word in words)

    try:
        wait_for(says, 60, f"the job to say {code}: {words}")
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {seen}") from None
