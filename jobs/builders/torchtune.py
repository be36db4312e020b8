"""torchtune: `tune run` becomes the recipe and configuration that fit the model, the devices and the arguments."""

from jobs.spec.accelerators import device_count

from .capabilities import Rendezvous
from .containers import Obj
from .draft import Draft
from .errors import BuildError

ENTRYPOINT = ["tune", "run"]
MODEL_ANNOTATION = "trainui.dev/torchtune-model"
MODELS = ("llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B")


def is_torchtune(draft: Draft) -> bool:
    """Return whether the TrainJob leaves the command to us: exactly `tune run`."""
    return draft.trainer.get("command") == ENTRYPOINT


def model_of(runtime_name: str) -> str | None:
    """Return the model a runtime's name stands for: `torchtune-llama3.2-1b` is `llama3_2/1B`; None if it has another form."""
    parts = runtime_name.split("-")
    if len(parts) != 3:
        return None
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}"


def _flag(arguments: list[str], name: str) -> bool:
    """Return whether an argument sets a boolean option to true."""
    return any(name in a and a.lower().partition("=")[2].strip() == "true" for a in arguments)


def _tuning(arguments: list[str]) -> str:
    """Return `qlora`, `lora` or `full`: what the arguments ask for. DoRA uses the LoRA recipe."""
    if _flag(arguments, "model.quantize_base") and not _flag(arguments, "model.use_dora"):
        return "qlora"
    return "lora" if any("model.lora_attn_modules" in argument for argument in arguments) else "full"


def recipe(nodes: int, single_device: bool, arguments: list[str]) -> tuple[str, str]:
    """Return the recipe and the suffix of its configuration."""
    tuning = _tuning(arguments)
    if nodes > 1:
        return "full_finetune_distributed", "_full_multinode"
    name = "full_finetune" if tuning == "full" else "lora_finetune"
    return (
        (f"{name}_single_device", f"_{tuning}_single_device")
        if single_device
        else (f"{name}_distributed", f"_{tuning}")
    )


def _kept(command: list[str]) -> list[str]:
    """Return the configuration overrides of the runtime's command (`key=value`, `~key`).

    Upstream keeps only paths, and so loses the data set of the runtime.
    """
    overrides = []
    for item in command:
        if item.startswith("~") or ("=" in item and not item.startswith("-")):
            overrides.append(item)
    return overrides


def set_command(draft: Draft, target: Obj, nproc: str, meet: Rendezvous) -> None:
    """Write the whole `tune run` command into the container; the TrainJob's arguments stay in `args`.

    target: still has the runtime's own command. nproc: processes per node, a number or `auto`.
    Raises BuildError if neither the runtime's annotation nor its name tells the model.
    """
    runtime_name = str((draft.spec.get("runtimeRef") or {}).get("name", ""))
    model = draft.annotation(MODEL_ANNOTATION) or model_of(runtime_name)
    if model is None or (not draft.annotation(MODEL_ANNOTATION) and model not in MODELS):
        message = f"{runtime_name} does not tell which model torchtune tunes: set the annotation {MODEL_ANNOTATION}."
        raise BuildError.of("spec.runtimeRef.name", "unknown_model", message, models=list(MODELS))
    gpus = device_count(target.get("resources"))
    single = nproc == "1" or gpus == 1
    name, suffix = recipe(draft.nodes, single, draft.trainer.get("args") or [])
    several = draft.nodes > 1 or (nproc.isdigit() and int(nproc) > 1) or (nproc == "auto" and gpus > 1)
    endpoint = [f"--rdzv_endpoint={meet.address}:{meet.port}"] if several else []
    kept = _kept(target.get("command") or [])
    target["command"] = [*ENTRYPOINT, *endpoint, name, "--config", model + suffix, *kept]
