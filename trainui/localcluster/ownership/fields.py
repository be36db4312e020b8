"""Sets of fields: from objects, from and to the `fieldsV1` form, and as messages show them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from trainui.localcluster.schema.conform import item_key
from trainui.localcluster.schema.types import ANY, Schema

Path = tuple[str, ...]
Paths = frozenset[Path]
NONE: Paths = frozenset()

_SYSTEM: Paths = frozenset(
    {("f:apiVersion",), ("f:kind",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            *("name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"),
            *("deletionGracePeriodSeconds", "selfLink", "managedFields", "generateName"),
        )
    }
)


def fields_of(schema: Schema, obj: Mapping[str, Any], only: Iterable[str] | None = None) -> dict[Path, Any]:
    """Return the fields of an object that can be owned, with their values: scalars, atomic lists and maps, items of keyed lists.

    Fields that the server writes are left out. `only` limits the walk to some top-level fields.
    """
    found: dict[Path, Any] = {}
    fields = schema.fields or {}
    for name in obj if only is None else only:
        if obj.get(name) is not None:
            _walk(fields.get(name, ANY), obj[name], (f"f:{name}",), found)
    for path in _SYSTEM & found.keys():
        del found[path]
    for path in [path for path in found if path[:2] == ("f:metadata", "f:managedFields")]:
        del found[path]
    return found


def _walk(schema: Schema, value: Any, path: Path, found: dict[Path, Any]) -> None:
    if value in ({}, []) and not schema.atomic:
        found[path] = None
    elif isinstance(value, dict) and not schema.atomic:
        for name, item in value.items():
            if item is not None:
                _walk(child(schema, name), item, (*path, f"f:{name}"), found)
    elif isinstance(value, list) and schema.keys and not schema.atomic:
        for item in value:
            inner = (*path, key_element(schema, item))
            found[inner] = None
            if isinstance(item, dict) and schema.items and not schema.items.atomic:
                for name, part in item.items():
                    if part is not None:
                        _walk(child(schema.items, name), part, (*inner, f"f:{name}"), found)
    elif isinstance(value, list) and schema.is_set:
        for item in value:
            found[(*path, f"v:{_json(item)}")] = None
    else:
        found[path] = value


def child(schema: Schema, name: str) -> Schema:
    """Return the schema of a field or map entry; what is not described is kept as it is."""
    if schema.fields is not None:
        return schema.fields.get(name, ANY)
    return schema.values or ANY


def key_element(schema: Schema, item: Any) -> str:
    """Return the path element of an item of a keyed list."""
    return f"k:{_json(item_key(schema, item))}"


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def with_parents(paths: Iterable[Path]) -> set[Path]:
    """Return the paths and every path above them."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def to_fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    """Return a set of paths as `fieldsV1`; a path that has others below it is marked by a dot."""
    root: dict[str, Any] = {}
    members = []
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        members.append(node)
    for node in members:
        if node:
            node["."] = {}
    return root


def from_fields_v1(fields: Mapping[str, Any]) -> Paths:
    """Return the paths of a `fieldsV1`."""
    return frozenset(_members(fields, ()))


def _members(node: Mapping[str, Any], path: Path) -> Iterator[Path]:
    for element, below in node.items():
        if element == ".":
            yield path
        elif not below:
            yield (*path, _normal(element))
        else:
            yield from _members(below, (*path, _normal(element)))


@lru_cache(maxsize=4096)
def _normal(element: str) -> str:
    """Return a path element with its JSON in our spelling."""
    if element[:2] in ("k:", "v:"):
        return element[:2] + _json(orjson.loads(element[2:]))
    return element


def show_path(path: Path) -> str:
    """Return a path as messages write it: `.spec.containers[name="a"].image`."""
    text = ""
    for element in path:
        kind, rest = element[:2], element[2:]
        if kind == "f:":
            text += f".{rest}"
        elif kind == "k:":
            text += "[" + ",".join(f"{name}={_json(value)}" for name, value in orjson.loads(rest).items()) + "]"
        elif kind == "v:":
            text += f"[={rest}]"
        else:
            text += f"[{rest}]"
    return text
