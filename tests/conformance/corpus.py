"""The conformance corpus and its reference evaluator, beside the checkout; `CASES` names another folder of the same sets."""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.shared_data import shared_file

Case = dict[str, Any]


def evaluator() -> ModuleType:
    """Return `must.py`, imported by its path."""
    path = shared_file("conformance/must.py")
    spec = importlib.util.spec_from_file_location("conformance_must", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(name: str, shared: str) -> list[Case]:
    """Return the cases of a set: from the folder CASES if that is set (none if it lacks the set), else from the shared file.

    name: the set's file. shared: where it lies among the shared files; the folder may be laid out like them too.
    """
    folder = os.environ.get("CASES")
    if folder:
        places = [Path(folder) / place for place in (name, shared, Path(name).stem + "/cases.json", Path(shared).name)]
        path = next((place for place in places if _is_set(place, Path(name).stem)), None)
    else:
        path = shared_file(shared)
    found = json.loads(path.read_text(encoding="utf-8")) if path else []
    return list(found["cases"] if isinstance(found, dict) else found)


def _is_set(path: Path, stem: str) -> bool:
    """Whether a file holds that set; a `cases.json` says in itself which one it is."""
    if not path.is_file():
        return False
    return path.name != "cases.json" or json.loads(path.read_text(encoding="utf-8")).get("set") == stem
