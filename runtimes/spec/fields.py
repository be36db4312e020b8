"""Field paths that parameters set: `spec.trainer.numNodes`, `spec.trainer.env[HF_TOKEN]`, `...limits[nvidia.com/gpu]`.

A key in brackets is a map key with odd characters, or the name of an entry in a list that is keyed by name (env).
"""

import re
from typing import Any

_TOKEN = re.compile(r"(?:\A|(?<!\A)\.)([A-Za-z][A-Za-z0-9]*)|\[([^\]\[]+)\]")
NAMED_LISTS = ("env",)


def parse_path(path: str) -> list[str] | None:
    """Return the keys of a path, or None if it is none. Bracketed keys keep no mark: the list before them tells what they are."""
    keys: list[str] = []
    end = 0
    for match in _TOKEN.finditer(path):
        if match.start() != end:
            return None
        keys.append(match[1] or match[2])
        end = match.end()
    return keys if keys and end == len(path) else None


def assign(obj: dict[str, Any], path: str, value: Any) -> None:
    """Set the field at `path` in a nested object, making maps and lists on the way.

    An entry of a named list gets `value` as its content: a map is merged into it, anything else becomes its `value`.
    Raises ValueError for a path that `parse_path` does not accept.
    """
    keys = parse_path(path)
    if keys is None:
        raise ValueError(f"{path} is no field path")
    target: Any = obj
    for index, key in enumerate(keys[:-1]):
        named = key in NAMED_LISTS and index == len(keys) - 2
        target = target.setdefault(key, [] if named else {})
    if isinstance(target, list):
        put_named(target, keys[-1], value if isinstance(value, dict) else {"value": value})
    else:
        target[keys[-1]] = value


def put_named(entries: list[dict[str, Any]], name: str, content: dict[str, Any]) -> None:
    """Set the entry of that name in a list of named entries, in place if it is there."""
    fresh = {"name": name, **content}
    for index, entry in enumerate(entries):
        if entry.get("name") == name:
            entries[index] = fresh
            return
    entries.append(fresh)


def is_named_entry(path: str) -> bool:
    """Whether a path leads to an entry of a named list, such as one variable."""
    keys = parse_path(path) or []
    return len(keys) > 1 and keys[-2] in NAMED_LISTS


def covers(path: str, field: str) -> bool:
    """Whether `field` is the field at `path` or one inside it."""
    return field == path or field.startswith((f"{path}.", f"{path}["))
