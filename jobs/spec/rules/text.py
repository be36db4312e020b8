"""Text that no program and no database can be given."""

from collections.abc import Iterator
from typing import Any

from jobs.spec.rules.base import Case
from runtimes.spec.findings import Finding
from runtimes.spec.schema import field_path

Keys = tuple[str | int, ...]
ENVIRONMENT = ("spec", "trainer", "env")


def without_nul(case: Case) -> Iterator[Finding]:
    """Find text with the character NUL: arguments and variables of programs end there, and PostgreSQL refuses it."""
    for keys in _with_nul(case.trainjob, ()):
        if keys[:3] == ENVIRONMENT:  # `submit.environment` has said it
            continue
        yield Finding(field_path(list(keys)), "control_char", "holds the character NUL (\\0): remove it")


def _with_nul(value: Any, keys: Keys) -> Iterator[Keys]:
    if isinstance(value, str) and "\0" in value:
        yield keys
    elif isinstance(value, dict):
        for key, item in value.items():
            if "\0" in key:
                yield keys
            yield from _with_nul(item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _with_nul(item, (*keys, index))
