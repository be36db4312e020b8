"""How a runtime in the cluster differs from its blueprint, field by field."""

from dataclasses import dataclass
from typing import Any

import yaml

from runtimes.drift import differences
from runtimes.models import Runtime

MISSING = "(not set)"
_SHOWN = 2000


@dataclass(frozen=True)
class Drift:
    """One field: what the blueprint wants there, and what the cluster has."""

    path: str
    wanted: str
    found: str


def drifts(row: Runtime) -> list[Drift]:
    """Return the fields at which the cluster's runtime lacks or changes what the blueprint says."""
    wanted, found = (row.manifest or {}).get("spec"), (row.observed or {}).get("spec")
    return [
        Drift(f"spec.{path}", _text(value_at(wanted, path)), _text(value_at(found, path)))
        for path in differences(wanted, found)
    ]


class _Absent:
    """Stands for a field that is not there, which is not the same as null."""


_ABSENT = _Absent()


def value_at(value: Any, path: str) -> Any:
    """Return what a path of `differences` leads to. Keys may hold dots: the longest key that fits is taken first."""
    if path in ("", "."):
        return value
    if path.startswith("["):
        index, _, rest = path[1:].partition("]")
        there = isinstance(value, list) and int(index) < len(value)
        return value_at(value[int(index)], rest.removeprefix(".")) if there else _ABSENT
    if not isinstance(value, dict):
        return _ABSENT
    for key in sorted(value, key=len, reverse=True):
        rest = path.removeprefix(key)
        if path.startswith(key) and (rest == "" or rest[0] in ".["):
            return value_at(value[key], rest.removeprefix("."))
    return _ABSENT


def _text(value: Any) -> str:
    if isinstance(value, _Absent):
        return MISSING
    if isinstance(value, dict | list):
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=False).rstrip()
    else:
        text = yaml.safe_dump(value, allow_unicode=True, width=2**30).removesuffix("...\n").rstrip()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
