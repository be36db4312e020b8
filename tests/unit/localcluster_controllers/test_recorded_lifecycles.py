"""What JobSet 0.12 and Kubernetes 1.37 were seen to do, step by step (conformance/lifecycle.json), against our controllers.

The JobSet of each case comes from our builders; the steps that change pods and suspend it are carried out, and the state of JobSet, Jobs and
pods after each must be the recorded one. A case ends at the first step that is not about these.
"""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.builders import BuildError, Capabilities, build
from jobs.spec.defaults import default_trainjob
from runtimes.spec.defaults import default_runtime
from tests.shared_data import shared_json
from tests.unit.localcluster_controllers.harness import Cluster, run
from trainui.localcluster.controllers.jobset import names

Obj = dict[str, Any]

FIXED = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def steps_about_pods(case: Obj) -> list[Obj]:
    """Return the first steps of a case up to the first that is not about pods or suspension."""
    found = []
    for step in case["steps"]:
        action = step["action"]
        suspension = action["do"] == "patch" and action["patch"].get("spec", {}).keys() == {"suspend"}
        if action["do"] not in ("create", "pods") and not suspension:
            break
        if not step["state"].get("jobSet"):
            break
        found.append(step)
    return found


def built_jobset(case: Obj) -> Obj | None:
    """Return the JobSet of a case, or None where none can be built."""
    if case.get("runtime") is None:
        return None
    trainjob = default_trainjob(case["trainJob"], FIXED)
    trainjob["metadata"].setdefault("uid", "00000000-0000-4000-8000-000000000000")
    try:
        objects = build(trainjob, default_runtime(case["runtime"]), Capabilities())
    except BuildError:
        return None
    return next((obj for obj in objects if obj["kind"] == "JobSet"), None)


CASES = [
    (case, steps_about_pods(case), built_jobset(case))
    for case in shared_json("conformance/lifecycle.json")
    if not case.keys() & {"must", "setup"}
]


def state(cluster: Cluster, name: str) -> Obj:
    """Return the state of a JobSet in the form of the corpus."""
    jobset = cluster.store.get("JobSet", "team-a", name) or {}
    status = jobset.get("status") or {}
    conditions = [{key: c[key] for key in ("type", "status", "reason")} for c in status.get("conditions", ())]
    pods = Counter()
    for pod in cluster.all("Pod"):
        pods[f"{pod['metadata']['labels'][names.REPLICATED_JOB]}/{pod['status']['phase']}"] += 1
    return {
        "jobSet": {
            "suspend": bool(jobset["spec"].get("suspend")),
            "restarts": status.get("restarts", 0),
            "terminalState": status.get("terminalState"),
            "conditions": conditions,
            "replicatedJobsStatus": sorted(status.get("replicatedJobsStatus", ()), key=lambda entry: entry["name"]),
        },
        "jobs": sorted(job["metadata"]["name"] for job in cluster.all("Job")),
        "pods": dict(pods),
    }


def move_pods(cluster: Cluster, action: Obj) -> None:
    """Do what `pods` means in the corpus: the unfinished pods of a replicated job get a phase."""
    for pod in cluster.live():
        labels = pod["metadata"]["labels"]
        index = int(labels["batch.kubernetes.io/job-completion-index"])
        if labels[names.REPLICATED_JOB] == action["job"] and action.get("index") in (None, [index]):
            ready = {"type": "Ready", "status": "True" if action["phase"] == "Running" else "False"}
            status = {"phase": action["phase"], "conditions": [ready]}
            cluster.store.patch("Pod", "team-a", pod["metadata"]["name"], {"status": status}, "status")


@pytest.mark.parametrize(
    ("steps", "jobset"), [pytest.param(steps, js, id=case["id"]) for case, steps, js in CASES if steps and js]
)
def test_recorded_life(steps: list[Obj], jobset: Obj) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", cpu="1000", memory="1000Gi", **{"nvidia.com_gpu": "1000"})
        cluster.create("Namespace", {"metadata": {"name": "team-a"}})
        jobset["metadata"].pop("ownerReferences", None)
        name = jobset["metadata"]["name"]
        for step in steps:
            action = step["action"]
            if action["do"] == "create":
                cluster.create("JobSet", jobset)
            elif action["do"] == "pods":
                move_pods(cluster, action)
            else:
                cluster.store.patch("JobSet", "team-a", name, {"spec": action["patch"]["spec"]})
            await cluster.settle()
            recorded = {key: step["state"][key] for key in ("jobSet", "jobs", "pods")}
            assert state(cluster, name) == recorded, action

    run(scenario, backoff=0.0)
