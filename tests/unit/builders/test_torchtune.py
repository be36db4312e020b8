"""torchtune's recipes."""

import pytest

from jobs.builders import BuildError, build
from jobs.builders.torchtune import model_of, recipe
from tests.unit.builders.samples import REAL, main, one, rjob, runtime, trainjob

LORA = ["model.lora_attn_modules=[q_proj]"]
QLORA = [*LORA, "model.quantize_base=True"]
DORA = [*QLORA, "model.use_dora=true"]
RECIPES = [
    (1, True, [], "full_finetune_single_device", "_full_single_device"),
    (1, False, [], "full_finetune_distributed", "_full"),
    (2, False, [], "full_finetune_distributed", "_full_multinode"),
    (1, True, LORA, "lora_finetune_single_device", "_lora_single_device"),
    (1, False, LORA, "lora_finetune_distributed", "_lora"),
    (1, True, QLORA, "lora_finetune_single_device", "_qlora_single_device"),
    (1, False, QLORA, "lora_finetune_distributed", "_qlora"),
    (1, True, DORA, "lora_finetune_single_device", "_lora_single_device"),
    (1, True, [*LORA, "model.quantize_base=False"], "lora_finetune_single_device", "_lora_single_device"),
]


@pytest.mark.parametrize(("nodes", "single", "arguments", "name", "suffix"), RECIPES)
def test_recipe(nodes, single, arguments, name, suffix):
    assert recipe(nodes, single, arguments) == (name, suffix)


@pytest.mark.parametrize(
    ("name", "model"),
    [("torchtune-llama3.2-1b", "llama3_2/1B"), ("x-qwen2.5-1.5b", "qwen2_5/1.5B"), ("llama", None), ("a-b-c-d", None)],
)
def test_model_of_a_runtime_name(name, model):
    assert model_of(name) == model


def tuned(name, command, metadata=None, trainer=None):
    rt = runtime(rjob("node", "trainer", command=command), policy={"torch": {}}, metadata=metadata)
    job = trainjob({"command": ["tune", "run"], **(trainer or {})})
    job["spec"]["runtimeRef"]["name"] = name
    return main(one(build(job, rt, REAL), "JobSet"), "node")


def test_overrides_of_the_runtime_are_kept_and_its_recipe_is_not():
    old = [
        "tune",
        "run",
        "--rdzv_endpoint=x:1",
        "lora",
        "--config",
        "c",
        "dataset.source=s",
        "~dataset.split",
        "output_dir=/o",
    ]
    target = tuned("torchtune-llama3.2-1b", old, trainer={"args": ["batch_size=2"], "numProcPerNode": 2})
    assert target["command"] == [
        "tune", "run", "--rdzv_endpoint=job-node-0-0.job:29500", "full_finetune_distributed", "--config",
        "llama3_2/1B_full", "dataset.source=s", "~dataset.split", "output_dir=/o",
    ]  # fmt: skip
    assert target["args"] == ["batch_size=2"]


def test_the_annotation_names_a_model_that_the_name_does_not():
    metadata = {"annotations": {"trainui.dev/torchtune-model": "gemma/2B"}}
    assert "gemma/2B_full_single_device" in tuned("ours", ["tune", "run"], metadata)["command"]


def test_without_a_model_there_is_no_command():
    with pytest.raises(BuildError) as caught:
        tuned("torchtune-gemma-2b", ["tune", "run"])
    assert caught.value.findings[0].path == "spec.runtimeRef.name"
