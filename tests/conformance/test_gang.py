"""Every case of shared/fixtures/gang: members, minimum, resources, and the objects of every scheduler."""

from typing import Any

import pytest

from jobs.builders.capabilities import Capabilities
from jobs.builders.draft import Draft, Roles
from jobs.builders.gang.apply import add_gang
from jobs.builders.gang.members import Gang, Group, find_gang
from runtimes.spec.quantities import equal
from tests.conformance.corpus import cases

CASES = cases("gang")
BY_ID = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    def container(index: int, source: dict[str, Any]) -> dict[str, Any]:
        resources = {key: source[key] for key in ("requests", "limits") if key in source}
        return {"name": f"c{index}", "resources": resources} | {k: source[k] for k in ("restartPolicy",) if k in source}

    pod: dict[str, Any] = {"containers": [container(i, c) for i, c in enumerate(job["containers"])]}
    if job.get("init_containers"):
        pod["initContainers"] = [container(i, c) for i, c in enumerate(job["init_containers"])]
    if job.get("overhead"):
        pod["overhead"] = job["overhead"]
    return pod


def gang_of(case: dict[str, Any]) -> Gang:
    return find_gang(
        [
            Group(
                name=job["name"],
                count=job["replicas"] * job["pods"],
                role=job["role"],
                runs_ranks=job["runs_ranks"],
                depends_on=tuple((edge["name"], edge["status"]) for edge in job["depends_on"]),
                pod=pod_of(job),
            )
            for job in case["input"]["replicated_jobs"]
        ]
    )


def draft_of(case: dict[str, Any], scheduler: str) -> tuple[Draft, Roles]:
    given = case["input"]
    jobs = []
    for job in given["replicated_jobs"]:
        pod = pod_of(job) | ({"priorityClassName": given["priority_class"]} if given["priority_class"] else {})
        counts = {"parallelism": job["pods"], "completions": job["pods"], "template": {"spec": pod}}
        replicated = {"name": job["name"], "replicas": job["replicas"], "template": {"spec": counts}}
        jobs.append(replicated | ({"dependsOn": job["depends_on"]} if job["depends_on"] else {}))
        if job["role"]:
            label = {"trainer.kubeflow.org/trainjob-ancestor-step": job["role"]}
            replicated["template"]["metadata"] = {"labels": label}
    queue = given["volcano"]["queue"]
    template: dict[str, Any] = {"spec": {"replicatedJobs": jobs}}
    if queue:
        template["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": queue}}
    timeout = given["coscheduling"]["schedule_timeout_seconds"]
    trainjob = {
        "metadata": {
            "name": given["job"],
            "namespace": given["namespace"],
            "annotations": {"trainui.dev/gang-scheduler": scheduler},
        },
        "spec": {"suspend": given["suspended"]},
    }
    runtime = {"spec": {"podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": timeout}}, "template": template}}
    capabilities = Capabilities(
        volcano_scheduler="volcano", coscheduling_scheduler=given["coscheduling"]["scheduler_name"]
    )
    draft = Draft.of(trainjob, runtime, capabilities, None)
    ranks = [draft.job(job["name"]) for job in given["replicated_jobs"] if job["runs_ranks"]]
    return draft, Roles(ranks=[job for job in ranks if job], trainers=draft.with_role("trainer"))


@BY_ID
def test_gang(case):
    check_members(case)
    check_resources(case)
    for scheduler in ("volcano", "coscheduling", "in_tree"):
        check_objects(case, scheduler)


def check_members(case: dict[str, Any]) -> None:
    gang, expect = gang_of(case), case["expect"]
    assert [{"replicated_job": g.name, "count": g.count} for g in gang.members] == expect["members"]
    assert gang.min_member == expect["min_member"]
    assert dict(gang.excluded) == {entry["replicated_job"]: entry["why"] for entry in expect["excluded"]}
    dropped = [{"from": e.source, "to": e.target, "status": e.status} for e in gang.dropped_edges]
    assert dropped == expect["dropped_edges"]


def check_resources(case: dict[str, Any]) -> None:
    amounts, wanted = gang_of(case).min_resources, case["expect"]["min_resources"]
    assert amounts.keys() == wanted.keys()
    assert all(equal(str(amounts[name]), wanted[name]) for name in wanted)


def same(got: Any, wanted: Any, path: str = "") -> None:
    if isinstance(wanted, dict):
        assert isinstance(got, dict), path
        assert got.keys() == wanted.keys(), path
        for key in wanted:
            same(got[key], wanted[key], f"{path}/{key}")
    elif "minResources" in path:
        assert equal(got, wanted), path
    else:
        assert got == wanted, path


def marks(job: dict[str, Any]) -> dict[str, Any]:
    """What tells a scheduler that the pods of a replicated job are in a gang."""
    template = job["template"]["spec"]["template"]
    metadata = template.get("metadata") or {}
    found: dict[str, Any] = {kind: metadata[kind] for kind in ("labels", "annotations") if metadata.get(kind)}
    spec = template["spec"]
    if "schedulingGroup" in spec:
        found["spec.schedulingGroup.podGroupName"] = spec["schedulingGroup"]["podGroupName"]
    return found | ({"schedulerName": spec["schedulerName"]} if "schedulerName" in spec else {})


def check_objects(case: dict[str, Any], scheduler: str) -> None:
    draft, who = draft_of(case, scheduler)
    gang = add_gang(draft, who, lambda *_: None)
    assert gang is not None
    expect = case["expect"][scheduler]
    if expect["podgroup"] is None:
        assert draft.objects == []
        return
    [group] = draft.objects
    wanted = expect["podgroup"]
    assert (group["apiVersion"], group["kind"]) == (wanted["apiVersion"], wanted["kind"])
    assert wanted["metadata"].items() <= group["metadata"].items()
    same(group["spec"], wanted["spec"])
    member_marks = dict(expect["member_pods"])
    if scheduler == "in_tree":
        member_marks = {"spec.schedulingGroup.podGroupName": group["metadata"]["name"]}
    for job in draft.jobs:
        assert marks(job) == (member_marks if job["name"] in gang.names else {}), job["name"]
    assert set(expect["unmarked"]) == {job["name"] for job in draft.jobs} - set(gang.names) - {
        job["name"] for job in case["input"]["replicated_jobs"] if not job["pods"]
    }
    for edge in case["expect"]["dropped_edges"]:
        source = draft.job(edge["from"])
        assert source is not None
        assert all(left["name"] != edge["to"] for left in source.get("dependsOn", []))
