"""Strict reading of YAML or JSON from people: one document of plain JSON values, or findings that say where and why not.

Values are built from parser events, so that no tag constructs anything, nesting needs no recursion, duplicate keys are seen, and an
alias bomb is refused while it is still small.
"""

import copy
import json
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from runtimes.spec.findings import Finding
from runtimes.spec.scalars import AmbiguousScalar, resolve
from runtimes.spec.schema import field_path, shortened, type_name

MAX_BYTES = 1_572_864
MAX_DEPTH = 100
MAX_NODES = 200_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_MERGE = object()


class ReadError(ValueError):
    """The text is no usable document. `findings` says why; their params carry line and column (from 1) where they are known."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(f.message for f in findings))
        self.findings = findings


def read_document(source: str | bytes) -> Any:
    """Return the one document in a YAML or JSON text as plain JSON values.

    Raises ReadError with code too_large, invalid_encoding, invalid_yaml, empty_document, multiple_documents, duplicate_key,
    ambiguous_scalar, wrong_type (a key that is no text) or too_complex (nesting, or aliases that expand to too much).
    """
    document = _decoded(source)
    if document.lstrip(" \t\r\n").startswith("{"):
        found, value = _json(document)
        if found:
            return value
    return _yaml(document)


def _decoded(source: str | bytes) -> str:
    size = len(source) if isinstance(source, bytes) else len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        _refuse(
            "too_large",
            f"is {size} bytes long: a manifest may have at most {MAX_BYTES}",
            params={"max_bytes": MAX_BYTES},
        )
    try:
        document = source.decode("utf-8") if isinstance(source, bytes) else source
        document.encode("utf-8")
    except UnicodeError as error:
        _refuse(
            "invalid_encoding",
            f"is not UTF-8 text (byte {error.start})" if hasattr(error, "start") else "is not UTF-8 text",
        )
    return document.removeprefix("\ufeff")


def _refuse(
    code: str, message: str, keys: tuple[str | int, ...] = (), params: dict[str, Any] | None = None
) -> NoReturn:
    raise ReadError([Finding(field_path(keys), code, message, params or {})])


class _Pairs(dict[str, Any]):
    """A JSON object that remembers which of its keys came twice."""

    twice: str | None = None


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    made = _Pairs()
    for key, value in pairs:
        if key in made:
            made.twice = key
        made[key] = value
    return made


def _json(document: str) -> tuple[bool, Any]:
    """(True, value) if the text is JSON; what is no JSON may still be YAML."""
    try:
        value = json.loads(document, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except RecursionError:
        _refuse("too_complex", f"is nested more than {MAX_DEPTH} levels deep")
    except ReadError:
        raise
    except ValueError:
        return False, None
    return True, _checked_json(value)


def _no_constant(name: str) -> NoReturn:
    _refuse("ambiguous_scalar", f"{name} is no JSON number")


def _checked_json(value: Any) -> Any:
    """The same value as plain dicts, after a look at depth and doubled keys without recursion of its own."""
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while waiting:
        item, keys = waiting.pop()
        if len(keys) > MAX_DEPTH:
            _refuse("too_complex", f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(item, _Pairs):
            if item.twice is not None:
                _refuse("duplicate_key", f"the key {shortened(item.twice)} stands here twice", (*keys, item.twice))
            waiting += [(child, (*keys, key)) for key, child in item.items()]
        elif isinstance(item, list):
            waiting += [(child, (*keys, index)) for index, child in enumerate(item)]
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@dataclass
class _Open:
    """A list or map whose end has not come yet."""

    value: Any
    keys: tuple[str | int, ...]
    anchor: str | None
    start_nodes: int
    key: Any = None
    has_key: bool = False
    merged: list[Any] = field(default_factory=list)
    own: set[str] = field(default_factory=set)


class _Composer:
    """Builds the value of one document from parser events."""

    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.root: Any = None
        self.done = False

    def feed(self, event: Event) -> None:
        if isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._open(event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._close()
        elif isinstance(event, ScalarEvent):
            self._scalar(event)
        elif isinstance(event, AliasEvent):
            self._alias(event)

    def _place(self) -> tuple[str | int, ...]:
        if not self.stack:
            return ()
        top = self.stack[-1]
        if isinstance(top.value, list):
            return (*top.keys, len(top.value))
        return (*top.keys, top.key) if top.has_key and isinstance(top.key, str) else top.keys

    def _count(self, nodes: int, event: Event) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            _refuse(
                "too_complex", f"has more than {MAX_NODES} values when its aliases are expanded", params=_mark(event)
            )

    def _open(self, event: Any) -> None:
        if event.tag and event.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            _refuse(
                "invalid_yaml", f"the tag {shortened(event.tag)} is not allowed", self._place(), params=_mark(event)
            )
        if len(self.stack) >= MAX_DEPTH:
            _refuse("too_complex", f"is nested more than {MAX_DEPTH} levels deep", params=_mark(event))
        self._expect_no_key(event)
        self._count(1, event)
        value: Any = {} if isinstance(event, MappingStartEvent) else []
        self.stack.append(_Open(value, self._place(), event.anchor, self.nodes))

    def _expect_no_key(self, event: Event) -> None:
        if self.stack and isinstance(self.stack[-1].value, dict) and not self.stack[-1].has_key:
            _refuse("wrong_type", "a key must be text, not a list or map", self.stack[-1].keys, params=_mark(event))

    def _close(self) -> None:
        top = self.stack.pop()
        if isinstance(top.value, dict):
            for source in top.merged:
                for key, value in source.items():
                    top.value.setdefault(key, value)
        if top.anchor:
            self.anchors[top.anchor] = (top.value, self.nodes - top.start_nodes + 1)
        self._add(top.value)

    def _scalar(self, event: ScalarEvent) -> None:
        self._count(1, event)
        value = self._value(event)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        top = self.stack[-1] if self.stack else None
        if top is None or isinstance(top.value, list) or top.has_key:
            self._add(value)
            return
        if event.value == "<<" and event.implicit[0]:
            top.key, top.has_key = _MERGE, True
            return
        self._key(top, value, event)

    def _key(self, top: _Open, key: Any, event: Event) -> None:
        if not isinstance(key, str):
            shown = getattr(event, "value", key)
            _refuse(
                "wrong_type",
                f"the key {shortened(shown)} is a {type_name(key)}: quote it",
                top.keys,
                params=_mark(event),
            )
        if key in top.own:
            _refuse(
                "duplicate_key", f"the key {shortened(key)} stands here twice", (*top.keys, key), params=_mark(event)
            )
        top.own.add(key)
        top.key, top.has_key = key, True

    def _value(self, event: ScalarEvent) -> Any:
        # The tag `!` says "text, whatever it looks like".
        if event.tag in ("!", f"{_TAG}str"):
            return event.value
        explicit = event.tag is not None and not event.implicit[0] and not event.implicit[1]
        if explicit and event.tag not in _SCALAR_TAGS:
            _refuse(
                "invalid_yaml", f"the tag {shortened(event.tag)} is not allowed", self._place(), params=_mark(event)
            )
        if not (event.implicit[0] or explicit):
            return event.value
        try:
            value = resolve(event.value)
        except AmbiguousScalar as error:
            _refuse("ambiguous_scalar", str(error), self._place(), params=_mark(event))
        if explicit and not isinstance(value, _SCALAR_TAGS[str(event.tag)]):
            _refuse(
                "invalid_yaml",
                f"{shortened(event.value)} is not what its tag {event.tag} says",
                self._place(),
                params=_mark(event),
            )
        return value

    def _alias(self, event: AliasEvent) -> None:
        if event.anchor not in self.anchors:
            inside = any(open_.anchor == event.anchor for open_ in self.stack)
            problem = "contains itself" if inside else "is not defined"
            _refuse(
                "too_complex" if inside else "invalid_yaml",
                f"the anchor {shortened(event.anchor)} {problem}",
                params=_mark(event),
            )
        value, nodes = self.anchors[event.anchor]
        self._count(nodes, event)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and not top.has_key:
            self._key(top, value, event)
        else:
            self._add(copy.deepcopy(value))

    def _add(self, value: Any) -> None:
        if not self.stack:
            self.root, self.done = value, True
            return
        top = self.stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        if top.key is _MERGE:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                _refuse("invalid_yaml", "<< merges maps only", top.keys)
            top.merged += sources
        else:
            top.value[top.key] = value
        top.key, top.has_key = None, False


_SCALAR_TAGS: dict[str, Any] = {
    f"{_TAG}str": str,
    f"{_TAG}int": int,
    f"{_TAG}float": float | int,
    f"{_TAG}bool": bool,
    f"{_TAG}null": type(None),
}


def _mark(event: Event) -> dict[str, int]:
    mark = event.start_mark
    return {"line": mark.line + 1, "column": mark.column + 1} if mark else {}


def _yaml(document: str) -> Any:
    values: list[Any] = []
    composer = _Composer()
    try:
        for event in yaml.parse(document, Loader=_LOADER):
            if isinstance(event, DocumentStartEvent):
                composer = _Composer()
            composer.feed(event)
            if composer.done:
                values += [composer.root] if composer.root is not None else []
                composer.done = False
                if len(values) > 1:
                    _refuse("multiple_documents", "holds several documents: give one", params=_mark(event))
    except yaml.YAMLError as error:
        raise ReadError([_syntax(error)]) from None
    if not values:
        _refuse("empty_document", "holds nothing")
    return values[0]


def _syntax(error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    # libyaml has a limit of its own where the parser, not we, would have to keep count.
    code = "too_complex" if "nesting depth" in str(error) else "invalid_yaml"
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).strip()
    where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    params = {"line": mark.line + 1, "column": mark.column + 1} if mark else {}
    return Finding("", code, f"is not valid YAML{where}: {problem}", params)
