"""A secret that was submitted in any form never comes back."""

import json
from typing import Any

import pytest

from jobs.models import TrainJob
from tests.unit.api.world import API, SECRET, World, manifest

PASSWORD = "open-sesame-42"  # noqa: S105  made up
ENVIRONMENTS: dict[str, Any] = {
    "lines": f"HF_TOKEN={SECRET}\nDB_PASSWORD={PASSWORD}\nEPOCHS=3",
    "a map": {"HF_TOKEN": SECRET, "DB_PASSWORD": PASSWORD, "EPOCHS": "3"},
    "pairs": [["HF_TOKEN", SECRET], ["DB_PASSWORD", PASSWORD], ["EPOCHS", "3"]],
    "names and values": [
        {"name": "HF_TOKEN", "value": SECRET},
        {"name": "DB_PASSWORD", "value": PASSWORD},
        {"name": "EPOCHS", "value": "3"},
    ],
}


def all_answers(world: World, job: TrainJob) -> bytes:
    """Everything that REST tells of a job, to its owner and in lists."""
    client = world.client("alice")
    paths = [
        f"{API}/trainjobs/{job.pk}{part}"
        for part in ("", "/nodes", "/events", "/manifest", "/origins", "/metrics", "/artifacts", "/logs")
    ]
    return b"".join(client.get(path).content for path in [*paths, f"{API}/trainjobs"])


def submit(world: World, body: Any) -> bytes:
    """Submit and return all that is told of it, the dry run before it too."""
    dry = world.post("/trainjobs?dry_run=1", body)
    assert dry.json()["accepted"], dry.content
    answer = world.post("/trainjobs", body)
    assert answer.status_code == 201, answer.content
    return bytes(dry.content + answer.content) + all_answers(world, TrainJob.objects.get(pk=answer.json()["id"]))


@pytest.mark.parametrize("form", ENVIRONMENTS)
def test_variables_of_a_blueprint(world: World, form: str) -> None:
    parameters = {"script": "true", "environment": ENVIRONMENTS[form]}
    body = {"project": "team-a", "blueprint": "plain-command", "name": "secretive", "parameters": parameters}
    told = submit(world, body)
    for secret in (SECRET, PASSWORD):
        assert secret.encode() not in told
    assert b"EPOCHS" in told


def test_words_of_a_program(world: World) -> None:
    program = f"train.py --api-key {PASSWORD} --epochs 3 --hub=https://me:{PASSWORD}@hub.example/x {SECRET}"
    body = {
        "project": "team-a",
        "blueprint": "torch-distributed",
        "name": "secretive",
        "parameters": {"program": program},
    }
    told = submit(world, body)
    for secret in (SECRET, PASSWORD):
        assert secret.encode() not in told
    assert b"--epochs" in told


def test_a_manifest(world: World) -> None:
    env = [
        {"name": "HF_TOKEN", "value": SECRET},
        {"name": "DB_PASSWORD", "value": PASSWORD},
        {"name": "EPOCHS", "value": "3"},
    ]
    told = submit(world, manifest("secretive", env=env, args=["--token", PASSWORD, f"--key={SECRET}"]))
    for secret in (SECRET, PASSWORD):
        assert secret.encode() not in told
    assert b"EPOCHS" in told


def test_a_refusal_repeats_no_secret(world: World) -> None:
    body = {
        "project": "team-a",
        "blueprint": "plain-command",
        "name": "x",
        "parameters": {"script": "true", "environment": f"A B={SECRET}"},
    }
    answer = world.post("/trainjobs", body)
    assert answer.status_code == 422
    assert SECRET not in answer.content.decode()


def test_an_export_names_what_it_omits(world: World) -> None:
    answer = world.client("alice").get(f"{API}{world.at}/manifest")
    assert "spec.trainer.env" in answer["X-Trainui-Omitted"]
    assert SECRET not in json.dumps(dict(answer.headers))
