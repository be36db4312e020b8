"""What REST answers: the parts of a job, replays, dry runs, YAML, and the description of it all."""

import json
import re
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.urls import URLPattern, URLResolver

from jobs.models import TrainJob
from jobs.state import phases
from tests.unit.api.world import API, World, make_job, manifest
from trainui import api_urls


def test_a_job(world: World) -> None:
    body = world.get(world.at).json()
    assert (body["id"], body["name"], body["phase"]) == (str(world.job.pk), world.job.name, "Running")
    assert (body["owner"], body["project"], body["finished"]) == ("alice", "team-a", False)
    assert body["nodes"] == {"expected": 2, "ready": 2}
    assert body["reason"]["sentence"] == "All is well."
    assert set(body["links"]) == {"nodes", "events", "logs", "metrics", "artifacts", "manifest", "origins"}
    assert {world.client("alice").get(link).status_code for link in body["links"].values()} == {200}


@pytest.mark.parametrize(
    ("who", "actions"),
    [
        ("alice", ["suspend", "cancel", "delete", "clone"]),
        ("carol", ["suspend", "cancel", "delete", "clone"]),
        ("dora", ["clone"]),
        ("bob", []),
    ],
)
def test_only_what_the_state_allows_and_the_person_may(world: World, who: str, actions: list[str]) -> None:
    assert world.get(world.at, who).json()["actions"] == actions


def test_parts_of_a_job(world: World) -> None:
    assert [n["rank"] for n in world.get(f"{world.at}/nodes").json()["items"]] == [0]
    assert [e["reason"] for e in world.get(f"{world.at}/events").json()["items"]] == ["Started"]
    (loss,) = world.get(f"{world.at}/metrics").json()["items"]
    assert (loss["name"], loss["last"], len(loss["points"])) == ("loss", 0.1, 10)
    assert world.get(f"{world.at}/metrics", name="other").json()["items"] == []
    (log,) = world.get(f"{world.at}/logs").json()["items"]
    assert (log["lines"], log["complete"], log["rank"]) == (3, True, 0)
    text = world.get(f"{world.at}/logs/text")
    assert text["Content-Type"] == "text/plain; charset=utf-8"
    assert text.content.decode().splitlines() == [f"line {n} of {world.job.name}" for n in range(3)]
    raw = b"".join(world.get(f"{world.at}/logs/download", stream=log["id"]).streaming_content)
    assert raw == text.content
    merged = b"".join(world.get(f"{world.at}/logs/download").streaming_content).decode().splitlines()
    assert (
        merged[0] == f"2026-03-01T10:00:00.000000000Z [{world.job.name}-node-0-0-abcde/node] line 0 of {world.job.name}"
    )


def test_an_artifact(world: World) -> None:
    (kept,) = world.get(f"{world.at}/artifacts").json()["items"]
    assert (kept["name"], kept["size"]) == ("models/best.npz", 20)
    answer = world.client("bob").get(kept["url"], headers={"Accept": "application/octet-stream"})
    assert b"".join(answer.streaming_content) == b"weights of the model"
    assert answer["Content-Disposition"] == 'attachment; filename="best.npz"'
    assert answer["Content-Length"] == "20"
    assert answer["Content-Type"] == "application/octet-stream"
    again = world.client("bob").get(kept["url"], headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304


def test_a_manifest_is_yaml_that_can_be_submitted_again(world: World) -> None:
    answer = world.client("alice").get(f"{API}{world.at}/manifest", headers={"Accept": "application/yaml"})
    assert answer["Content-Type"] == "application/yaml"
    assert answer["Content-Disposition"] == f'attachment; filename="{world.job.name}.yaml"'
    text = answer.content.decode().replace(world.job.name, "second")
    made = world.post("/trainjobs", text, content_type="application/yaml")
    assert made.status_code == 201, made.content
    stored = TrainJob.objects.get(name="second").detail.manifest
    assert stored["spec"]["trainer"]["command"] == yaml.safe_load(text)["spec"]["trainer"]["command"]


def test_a_submission_and_its_replay(world: World) -> None:
    body, key = manifest("replayed"), {"Idempotency-Key": "one"}
    first, again = world.post("/trainjobs", body, **key), world.post("/trainjobs", body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first["Location"] == again["Location"] == first.json()["url"]
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    other = world.post("/trainjobs", manifest("replayed", numNodes=1), **key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert world.post("/trainjobs", manifest("doras"), "dora", **key).status_code == 201
    assert TrainJob.objects.filter(name="replayed").count() == 1


def test_a_generated_name(world: World) -> None:
    body = manifest()
    body["metadata"] = {"generateName": "night-", "namespace": "team-a"}
    made = [world.post("/trainjobs", body).json()["name"] for _ in range(2)]
    assert len(set(made)) == 2
    assert all(name.startswith("night-") and len(name) == 11 for name in made)


def test_a_dry_run_shows_what_would_be_made(world: World) -> None:
    body = world.post("/trainjobs?dry_run=All", manifest("dry")).json()
    assert (body["accepted"], body["errors"]) == (True, [])
    assert {"JobSet", "PodGroup"} <= {obj["kind"] for obj in body["objects"]}
    assert body["manifest"]["spec"]["runtimeRef"]["kind"] == "ClusterTrainingRuntime"
    assert body["origins"]
    taken = world.post("/trainjobs?dry_run=1", manifest(world.job.name)).json()
    assert (taken["accepted"], taken["errors"][0]["code"]) == (False, "name_taken")
    assert TrainJob.objects.count() == 1


def test_dry_run_rest_and_page_say_where_every_value_comes_from(world: World) -> None:
    values = {"program": ["train.py", "--lr=1"], "nodes": 3, "cpu": "2", "environment": {"A": "1"}}
    body = {"project": "team-a", "blueprint": "torch-distributed", "name": "from-form", "parameters": values}
    dry = world.post("/trainjobs?dry_run=All", body).json()["origins"]
    found = {o["field"]: (o["value"], o["source"], o["name"], o["overrides"]) for o in dry}
    runtime = ("runtime", "torch-distributed")
    assert found["nodes"] == (3, "parameter", "nodes", ["default", "runtime"])
    assert found["processes per node"][:2] == (2, "policy")
    assert found["image"][1:3] == runtime
    assert found["command"] == (["torchrun"], "job", "", ["runtime"])
    assert found["args"] == (["train.py", "--lr=1"], "parameter", "program", [])
    assert found["env[A]"] == ("1", "parameter", "environment", [])
    assert found["env[PET_NNODES]"][1:3] == ("policy", "torch")
    assert found["requests[cpu]"] == ("2", "parameter", "cpu", ["runtime"])
    assert found["requests[memory]"][1:3] == runtime
    made = world.post("/trainjobs", body).json()
    assert world.get(f"/trainjobs/{made['id']}/origins").json()["items"] == dry
    page = " ".join(re.sub(r"<[^>]*>", " ", world.client("alice").get(f"/jobs/{made['id']}").content.decode()).split())
    for row in (
        "nodes 3 Parameter nodes",
        "image pytorch/pytorch",
        "command torchrun Job",
        "args train.py --lr=1 Parameter program",
    ):
        assert row in page
    for row in ("env[A] 1 Parameter environment", "requests[cpu] 2 Parameter cpu", "requests[memory] 2Gi Runtime"):
        assert row in page


@pytest.mark.parametrize("phase", [phases.SUCCEEDED, phases.FAILED, phases.CANCELLED, phases.LOST])
def test_a_finished_job_can_only_be_deleted(world: World, phase: str) -> None:
    job = make_job(world.project, world.users["alice"], name="over", phase=phase)
    for action in ("suspend", "resume", "cancel"):
        answer = world.post(f"/trainjobs/{job.pk}/{action}", {})
        expected = 202 if (phase, action) == (phases.CANCELLED, "cancel") else 409
        assert answer.status_code == expected, (action, answer.content)
    assert world.client("alice").delete(f"{API}/trainjobs/{job.pk}").status_code == 202


def test_the_reason_of_an_action_is_kept(world: World) -> None:
    assert world.post(f"{world.at}/cancel", {"reason": 5}).status_code == 422
    body = world.post(f"{world.at}/cancel", {"reason": "wrong data"}).json()
    assert (body["cancel"]["by"], body["cancel"]["reason"]) == ("alice", "wrong data")
    assert body["actions"] == ["delete", "clone"]


# the OpenAPI document


def test_the_document_is_valid_and_has_no_warning(tmp_path: Any) -> None:
    call_command(
        "spectacular",
        "--validate",
        "--fail-on-warn",
        "--format",
        "openapi-json",
        "--file",
        str(tmp_path / "schema.json"),
    )
    document = json.loads((tmp_path / "schema.json").read_text())
    assert document["openapi"].startswith("3.1")


def addresses(patterns: Any = None, prefix: str = "") -> list[str]:
    """Every address below the API, with its parameters as the document writes them."""
    found = []
    for pattern in api_urls.urlpatterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += addresses(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            found.append(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route))
    return found


def test_every_address_is_in_the_document(world: World) -> None:
    document = json.loads(world.client("bob").get(f"{API}/schema", {"format": "json"}).content)
    described = {path.removeprefix(f"{API}/") for path in document["paths"]}
    # The document does not describe itself; a stream of events is no operation of REST framework.
    undescribed = {"schema", "docs", "trainjobs/{job_id}/logs/stream"}
    assert described == set(addresses()) - undescribed
    operations = [op for path in document["paths"].values() for op in path.values() if isinstance(op, dict)]
    assert len({op["operationId"] for op in operations}) == len(operations)
    assert all(op.get("description") for op in operations)


def test_answers_have_the_fields_of_the_document(world: World) -> None:
    document = json.loads(world.client("bob").get(f"{API}/schema", {"format": "json"}).content)
    shapes = document["components"]["schemas"]
    assert set(shapes["TrainJobFull"]["properties"]) == set(world.get(world.at).json())
    (item,) = world.get("/trainjobs").json()["items"]
    assert set(shapes["TrainJob"]["properties"]) == set(item)
    problem = set(world.get("/trainjobs/none").json())
    assert problem <= set(shapes["Problem"]["properties"])
