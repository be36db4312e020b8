"""Writing files that only their owner may read."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all. Raises OSError."""
    fresh = path.with_name(f".{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.chmod(0o600)
    fresh.replace(path)
