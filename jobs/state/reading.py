"""Reading plain Kubernetes objects: every field may be missing, and none of that is an error."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs.state.times import parse

Object = Mapping[str, Any]
NOTHING: Object = {}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
MAX_QUOTED = 300
MAX_ERROR = 1_000  # of a call of ours that failed: the server's words, and behind them what helps


def dig(value: Any, *path: str) -> Any:
    """Return the value under a path of keys, or None where any part of it is missing."""
    for key in path:
        if not is_mapping(value):
            return None
        value = value.get(key)
    return value


def is_mapping(value: Any) -> bool:
    """Return whether a value is a mapping. Nearly all are dicts, which are recognised without the slow general question."""
    return value.__class__ is dict or isinstance(value, Mapping)


def mapping(value: Any, *path: str) -> Object:
    """Return the mapping under a path, or an empty one."""
    found: Object = dig(value, *path)
    return found if is_mapping(found) else NOTHING


def objects(value: Any, *path: str) -> list[Object]:
    """Return the mappings of the list under a path; what is no mapping is left out."""
    found = dig(value, *path)
    return [item for item in found if is_mapping(item)] if isinstance(found, list | tuple) else []


def text(value: Any, *path: str) -> str:
    """Return the text under a path, or an empty one."""
    found = dig(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str) -> int:
    """Return the whole number under a path, or 0. Digits in a text (labels) count as a number."""
    found = dig(value, *path)
    if isinstance(found, bool):
        return int(found)
    if isinstance(found, int):
        return found
    return int(found) if isinstance(found, str) and found.isascii() and found.isdigit() else 0


def moment(value: Any, *path: str) -> datetime | None:
    """Return the time under a path, or None."""
    return parse(dig(value, *path))


def canonical(value: Any) -> str:
    """Return a text that is the same for equal data whatever the order of its keys and lists: the last tie-break of every order."""
    if is_mapping(value):
        return "{" + ",".join(sorted(f"{key}:{canonical(item)}" for key, item in value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(sorted(canonical(item) for item in value)) + "]"
    return repr(value)


def condition(obj: Any, kind: str) -> Object:
    """Return the condition of a type (the one that changed last, should a list hold it twice), or an empty mapping."""
    found = [item for item in objects(obj, "status", "conditions") if item.get("type") == kind]
    if len(found) < 2:
        return found[0] if found else NOTHING
    return max(found, key=lambda item: (text(item, "lastTransitionTime"), canonical(item)))


def holds(item: Object) -> bool:
    """Return whether a condition is True; False, Unknown and missing are not."""
    return item.get("status") == "True"


def quote(raw: str, limit: int = MAX_QUOTED) -> str:
    """Return a foreign message as one line of bounded length, without control characters and without its final stop."""
    line = _CONTROL.sub(" ", raw).strip()
    return line[: limit - 1].rstrip() + "…" if len(line) > limit else line.rstrip(".")


def last_line(message: str) -> str:
    """Return the last line of a message that says anything: of a traceback, the error."""
    lines = [line for line in message.splitlines() if line.strip()]
    return quote(lines[-1]) if lines else ""


def small(sentence: str) -> str:
    """Return a sentence that begins with `The` as the rest of another one."""
    return f"the{sentence[3:]}" if sentence.startswith("The ") else sentence
