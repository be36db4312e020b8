"""Going on after a restart: the newest checkpoint that was written to its end."""

import json
import re
from pathlib import Path

_NAME = re.compile(r"checkpoint-(\d+)\Z")
# What the trainer writes last: weights and optimizer are there when it is.
STATE = "trainer_state.json"


def newest(output: str) -> str | None:
    """Return the folder of the newest complete checkpoint, None if there is none.

    A program that was killed while it saved leaves half a checkpoint: that one is passed over.
    """
    folder = Path(output)
    if not folder.is_dir():
        return None
    numbered = [(int(match[1]), p) for p in folder.iterdir() if p.is_dir() and (match := _NAME.fullmatch(p.name))]
    for step, path in sorted(numbered, reverse=True):
        if _step(path / STATE) == step:
            return str(path)
    return None


def _step(state: Path) -> int | None:
    try:
        found = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get("global_step") if isinstance(found, dict) else None
