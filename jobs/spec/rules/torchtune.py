"""Rules of torchtune jobs: TrainJobs on a torch runtime whose command is exactly `tune run` (webhook)."""

from collections.abc import Iterator
from typing import Any

from jobs.spec.accelerators import cpu_count, device_count
from jobs.spec.rules.accounted import merged_with_runtime
from jobs.spec.rules.base import Case
from runtimes.spec.access import as_list, dig
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import ANNOTATION_TORCHTUNE_MODEL

ENTRYPOINT = ["tune", "run"]
LLAMA_3_2 = ("llama3_2/1B", "llama3_2/3B")
MULTI_NODE = ("llama3_3/70B",)
QWEN = ("qwen2_5/1.5B",)
MODELS = (*LLAMA_3_2, *MULTI_NODE, *QWEN)
# Paths that the runtime and its volumes decide.
MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")


def is_torchtune(case: Case) -> bool:
    """Whether the job leaves its command to torchtune's recipes."""
    return "torch" in case.policies and case.trainer.get("command") == ENTRYPOINT


def model_of(runtime_name: str) -> str:
    """Return the model that a runtime's name stands for (`torchtune-llama3.2-1b` is `llama3_2/1B`), "" for another form."""
    parts = runtime_name.split("-")
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}" if len(parts) == 3 else ""


def annotated_model(case: Case) -> str:
    """Return the model that our annotation on the job or its runtime names, or ""."""
    for source in (case.trainjob, case.runtime):
        found = dig(source, "metadata", "annotations", ANNOTATION_TORCHTUNE_MODEL)
        if isinstance(found, str) and found:
            return found
    return ""


def is_qlora(args: list[Any]) -> bool:
    """Whether the arguments ask for QLoRA: a quantized base, and not DoRA."""
    lowered = [str(arg).lower() for arg in args]
    quantized = any("model.quantize_base" in arg and arg.partition("=")[2].strip() == "true" for arg in lowered)
    return quantized and "model.use_dora=true" not in lowered


def is_lora(args: list[Any]) -> bool:
    """Whether the arguments ask for LoRA, DoRA or QLoRA."""
    return is_qlora(args) or any("model.lora_attn_modules" in str(arg) for arg in args)


def single_device(case: Case) -> bool:
    """Whether a node runs one process on one device, by the merged resources (upstream's admission does not know CPU-only nodes)."""
    resources = merged_with_runtime(case)
    gpus = device_count(resources)
    processes = case.trainer.get("numProcPerNode")
    if isinstance(processes, int):
        return processes == 1 or gpus == 1
    return gpus == 1 or (gpus == 0 and cpu_count(resources) <= 1)


def model(case: Case) -> Iterator[Finding]:
    """The runtime stands for a model that torchtune's recipes know."""
    if not is_torchtune(case) or annotated_model(case):
        return
    found = model_of(_runtime_name(case))
    if found not in MODELS:
        message = f"must have a supported pretrained model, invalid model configured: {found}"
        yield Finding("spec.runtimeRef.name", "not_supported", message, {"choices": list(MODELS)})


def nodes(case: Case) -> Iterator[Finding]:
    """Only the largest model trains on several nodes, and LoRA on none."""
    count = case.trainer.get("numNodes")
    if not is_torchtune(case) or not isinstance(count, int) or count < 2:
        return
    found = annotated_model(case) or model_of(_runtime_name(case))
    if found in MODELS and found not in MULTI_NODE:
        yield Finding("spec.trainer.numNodes", "out_of_range", f"must be 1 for {found} model", {"maximum": 1})
    if is_lora(as_list(case.trainer.get("args"))):
        message = "LoRA fine-tuning is not supported for multi-node training in TorchTune"
        yield Finding("spec.trainer.numNodes", "out_of_range", message, {"maximum": 1})


def qlora(case: Case) -> Iterator[Finding]:
    """QLoRA works for Llama 3.2 on one device, not at all for Qwen."""
    if not is_torchtune(case) or not is_qlora(as_list(case.trainer.get("args"))):
        return
    found = annotated_model(case) or model_of(_runtime_name(case))
    if found in QWEN:
        yield Finding("spec.runtimeRef.name", "not_supported", f"QLoRA is not supported for {found} model")
    if found in LLAMA_3_2 and not single_device(case):
        message = f"must be auto or 1 for {found} model when using QLoRA"
        yield Finding("spec.trainer.numProcPerNode", "out_of_range", message, {"maximum": 1})
        message = f"must have gpu resource with value 1 for {found} model when using QLoRA"
        yield Finding("spec.trainer.resourcesPerNode", "out_of_range", message, {"maximum": 1})


def managed_args(case: Case) -> Iterator[Finding]:
    """The job sets no path that the runtime manages."""
    if not is_torchtune(case):
        return
    for index, arg in enumerate(as_list(case.trainer.get("args"))):
        key = str(arg).partition("=")[0].strip()
        if key in MANAGED:
            message = f'must not set immutable config "{key}" in trainer args; it is managed by the runtime'
            yield Finding(f"spec.trainer.args[{index}]", "reserved_argument", message, {"name": key})


def _runtime_name(case: Case) -> str:
    return str(dig(case.spec, "runtimeRef", "name") or "")
