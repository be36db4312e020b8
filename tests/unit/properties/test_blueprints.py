"""The blueprints that ship: each makes a job that is accepted and built, with its gang, its name budget and what it needs."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.builders import build, expected, generate_keys
from jobs.spec.accelerators import devices
from jobs.spec.defaults import default_trainjob
from jobs.spec.names import name_budget
from jobs.spec.validation import validate_trainjob
from runtimes.services import BLUEPRINTS_DIR
from runtimes.spec.access import containers, replicated_jobs
from runtimes.spec.blueprint import Blueprint, load_blueprint
from runtimes.spec.defaults import default_runtime
from runtimes.spec.parameters import bind
from tests.generated_jobs import CAPABILITIES

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
FILES = sorted(BLUEPRINTS_DIR.glob("*.yaml"))
# What a job with the blueprint's own values has: members of its gang, and the longest name it may have.
WANTED = {
    "sample-mnist": (["node", "launcher"], 2, 44),
    "plain-command": (["node"], 1, 48),
    "torch-distributed": (["node"], 1, 48),
    "mpi-distributed": (["node", "launcher"], 2, 44),
    "torchtune-llama3.2-1b": (["node"], 1, 33),
    "torchtune-llama3.2-3b": (["node"], 1, 33),
    "gemma3-1b": (["node"], 1, 48),
    "mistral-7b": (["node"], 1, 48),
    "deepspeed-distributed": (["node", "launcher"], 2, 44),
    "jax-distributed": (["node"], 1, 48),
    "xgboost-distributed": (["node"], 1, 48),
}
BY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def loaded(path: Path) -> Blueprint:
    return load_blueprint(path.read_text(encoding="utf-8"))


def job_of(blueprint: Blueprint, name: str = "job", **values: Any) -> dict[str, Any]:
    given = {p.name: ["python", "train.py"] for p in blueprint.parameters if p.required and p.type == "command"}
    trainjob, findings = bind(blueprint, name, "team-a", given | values, channel="api")
    assert findings.refused == []
    return trainjob


def test_all_are_looked_at() -> None:
    assert {loaded(path).name for path in FILES} == set(WANTED)


@BY_FILE
def test_gang_and_name(path: Path) -> None:
    blueprint = loaded(path)
    members, count, longest = WANTED[blueprint.name]
    runtime = default_runtime(blueprint.runtime)
    trainjob = job_of(blueprint)
    assert validate_trainjob(trainjob, blueprint.runtime).refused == []
    stored = default_trainjob(trainjob, NOW)
    gang = expected(stored, runtime, CAPABILITIES)["gang"]
    assert (gang["members"], gang["min_member"]) == (members, count)
    assert [o["kind"] for o in build(stored, runtime, CAPABILITIES, generate_keys())].count("PodGroup") == 1
    assert name_budget(runtime, None).max_length == longest
    assert validate_trainjob(job_of(blueprint, "n" * longest), blueprint.runtime).refused == []
    [finding] = validate_trainjob(job_of(blueprint, "n" * (longest + 1)), blueprint.runtime).refused
    assert (finding.code, finding.params["max_length"]) == ("too_long", longest)


@BY_FILE
def test_the_card_says_what_the_pods_ask_for(path: Path) -> None:
    blueprint = loaded(path)
    needs = blueprint.card.needs
    runtime = default_runtime(blueprint.runtime)
    ranked = [
        entry for entry in expected(job_of(blueprint), runtime, CAPABILITIES)["replicated_jobs"] if entry["runs_ranks"]
    ]
    assert sum(entry["count"] for entry in ranked) == needs.nodes
    for job in replicated_jobs(runtime):
        if job["name"] in {entry["replicated_job"] for entry in ranked}:
            found = devices(containers(job)[0].get("resources"))
            assert found == ({needs.accelerator_resource: needs.accelerators} if needs.accelerators else {})
    assert blueprint.card.local or needs.accelerators, (
        "what the local cluster cannot run says which accelerators it needs"
    )


@pytest.mark.parametrize(
    ("values", "recipe", "config"),
    [
        ({}, "lora_finetune_single_device", "_lora_single_device"),
        ({"lora": False}, "full_finetune_single_device", "_full_single_device"),
        ({"dora": True, "lora_rank": 8}, "lora_finetune_single_device", "_lora_single_device"),
        ({"qlora": True}, "lora_finetune_single_device", "_qlora_single_device"),
        ({"accelerators": 2}, "lora_finetune_distributed", "_lora"),
        ({"accelerators": 2, "lora": False}, "full_finetune_distributed", "_full"),
    ],
)
@pytest.mark.parametrize("size", ["1b", "3b"])
def test_llama_gets_the_recipe_of_its_options(size: str, values: dict[str, Any], recipe: str, config: str) -> None:
    blueprint = loaded(next(path for path in FILES if path.stem.endswith(f"llama-3.2-{size}")))
    trainjob = default_trainjob(job_of(blueprint, **values), NOW)
    assert validate_trainjob(trainjob, blueprint.runtime).refused == []
    jobset = build(trainjob, default_runtime(blueprint.runtime), CAPABILITIES)[-1]
    node = jobset["spec"]["replicatedJobs"][-1]["template"]["spec"]["template"]["spec"]["containers"][0]
    rest = [word for word in node["command"] if not word.startswith("--rdzv")]
    assert rest[:5] == ["tune", "run", recipe, "--config", f"llama3_2/{size.upper()}{config}"]
    assert "dataset.data_dir=/workspace/dataset/data" in node["command"]
    assert "epochs=1" in node["args"]
    assert all("None" not in word for word in node["args"])


def test_the_llama_token_goes_to_both_initializers_and_not_to_the_trainer() -> None:
    blueprint = loaded(next(path for path in FILES if path.stem.endswith("llama-3.2-1b")))
    trainjob = job_of(blueprint, token={"name": "hub", "key": "t"})
    reference = {"name": "ACCESS_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "t"}}}
    assert [trainjob["spec"]["initializer"][kind]["env"] for kind in ("dataset", "model")] == [[reference]] * 2
    assert "env" not in trainjob["spec"]["trainer"]
