"""The queues: order and what is ahead, whose jobs for whom, quotas; the same by REST and on the page of a job that waits."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import MirrorObject, TrainJob
from jobs.queries.queue import cluster_queue, place_of, resource_quota
from jobs.queries.room import largest_gang
from jobs.reconcile.quotas import CLUSTER_QUEUE, RESOURCE_QUOTA
from jobs.state import phases
from tests.unit.life.conftest import World
from tests.unit.life.test_cluster import node, pod
from trainui.cluster.kinds import Kind

As = Callable[[str], Client]
GPU = "nvidia.com/gpu"


def demand(
    accelerators: int = 16, pods: int = 2, priority: int = 0, kind: str = "scheduler", queue: str = "default-scheduler"
) -> dict[str, Any]:
    named = {"kind": kind, "name": queue}
    return {"demand": {"accelerators": accelerators, "pods": pods, "priority": priority, "queue": named}}


def jobset(pods: int = 4, gpus: int = 8) -> dict[str, Any]:
    container = {"name": "node", "resources": {"requests": {GPU: str(gpus)}}}
    template = {"spec": {"parallelism": pods, "template": {"spec": {"containers": [container]}}}}
    return {"kind": "JobSet", "spec": {"replicatedJobs": [{"name": "node", "template": template}]}}


def waits(world: World, name: str, minutes: int, project: Any = None, state: Any = None, **parts: Any) -> TrainJob:
    detail = {"expected": demand(**parts), "objects_built": [jobset()], "state": state or {}}
    return world.job(
        name,
        phases.WAITING,
        created_at=timezone.now() - timedelta(minutes=minutes),
        project=project or world.project,
        sentence=f"{name} waits.",
        started_at=None,
        detail=detail,
    )


def quota(kind: Kind, name: str, namespace: str, raw: dict[str, Any]) -> None:
    MirrorObject.objects.create(
        kind=kind.key, namespace=namespace, name=name, uid=name, resource_version="1", raw=raw, seen_at=timezone.now()
    )


CLUSTER_QUEUE_RAW: dict[str, Any] = {
    "spec": {"resourceGroups": [{"flavors": [{"name": "h100", "resources": [{"name": GPU, "nominalQuota": "64"}]}]}]},
    "status": {"pendingWorkloads": 3, "flavorsUsage": [{"name": "h100", "resources": [{"name": GPU, "total": "48"}]}],
               "conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound",
                               "message": "Can't admit new workloads: references missing ResourceFlavor(s): gone."}]},
}  # fmt: skip
HARD = {f"requests.{GPU}": "32"}
QUOTA_RAW: dict[str, Any] = {"spec": {"hard": HARD}, "status": {"hard": HARD, "used": {f"requests.{GPU}": "8"}}}


@pytest.fixture
def scene(world: World, settings: Any) -> dict[str, TrainJob]:
    settings.POD_DNS = True
    found = {
        "elder": waits(world, "elder", 50),
        "secret": waits(world, "secret-wait", 40, project=world.elsewhere, accelerators=24),
        "young": waits(world, "young", 5),
        "urgent": waits(world, "urgent", 1, priority=9, accelerators=4),
        "runs": world.job("runs", detail={"expected": demand(32, 4)}),
    }
    world.job("secret-run", project=world.elsewhere, detail={"expected": demand(8, 1)})
    world.job("done", phases.SUCCEEDED, detail={"expected": demand()})
    quota(RESOURCE_QUOTA, "gpu-quota", world.project.namespace, QUOTA_RAW)
    quota(RESOURCE_QUOTA, "secret-quota", world.elsewhere.namespace, QUOTA_RAW)
    quota(CLUSTER_QUEUE, "cq", "", CLUSTER_QUEUE_RAW)
    return found


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_page_tells_the_order_and_what_is_ahead(scene: dict[str, TrainJob], as_user: As) -> None:
    html = as_user("viewer").get("/queue").content.decode()
    text = words(html)
    places = [text.index(name) for name in ("urgent", "elder", "another project", "young")]
    assert places == sorted(places)
    assert "3 jobs, 44 GPUs" in text
    assert "the places are approximate" in text
    assert "secret" not in html
    assert "done" not in text
    assert "8 32" in text  # used and limit of the project's quota
    assert "cq ClusterQueue" in text
    assert "it names a flavor that does not exist (gone)" in text


def test_rest_says_the_same(scene: dict[str, TrainJob], as_user: As) -> None:
    [queue] = as_user("viewer").get("/api/v1/queues").json()["queues"]
    assert [line["job"]["name"] if line["job"] else None for line in queue["waiting"]["items"]] == [
        "urgent",
        "elder",
        None,
        "young",
    ]
    last = queue["waiting"]["items"][-1]["place"]
    assert (last["position"], last["jobs_ahead"], last["accelerators_ahead"], last["approximate"]) == (4, 3, 44, True)
    assert (queue["accelerators_waiting"], queue["accelerators_held"]) == (60, 40)
    assert [line["job"]["name"] if line["job"] else None for line in queue["holding"]["items"]] == ["runs", None]
    quotas = as_user("viewer").get("/api/v1/queues").json()["quotas"]
    assert [(q["name"], q["project"]) for q in quotas] == [("gpu-quota", "team-nlp"), ("cq", None)]
    assert quotas[1]["uses"] == [{"resource": f"{GPU} (h100)", "used": "48", "limit": "64", "percent": 75}]


def test_nobody_without_an_account(scene: dict[str, TrainJob], as_user: As) -> None:
    assert as_user("nobody").get("/queue").status_code == 302
    assert as_user("nobody").get("/api/v1/queues").status_code == 401


def test_a_fragment_has_an_etag(scene: dict[str, TrainJob], as_user: As) -> None:
    client = as_user("viewer")
    first = client.get("/queue", headers={"HX-Request": "true"})
    assert "<html" not in first.content.decode()
    again = client.get("/queue", headers={"HX-Request": "true", "If-None-Match": first["ETag"]})
    assert again.status_code == 304


def test_an_empty_queue_says_what_to_do(world: World, as_user: As) -> None:
    assert "Nothing waits and nothing runs" in as_user("viewer").get("/queue").content.decode()


def test_queues_of_kueue_by_name_and_by_what_it_told(world: World, as_user: As, settings: Any) -> None:
    settings.POD_DNS = True
    told = {"place": {"queue": "lq", "number": 6, "priority": 5}}
    job = waits(world, "behind", 5, state=told, kind="kueue", queue="lq")
    waits(world, "theirs", 9, project=world.elsewhere, kind="kueue", queue="hidden-lq")
    place = place_of(job)
    assert place is not None
    assert (place.queue, place.position, place.jobs_ahead, place.approximate) == ("team-nlp/lq", 7, 6, True)
    html = as_user("viewer").get("/queue").content.decode()
    assert "queues of other projects" in html
    assert "hidden-lq" not in html


def test_a_job_that_waits_shows_its_place_and_the_largest_gang(scene: dict[str, TrainJob], as_user: As) -> None:
    node("m-0", nvidia_com_gpu="8")
    for name, gpus in (("g-0", "8"), ("g-1", "16"), ("g-2", "8")):
        node(name, **{"nvidia.com_gpu": gpus})
    pod(scene["runs"], "runs-node-0", "g-2", **{"nvidia.com_gpu": "4"})
    fit = largest_gang(scene["young"])
    assert fit is not None
    assert (fit.pods, fit.wanted, fit.machines) == (3, 4, 2)
    text = words(as_user("viewer").get(f"/jobs/{scene['young'].pk}").content.decode())
    assert "4 of 4 in the queue default-scheduler: 3 jobs and 44 GPUs ahead (approximate)" in text
    full = as_user("viewer").get(f"/api/v1/trainjobs/{scene['young'].pk}").json()
    assert full["largest_gang"] == {"pods": 3, "of": 4, "machines": 2, "replicated_job": "node"}
    assert full["place"]["position"] == 4
    assert as_user("viewer").get(f"/api/v1/trainjobs/{scene['runs'].pk}").json()["place"] is None


def test_a_quota_that_nobody_can_read_is_shown_as_it_is() -> None:
    odd = resource_quota("q", "p", {"spec": {"hard": {"cpu": "many"}}})
    assert (odd.uses[0].used, odd.uses[0].limit, odd.uses[0].percent) == ("0", "many", None)
    assert cluster_queue("cq", {}).uses == []
    assert cluster_queue("cq", {}).problem == ""
