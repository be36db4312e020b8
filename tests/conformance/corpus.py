"""The shared sets of cases and their reference evaluator, beside the checkout; `CASES` names another folder of the same sets."""

import importlib.util
import json
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.shared_data import shared_file

Case = dict[str, Any]

# Where each known set lies among the shared files; `test_NAME.py` beside this file runs the set NAME.
PLACES = {
    "admission": "conformance/admission.json",
    "forms": "fixtures/forms/cases.json",
    "gang": "fixtures/gang/cases.json",
    "hostfiles": "fixtures/hostfiles/cases.json",
    "lifecycle": "conformance/lifecycle.json",
    "logs": "fixtures/logs/cases.json",
    "objects": "conformance/objects.json",
    "pending": "fixtures/pending/cases.json",
    "status": "fixtures/status/cases.json",
}


class TwiceError(ValueError):
    """A folder holds a set twice, so that nobody can tell which one is meant."""


def evaluator() -> ModuleType:
    """Return `must.py`, imported by its path."""
    path = shared_file("conformance/must.py")
    spec = importlib.util.spec_from_file_location("conformance_must", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def sets_in(folder: Path) -> dict[str, Path]:
    """Return the sets that a folder and those below it hold, by name, known or not.

    A set is a JSON list in `NAME.json`, or a map with `cases`, which may name its `set`. Raises TwiceError.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "cases" in content:
            name = str(content.get("set", path.stem))
        elif isinstance(content, list):
            name = path.stem
        else:
            continue
        if name in found:
            raise TwiceError(f"the set {name} is there twice: {found[name]} and {path}")
        found[name] = path
    return found


def cases(name: str) -> list[Case]:
    """Return the cases of a known set: from the folder CASES if that is set (none if it lacks the set), else the shared ones."""
    folder = os.environ.get("CASES")
    path = sets_in(Path(folder)).get(name) if folder else shared_file(PLACES[name])
    found = json.loads(path.read_text(encoding="utf-8")) if path else []
    return list(found["cases"] if isinstance(found, dict) else found)
