"""The fine-tuning program without torch: its arguments, data, checkpoints and reports."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from trainui_finetune.checkpoints import newest
from trainui_finetune.data import DataError, example, source
from trainui_finetune.options import Options, lora_settings, parse, training_settings
from trainui_finetune.progress import Progress

from runtimes.services import BLUEPRINTS_DIR
from runtimes.spec.access import containers, replicated_jobs
from runtimes.spec.blueprint import load_blueprint
from runtimes.spec.parameters import bind

NEEDED = ["--model=m", "--dataset=d", "--output=o"]


def test_defaults() -> None:
    assert parse(NEEDED) == Options("m", "d", "o")
    assert lora_settings(parse(NEEDED)) == {
        "task_type": "CAUSAL_LM",
        "r": 16,
        "lora_alpha": 32,
        "lora_dropout": 0.05,
        "target_modules": "all-linear",
    }
    settings = training_settings(parse(NEEDED), bf16=True)
    assert (settings["max_steps"], settings["model_init_kwargs"]) == (-1, {"dtype": "bfloat16"})
    assert training_settings(parse(NEEDED), bf16=False)["model_init_kwargs"] == {"dtype": "float32"}


def test_all_weights_and_layers_by_name() -> None:
    assert lora_settings(parse([*NEEDED, "--lora-rank=0"])) is None
    named = lora_settings(parse([*NEEDED, "--lora-targets=q_proj, v_proj,", "--lora-alpha=8"]))
    assert named is not None
    assert (named["target_modules"], named["lora_alpha"]) == (["q_proj", "v_proj"], 8)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--epochs=0", "more than 0"),
        ("--epochs=nan", "more than 0"),
        ("--epochs=x", "no number"),
        ("--learning-rate=-1", "more than 0"),
        ("--batch-size=0", "1 or more"),
        ("--batch-size=1.5", "no whole number"),
        ("--lora-rank=-1", "0 or more"),
        ("--lora-dropout=1.1", "at most 1"),
        ("--model= ", "must not be empty"),
        ("--nonsense", "unrecognized"),
    ],
)
def test_bad_arguments_end_it_before_anything_is_loaded(argument: str, said: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([*NEEDED, argument])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["52-gemma-3-1b", "53-mistral-7b"])
@pytest.mark.parametrize("values", [{}, {"max_steps": 3, "lora_alpha": 64, "lora_rank": 0, "epochs": "0.5"}])
def test_the_blueprints_give_arguments_that_it_takes(name: str, values: dict[str, Any]) -> None:
    blueprint = load_blueprint((BLUEPRINTS_DIR / f"{name}.yaml").read_text(encoding="utf-8"))
    trainjob, findings = bind(blueprint, "job", "team-a", values, channel="api")
    assert findings.refused == []
    trainer = trainjob["spec"]["trainer"]
    assert trainer["command"] == ["torchrun", "-m", "trainui_finetune"]
    options = parse(trainer["args"])
    assert options.model == yaml.safe_load((BLUEPRINTS_DIR / f"{name}.yaml").read_text())["parameters"][0]["default"]
    assert options.max_steps == values.get("max_steps")
    [mount] = containers(replicated_jobs(blueprint.runtime)[0])[0]["volumeMounts"]
    assert options.output.startswith(mount["mountPath"] + "/"), "checkpoints lie on the volume that outlives a restart"


USER, ASSISTANT = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


@pytest.mark.parametrize(
    ("row", "plain", "chat"),
    [
        (
            {"instruction": "Q", "input": "", "output": "A"},
            {"prompt": "Q\n\n", "completion": "A"},
            {"prompt": [USER], "completion": [ASSISTANT]},
        ),
        (
            {"instruction": "Q", "input": "more", "output": "A", "text": "whole"},
            {"prompt": "Q\n\nmore\n\n", "completion": "A"},
            {"prompt": [USER | {"content": "Q\n\nmore"}], "completion": [ASSISTANT]},
        ),
        (
            {"prompt": "Q", "completion": "A"},
            {"prompt": "Q\n\n", "completion": "A"},
            {"prompt": [USER], "completion": [ASSISTANT]},
        ),
        (
            {"prompt": [USER], "completion": [ASSISTANT]},
            {"prompt": "user: Q\n\nassistant: ", "completion": "A"},
            {"prompt": [USER], "completion": [ASSISTANT]},
        ),
        (
            {"messages": [USER, ASSISTANT]},
            {"prompt": "user: Q\n\nassistant: ", "completion": "A"},
            {"prompt": [USER], "completion": [ASSISTANT]},
        ),
        ({"text": "whole", "id": 3}, {"text": "whole"}, {"text": "whole"}),
    ],
)
def test_rows(row: dict[str, Any], plain: dict[str, Any], chat: dict[str, Any]) -> None:
    assert example(row, chat=False) == plain
    assert example(row, chat=True) == chat


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"a": 1},
        {"instruction": "Q", "output": " "},
        {"instruction": "Q", "output": None},
        {"messages": [USER]},
        {"messages": [ASSISTANT]},
        {"messages": []},
        {"text": " "},
    ],
)
def test_rows_without_an_answer(row: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        example(row, chat=True)


def test_sources(tmp_path: Path) -> None:
    assert source("tatsu-lab/alpaca") == {"path": "tatsu-lab/alpaca"}
    (tmp_path / "README.md").write_text("about")
    with pytest.raises(DataError, match="no file of a known format"):
        source(str(tmp_path))
    one, two = tmp_path / "1.jsonl", tmp_path / "more" / "2.json"
    two.parent.mkdir()
    one.write_text("{}"), two.write_text("{}")
    assert source(str(tmp_path)) == {"path": "json", "data_files": [str(one), str(two)]}
    assert source(str(one)) == {"path": "json", "data_files": [str(one)]}
    (tmp_path / "3.parquet").write_text("")
    with pytest.raises(DataError, match="2 formats"):
        source(str(tmp_path))
    with pytest.raises(DataError, match="There is no file"):
        source(str(tmp_path / "nothing"))


def test_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    assert newest(str(tmp_path / "nothing")) is None
    assert newest(str(tmp_path)) is None
    for step, state in ((9, '{"global_step": 9}'), (10, '{"global_step": 10}'), (200, '{"global_st'), (300, None)):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        if state is not None:
            (folder / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-400").write_text("a file")
    (tmp_path / "checkpoint-new").mkdir()
    assert newest(str(tmp_path)) == str(tmp_path / "checkpoint-10"), "10 comes after 9, and half a checkpoint is none"


def test_reports_while_it_trains() -> None:
    said: list[tuple[float | None, dict[str, Any], float | None]] = []

    def report(percent: Any = None, metrics: Any = None, eta: Any = None) -> bool:
        said.append((percent, dict(metrics), eta))
        return True

    now = [100.0]
    progress = Progress(report, clock=lambda: now[0])
    progress.on_train_begin(None, SimpleNamespace(global_step=50, max_steps=100), None)
    now[0] += 30
    progress.on_log(
        None, SimpleNamespace(global_step=60, max_steps=100), None, logs={"loss": 1.5, "total_flos": 1e9, "epoch": 0.6}
    )
    progress.on_log(None, SimpleNamespace(global_step=60, max_steps=100), None, logs={"train_runtime": 3})
    progress.on_train_end(None, SimpleNamespace(global_step=100, max_steps=100), None)
    assert said == [
        (50.0, {"step": 50}, None),
        (60.0, {"step": 60, "loss": 1.5, "epoch": 0.6}, 120.0),  # ten steps took 30 s: it went on from step 50
        (99.0, {"step": 100}, None),
    ]


def test_an_adapter_is_kept_and_whole_weights_are_not(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    from trainui_finetune.train import keep

    monkeypatch.delenv("TRAINUI_ARTIFACTS_URL", raising=False)
    (tmp_path / "model.safetensors").write_text("w")
    assert keep(tmp_path) == []
    assert str(tmp_path) in capsys.readouterr().out
    (tmp_path / "adapter_config.json").write_text(json.dumps({}))
    (tmp_path / "adapter_model.safetensors").write_text("a")
    assert keep(tmp_path) == ["adapter_config.json", "adapter_model.safetensors"]
