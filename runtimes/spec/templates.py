"""`{{ name }}` in the texts of a blueprint: which parameters they name, and what they become.

`{{ name | sh }}` quotes the value for a shell. `{{ name | literal }}` writes it so that Kubernetes hands it to the program as it is: in commands,
arguments and variables it takes `$$` for `$` and `$(NAME)` for the value of a variable. Nothing else is evaluated, and values are never looked
into again.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from runtimes.spec.findings import Finding
from runtimes.spec.schema import Keys, field_path

_REFERENCE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\|\s*(sh|literal)\s*)?\}\}")
_EXPANDED = re.compile(r"\$(?=[$(])")
_MISSING = object()

Lookup = Callable[[str], Any]


class _Unset(Exception):
    """A referenced parameter has no value: the item or field that names it is left out."""


def references(text: str) -> list[str]:
    """Return the names that a text refers to, in order, each once."""
    return list(dict.fromkeys(match[1] for match in _REFERENCE.finditer(text)))


def unknown_references(declared: Iterable[str], named: Iterable[str]) -> list[str]:
    """Return the named parameters that are not declared, in order, each once."""
    known = set(declared)
    return [name for name in dict.fromkeys(named) if name not in known]


def texts(value: Any, keys: tuple[str | int, ...] = ()) -> Iterator[tuple[Keys, str]]:
    """Yield every text in a tree of maps and lists with the keys that lead to it."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*keys, index))


def check_references(value: Any, declared: Iterable[str], path: str) -> list[Finding]:
    """Return a finding for each text under `path` that names no declared parameter (unknown_reference) or is no template (invalid)."""
    declared = list(declared)
    findings = []
    for keys, text in texts(value):
        place = f"{path}.{field_path(keys)}" if keys else path
        for name in unknown_references(declared, references(text)):
            findings.append(Finding(place, "unknown_reference", f"there is no parameter {name}", {"names": [name]}))
        if "{{" in _REFERENCE.sub("", text):
            findings.append(
                Finding(place, "invalid", "a template is {{ name }}, {{ name | sh }} or {{ name | literal }}")
            )
    return findings


def render(value: Any, lookup: Lookup) -> Any:
    """Return a tree with its references replaced.

    lookup: gives the value of a parameter: text, number, boolean, list of texts, or None if it has none. A text that is nothing but one
    reference becomes the value itself (a list is spliced into the list around it); else the value is written into the text. List items
    and fields that name a parameter without a value are left out.
    """
    rendered = _render(value, lookup)
    return None if rendered is _MISSING else rendered


def _render(value: Any, lookup: Lookup) -> Any:
    if isinstance(value, str):
        try:
            return _render_text(value, lookup)
        except _Unset:
            return _MISSING
    if isinstance(value, dict):
        fields = {key: _render(item, lookup) for key, item in value.items()}
        return {key: item for key, item in fields.items() if item is not _MISSING}
    if not isinstance(value, list):
        return value
    items: list[Any] = []
    for item in value:
        rendered = _render(item, lookup)
        if isinstance(item, str) and isinstance(rendered, list):
            items += rendered
        elif rendered is not _MISSING:
            items.append(rendered)
    return items


def _render_text(text: str, lookup: Lookup) -> Any:
    whole = _REFERENCE.fullmatch(text)
    if whole and not whole[2]:
        return _found(whole[1], lookup)
    return _REFERENCE.sub(lambda match: _written(_found(match[1], lookup), match[2] or ""), text)


def _found(name: str, lookup: Lookup) -> Any:
    value = lookup(name)
    if value is None:
        raise _Unset
    return value


def _written(value: Any, how: str) -> str:
    if how == "sh":
        return shlex.join(map(str, value)) if isinstance(value, list) else shlex.quote(as_text(value))
    text = " ".join(map(str, value)) if isinstance(value, list) else as_text(value)
    return _EXPANDED.sub("$$", text) if how == "literal" else text


def as_text(value: Any) -> str:
    """Return a value as it stands in an argument or variable: booleans as true and false."""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)
