"""Where the shared fixtures and conformance sets lie: the folder `shared` beside the checkout."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_file(relative: str) -> Path:
    """Return the path of a shared file, or skip the module that asks for it.

    With TRAINUI_STRICT=1 a missing file is a failure instead of a skip.
    """
    path = SHARED / relative
    if not path.exists():
        if os.environ.get("TRAINUI_STRICT") == "1":
            pytest.fail(f"{relative} is missing: put the folder `shared` beside the checkout", pytrace=False)
        pytest.skip(f"no {relative} beside the checkout", allow_module_level=True)
    return path


def shared_json(relative: str) -> Any:
    """Return the parsed JSON of a shared file (see `shared_file`)."""
    return json.loads(shared_file(relative).read_text(encoding="utf-8"))
