"""Three-way merge of what two people made of one object."""

import copy
from typing import Any

_ABSENT = object()


def merge3(base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the merged object, and the JSON pointers of fields that both changed to different values.

    Maps are merged field by field, lists are one value. At a conflict the merged object has theirs, because that is stored already.
    """
    conflicts: list[str] = []
    merged = _merge(base, mine, theirs, "", conflicts)
    return copy.deepcopy(merged), conflicts


def _merge(base: Any, mine: Any, theirs: Any, pointer: str, conflicts: list[str]) -> Any:
    if mine in (theirs, base):
        return theirs
    if theirs == base:
        return mine
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        conflicts.append(pointer)
        return theirs
    before = base if isinstance(base, dict) else {}
    merged = {}
    for key in [*theirs, *(k for k in mine if k not in theirs)]:
        parts = (before.get(key, _ABSENT), mine.get(key, _ABSENT), theirs.get(key, _ABSENT))
        escaped = str(key).replace("~", "~0").replace("/", "~1")
        value = _merge(*parts, f"{pointer}/{escaped}", conflicts)
        if value is not _ABSENT:
            merged[key] = value
    return merged
