"""Load, train, keep: the only module that needs torch."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trainui_report

from trainui_finetune.checkpoints import newest
from trainui_finetune.data import DataError, example, source
from trainui_finetune.options import Options, lora_settings, training_settings
from trainui_finetune.progress import Progress

FINAL = "final"
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")


def train(options: Options) -> int:
    """Train and return the program's exit status: 0, or 1 where the data are of no use."""
    import torch
    from peft import LoraConfig
    from transformers import AutoTokenizer, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    class Callback(Progress, TrainerCallback):
        """Progress as the trainer calls it."""

    tokenizer = AutoTokenizer.from_pretrained(options.model)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    try:
        data = load(options, chat=bool(tokenizer.chat_template))
    except DataError as error:
        print(f"trainui_finetune: {error}", file=sys.stderr)
        return 1
    bf16 = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    lora = lora_settings(options)
    trainer = SFTTrainer(
        model=options.model,
        args=SFTConfig(**training_settings(options, bf16)),
        train_dataset=data,
        processing_class=tokenizer,
        peft_config=LoraConfig(**lora) if lora else None,
        callbacks=[Callback(trainui_report.report)],
    )
    checkpoint = newest(options.output)
    if checkpoint:
        print(f"trainui_finetune: going on from {checkpoint}", flush=True)
    trainer.train(resume_from_checkpoint=checkpoint)
    final = Path(options.output) / FINAL
    trainer.save_model(str(final))
    if trainer.is_world_process_zero():
        keep(final)
    trainui_report.report(100)
    return 0


def load(options: Options, chat: bool) -> Any:
    """Return the training data, each row as trl wants it. Raises DataError for data that nothing can be made of."""
    from datasets import load_dataset

    rows = load_dataset(**source(options.dataset), split=options.split)
    usable = rows.filter(lambda row: _usable(row, chat))
    if not len(usable):
        example(rows[0] if len(rows) else {}, chat)  # says what is wrong with them
        raise DataError("The data set has no rows.")
    if len(usable) < len(rows):
        print(
            f"trainui_finetune: {len(rows) - len(usable)} of {len(rows)} rows have no answer and are left out",
            flush=True,
        )
    return usable.map(lambda row: example(row, chat), remove_columns=rows.column_names)


def _usable(row: Any, chat: bool) -> bool:
    try:
        example(row, chat)
    except DataError:
        return False
    return True


def keep(final: Path, names: Sequence[str] = ADAPTER) -> list[str]:
    """Keep a trained adapter with the job, and return the names of its files; all weights are too large and stay on the volume."""
    files = [final / name for name in names if (final / name).is_file()]
    for file in files:
        trainui_report.save_artifact(str(file))
    if not files:
        print(f"trainui_finetune: the trained weights are in {final}, on the job's volume", flush=True)
    return [file.name for file in files]
