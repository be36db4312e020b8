"""What the program is asked to do: its arguments, checked before anything heavy is loaded."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ALL_LINEAR = "all-linear"


@dataclass(frozen=True)
class Options:
    """The arguments. lora_rank: 0 trains all weights. lora_alpha: None is twice the rank. max_steps: None trains all epochs."""

    model: str
    dataset: str
    output: str
    split: str = "train"
    epochs: float = 1.0
    learning_rate: float = 2e-4
    batch_size: int = 4
    accumulate: int = 4
    lora_rank: int = 16
    lora_alpha: int | None = None
    lora_dropout: float = 0.05
    lora_targets: str = ALL_LINEAR
    max_length: int = 1024
    max_steps: int | None = None
    save_steps: int = 200
    keep: int = 2
    seed: int = 42


def parse(arguments: Sequence[str]) -> Options:
    """Return the options. Ends the program with a message and status 2 where one cannot be."""
    parser = argparse.ArgumentParser("trainui_finetune", description=__doc__)
    add = parser.add_argument
    default = Options("", "", "")
    add("--model", type=_text, required=True, help="name on the hub, or a folder")
    add("--dataset", type=_text, required=True, help="name on the hub, or a file or folder of JSON lines or Parquet")
    add("--output", type=_text, required=True, help="folder for checkpoints and the trained weights")
    add("--split", type=_text, default=default.split)
    add("--epochs", type=_number(0, 1e6, open_below=True), default=default.epochs)
    add("--learning-rate", type=_number(0, 10, open_below=True), default=default.learning_rate)
    add("--batch-size", type=_whole(1), default=default.batch_size, help="examples per process in one step")
    add("--accumulate", type=_whole(1), default=default.accumulate, help="steps whose gradients are added up")
    add("--lora-rank", type=_whole(0), default=default.lora_rank, help="0 trains all weights")
    add("--lora-alpha", type=_whole(1), help="twice the rank if left out")
    add("--lora-dropout", type=_number(0, 1), default=default.lora_dropout)
    add("--lora-targets", type=_text, default=default.lora_targets, help="names of layers with commas, or all-linear")
    add("--max-length", type=_whole(16), default=default.max_length, help="tokens; longer examples are cut")
    add("--max-steps", type=_whole(1), help="end early")
    add("--save-steps", type=_whole(1), default=default.save_steps)
    add("--keep", type=_whole(1), default=default.keep, help="checkpoints that are kept")
    add("--seed", type=_whole(0), default=default.seed)
    return Options(**vars(parser.parse_args(arguments)))


def lora_settings(options: Options) -> dict[str, object] | None:
    """Return what peft's LoraConfig takes, None where all weights are trained."""
    if options.lora_rank == 0:
        return None
    names = [name.strip() for name in options.lora_targets.split(",") if name.strip()]
    return {
        "task_type": "CAUSAL_LM",
        "r": options.lora_rank,
        "lora_alpha": options.lora_alpha or 2 * options.lora_rank,
        "lora_dropout": options.lora_dropout,
        "target_modules": ALL_LINEAR if names == [ALL_LINEAR] else names,
    }


def training_settings(options: Options, bf16: bool) -> dict[str, object]:
    """Return what trl's SFTConfig takes.

    bf16: the devices calculate in it; without, weights and sums are 32 bits wide.
    """
    return {
        "output_dir": options.output,
        "num_train_epochs": options.epochs,
        "max_steps": options.max_steps or -1,
        "learning_rate": options.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 0.03,  # below 1 it is a share of all steps
        "per_device_train_batch_size": options.batch_size,
        "gradient_accumulation_steps": options.accumulate,
        "gradient_checkpointing": True,
        "max_length": options.max_length,
        "bf16": bf16,
        "model_init_kwargs": {"dtype": "bfloat16" if bf16 else "float32"},
        "save_strategy": "steps",
        "save_steps": options.save_steps,
        "save_total_limit": options.keep,
        "logging_steps": 5,
        "logging_first_step": True,
        "disable_tqdm": True,  # a bar is no log
        "report_to": "none",
        "seed": options.seed,
    }


def _text(given: str) -> str:
    if not given.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return given.strip()


def _whole(least: int) -> Callable[[str], int]:
    def read(given: str) -> int:
        try:
            value = int(given)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{given!r} is no whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be {least} or more")
        return value

    return read


def _number(least: float, most: float, open_below: bool = False) -> Callable[[str], float]:
    def read(given: str) -> float:
        try:
            value = float(given)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{given!r} is no number") from None
        if not least <= value <= most or (open_below and value == least):
            raise argparse.ArgumentTypeError(
                f"must be {'more than' if open_below else 'at least'} {least} and at most {most}"
            )
        return value

    return read
