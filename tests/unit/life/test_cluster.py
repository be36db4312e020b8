"""The cluster page: machines and slots, whose they are for whom, what waits, what is served."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import MirrorObject, TrainJob, WatchState
from jobs.queries.cluster import CORDONED, NOT_READY, READY, SILENT, Held, Machine, amounts_of, machine_of
from jobs.reconcile.mirror_writer import MirrorWriter, holding
from jobs.state import phases
from jobs.web.cluster_slots import amount, bars_of, cards_of, fitted, word_of
from tests.unit.life.conftest import World
from trainui.cluster import kinds

As = Callable[[str], Client]
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def node(name: str, ready: str = "True", cordoned: bool = False, **capacity: str) -> MirrorObject:
    condition = {"type": "Ready", "status": ready, "message": f"{name} says {ready}", "lastTransitionTime": "2026-03-01T12:00:00Z"}  # fmt: skip
    raw = {
        "metadata": {"name": name},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"conditions": [condition], "allocatable": CAPACITY | {k.replace("_", "/"): v for k, v in capacity.items()}},
    }  # fmt: skip
    return MirrorObject.objects.create(
        kind=kinds.NODE.key, name=name, uid=name, resource_version="1", raw=raw, seen_at=timezone.now()
    )


def pod(job: TrainJob | None, name: str, machine: str = "", phase: str = "Running", **requests: str) -> MirrorObject:
    wanted = {k.replace("_", "/"): v for k, v in requests.items()}
    spec: dict[str, Any] = {"containers": [{"name": "node", "resources": {"requests": wanted}}]}
    if machine:
        spec["nodeName"] = machine
    raw = {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}
    held, holds = holding(raw)
    return MirrorObject.objects.create(
        kind=kinds.POD.key, namespace="ns", name=name, uid=name, resource_version="1", raw=raw, machine=held, holds=holds, job=job,
        seen_at=timezone.now(),
    )  # fmt: skip


def watched(kind: kinds.Kind, problem: str = "") -> None:
    now = timezone.now()
    WatchState.objects.create(
        kind=kind.key, listed_at=None if problem else now, alive_at=None if problem else now, problem=problem
    )


@pytest.fixture
def scene(world: World) -> dict[str, TrainJob]:
    """Two machines and one that is down; a job of the team's on both, one of elsewhere on the first; two that wait."""
    node("m-0")
    node("m-1", cordoned=True)
    node("m-2", ready="Unknown")
    mine, theirs = world.job("mine"), world.job("secret-thing", project=world.elsewhere)
    pod(mine, "mine-node-0", "m-0", cpu="2", memory="2Gi")
    pod(mine, "mine-node-1", "m-1", cpu="2", memory="2Gi")
    pod(mine, "mine-old", "m-0", phase="Succeeded", cpu="4")
    pod(mine, "mine-unplaced", cpu="4")
    pod(theirs, "secret-thing-node-0", "m-0", cpu="1500m", memory="1Gi")
    waits = world.job("waits", phases.WAITING, sentence="2 machines have too little cpu free.", nodes_expected=2)
    world.job("secret-wait", phases.QUEUED, project=world.elsewhere)
    for kind in (kinds.TRAIN_JOB, kinds.JOB_SET, kinds.POD_GROUP):
        watched(kind)
    watched(kinds.POD)
    watched(kinds.VOLCANO_POD_GROUP, "the cluster has no podgroups")
    return {"mine": mine, "theirs": theirs, "waits": waits}


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_slots_and_who_holds_them(scene: dict[str, TrainJob], as_user: As) -> None:
    html = as_user("viewer").get("/cluster").content.decode()
    text = words(html)
    mine = scene["mine"]
    assert "CPU 0.5 of 4 free" in text
    assert f'href="/jobs/{mine.pk}" class="slot series-0" aria-label="mine, mine-node-0: 2 CPU"' in html
    assert 'x="0.0%" width="50.0%"' in html
    assert 'x="50.0%" width="37.5%"' in html  # the other project's, after ours
    assert "another project: 1.5 CPU" in html
    assert "secret" not in html
    assert "mine-old" not in html
    assert "mine-unplaced" not in html


def test_states_of_machines(scene: dict[str, TrainJob], as_user: As) -> None:
    text = words(as_user("viewer").get("/cluster").content.decode())
    assert "m-0 ready" in text
    assert "m-1 cordoned" in text
    assert "m-2 silent m-2 says Unknown" in text
    assert "Machines 1 of 3 ready" in text
    assert "CPU 5.5 of 8 held" in text  # the silent one offers nothing


def test_what_waits_by_name_or_as_a_number(scene: dict[str, TrainJob], as_user: As) -> None:
    text = words(as_user("viewer").get("/cluster").content.decode())
    assert "waits team-nlp · owner Waiting 2 machines have too little cpu free. 2" in text
    assert "1 job of other projects waits too." in text
    assert "secret-wait" not in text
    text = words(as_user("stranger").get("/cluster").content.decode())
    assert "secret-wait elsewhere · owner Queued" in text
    assert "too little cpu" not in text


@pytest.mark.parametrize(("who", "status"), [("viewer", 200), ("stranger", 200), ("nobody", 302)])
def test_everybody_who_is_signed_in_may_look(scene: dict[str, TrainJob], as_user: As, who: str, status: int) -> None:
    assert as_user(who).get("/cluster").status_code == status


def test_kinds_and_differences(scene: dict[str, TrainJob], as_user: As, settings: Any) -> None:
    settings.POD_DNS = False
    html = as_user("viewer").get("/cluster").content.decode()
    text = words(html)
    assert "How the local cluster differs from Kubernetes" in text
    assert "Gangs, by Volcano no the cluster has no podgroups" in text
    assert "The cluster lacks what trainui needs. ClusterTrainingRuntime" in text
    assert "Gangs are placed by Kubernetes’ own pod groups." in text
    settings.POD_DNS = True
    assert "How the local cluster differs" not in as_user("viewer").get("/cluster").content.decode()


def test_an_empty_cluster(world: World, as_user: As) -> None:
    text = words(as_user("viewer").get("/cluster").content.decode())
    assert "No machines" in text
    assert "Nothing waits" in text
    assert "Not up to date. watch has not started yet" in text


def test_the_page_is_live_without_inline_code(scene: dict[str, TrainJob], as_user: As) -> None:
    client = as_user("viewer")
    html = client.get("/cluster").content.decode()
    assert 'data-topics="*"' in html
    assert 'data-paced="cluster-changed job-changed"' in html
    assert "style=" not in html
    fragment = client.get("/cluster", headers={"HX-Request": "true"})
    assert "<html" not in fragment.content.decode()
    again = client.get("/cluster", headers={"HX-Request": "true", "If-None-Match": fragment["ETag"]})
    assert again.status_code == 304
    assert 'href="/cluster" aria-current="page" data-go="c"' in html


def test_rest(scene: dict[str, TrainJob], as_user: As) -> None:
    body = as_user("viewer").get("/api/v1/cluster").json()
    first = body["machines"][0]
    assert (first["name"], first["state"], first["ready"], first["cordoned"]) == ("m-0", "ready", True, False)
    assert first["capacity"]["cpu"] == "4"
    assert first["held"] == {"cpu": "3500m", "memory": "3Gi"}
    assert [(p["job"] and p["job"]["name"], p["pod"]) for p in first["pods"]] == [("mine", "mine-node-0"), (None, None)]
    assert [m["ready"] for m in body["machines"]] == [True, True, False]
    assert [job["name"] for job in body["waiting"]["items"]] == ["waits"]
    assert body["waiting"]["of_other_projects"] == 1
    assert {k["kind"]: k["served"] for k in body["kinds"] if k["api_version"].startswith("jobset")} == {"JobSet": True}
    assert "secret" not in str(body)
    assert as_user("nobody").get("/api/v1/cluster").status_code == 401


def test_queries_do_not_grow_with_machines_and_pods(world: World, as_user: As, django_assert_max_num_queries: Any) -> None:  # fmt: skip
    for n in range(30):
        node(f"m-{n:02}")
        pod(world.job(f"j{n}"), f"p{n}", f"m-{n:02}", cpu="1")
    client = as_user("viewer")
    with django_assert_max_num_queries(20):
        assert client.get("/cluster").content.decode().count('class="slot series-') == 30


def test_nodes_and_pods_ring_the_page_once_per_batch(world: World) -> None:
    raw = {"metadata": {"name": "m", "uid": "u", "resourceVersion": "1"}, "spec": {}, "status": {}}
    batch = [(kinds.NODE, "MODIFIED", [raw]), (kinds.NODE, "MODIFIED", [raw | {"metadata": raw["metadata"] | {"name": "n"}}])]  # fmt: skip
    changes = MirrorWriter().write(batch).changes  # type: ignore[arg-type]
    assert [(c.name, c.project) for c in changes] == [("cluster-changed", "")]
    assert MirrorWriter().write(batch).changes == []  # type: ignore[arg-type]  # nothing new in it


@pytest.mark.parametrize(
    ("ready", "unschedulable", "state"),
    [
        ("True", False, READY),
        ("True", True, CORDONED),
        ("False", False, NOT_READY),
        ("False", True, NOT_READY),
        ("Unknown", False, SILENT),
        (None, False, SILENT),
    ],
)
def test_state_of_a_machine(ready: str | None, unschedulable: bool, state: str) -> None:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    found = machine_of("m", {"spec": {"unschedulable": unschedulable}, "status": {"conditions": conditions}})
    assert found.state == state
    assert bool(found.reason) is (state in (CORDONED, SILENT))


def test_amounts_leave_out_what_is_none() -> None:
    assert amounts_of({"cpu": "500m", "memory": "lots"}) == {"cpu": Decimal("0.5")}


def machine(capacity: dict[str, str], *held: dict[str, str]) -> Machine:
    return Machine("m", READY, "", None, amounts_of(capacity), [Held(None, "", amounts_of(h)) for h in held])


def test_bars_show_devices_first_and_lines_between_whole_slots() -> None:
    found = machine({"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2", "pods": "110"}, {"cpu": "1", "nvidia.com/gpu": "1"})  # fmt: skip
    bars = bars_of(found, {})
    assert [(b.name, b.used, b.capacity, b.free) for b in bars] == [
        ("GPU", "1", "2", "1"),
        ("CPU", "1", "4", "3"),
        ("Memory", "0 B", "8 GiB", "8 GiB"),
    ]
    assert [b.lines for b in bars] == [[50.0], [25.0, 50.0, 75.0], []]


@pytest.mark.parametrize("cpu", ["3500m", "1", "64"])
def test_no_lines_where_slots_cannot_be_counted(cpu: str) -> None:
    assert bars_of(machine({"cpu": cpu}), {})[0].lines == []


def test_a_machine_that_shrank_is_full_not_overflowing() -> None:
    bar = bars_of(machine({"cpu": "2"}, {"cpu": "2"}, {"cpu": "2"}), {})[0]
    assert [(s.start, s.width) for s in bar.segments] == [(0.0, 50.0), (50.0, 50.0)]
    assert bar.free == "0"


def test_a_job_has_one_colour_everywhere_and_jobs_of_others_none() -> None:
    jobs = [TrainJob(name=f"j{n}") for n in range(9)]
    one = Machine("a", READY, "", None, amounts_of({"cpu": "9"}), [Held(j, "p", amounts_of({"cpu": "1"})) for j in jobs])  # fmt: skip
    two = Machine("b", READY, "", None, amounts_of({"cpu": "2"}), [Held(jobs[3], "q", {}), Held(None, "", amounts_of({"cpu": "1"}))])  # fmt: skip
    first, second = cards_of([one, two])
    assert [s.colour for s in first.bars[0].segments] == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert [(h.colour, h.pods) for h in second.holders] == [(3, 1), (None, 1)]
    assert [s.colour for s in second.bars[0].segments] == [None]


@pytest.mark.parametrize(
    ("name", "percent", "label"),
    [("llama", 100, "llama"), ("llama", 15.8, "llama"), ("llama3-8b-sft", 25, "lla…-sft"), ("llama3-8b-sft", 12.5, ""), ("a", 6, "a"), ("a", 2, "")],
)  # fmt: skip
def test_names_are_cut_to_the_room_of_a_slot(name: str, percent: float, label: str) -> None:
    assert fitted(name, percent) == label


@pytest.mark.parametrize(
    ("value", "resource", "text"),
    [
        *(("1500m", "cpu", "1.5"), ("64", "cpu", "64"), ("100m", "cpu", "0.1")),
        *(
            ("8Gi", "memory", "8 GiB"),
            ("1500Mi", "memory", "1.46 GiB"),
            ("512Mi", "memory", "512 MiB"),
            ("0", "memory", "0 B"),
        ),
    ],
)
def test_amounts_in_words(value: str, resource: str, text: str) -> None:
    assert amount(amounts_of({"x": value})["x"], resource) == text


def test_resources_in_words() -> None:
    assert [word_of(r) for r in ("cpu", "memory", "nvidia.com/gpu", "amd.com/gpu", "example.com/fpga")] == [
        "CPU",
        "Memory",
        "GPU",
        "GPU",
        "fpga",
    ]


def test_since_when_a_machine_is_silent() -> None:
    raw = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-03-01T12:00:00Z"}]}}  # fmt: skip
    since = machine_of("m", raw).since
    assert since is not None
    assert since.utcoffset() == timedelta(0)
