"""Merging what is applied into what is there, and taking out what is no longer applied."""

from collections.abc import Collection
from typing import Any

from trainui.localcluster.ownership.fields import Path, child, key_element
from trainui.localcluster.schema.types import ANY, Schema


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """Return `live` with `applied` laid over it by the rules of the schema; neither is changed."""
    if isinstance(applied, dict) and isinstance(live, dict) and not schema.atomic:
        merged = dict(live)
        for name, value in applied.items():
            if value is not None:
                merged[name] = merge(child(schema, name), live.get(name), value)
        return merged
    if isinstance(applied, list) and isinstance(live, list) and not schema.atomic:
        if schema.keys:
            return _merge_items(schema, live, applied)
        if schema.is_set:
            return live + [item for item in applied if item not in live]
    return applied


def _merge_items(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    """Merge by key, in the applied order; an item that only lives stays behind the one it stood behind."""
    items = schema.items or ANY
    there = {key_element(schema, item): item for item in live}
    merged = {}
    for item in applied:
        key = key_element(schema, item)
        merged[key] = merge(items, there[key], item) if key in there else item
    order = list(merged)
    previous = None
    for key, item in there.items():
        if key not in merged:
            merged[key] = item
            order.insert(0 if previous is None else order.index(previous) + 1, key)
        previous = key
    return [merged[key] for key in order]


def remove(schema: Schema, obj: dict[str, Any], paths: Collection[Path]) -> None:
    """Take the values at some paths out of an object, in place.

    Paths that lead nowhere are passed over, and the keys of an item that stays are kept. A part goes with all that was filled in, but of a
    map whose keys are free, such as labels, what is not named stays.
    """
    for path in paths:
        if path[:-1] not in paths:
            _remove_one(schema, obj, path, paths)


def _remove_one(schema: Schema, obj: dict[str, Any], path: Path, paths: Collection[Path]) -> None:
    value: Any = obj
    keys: tuple[str, ...] = ()
    for element in path[:-1]:
        index = _find(schema, value, element)
        if index is None:
            return
        keys = schema.keys if isinstance(value, list) else ()
        schema = _below(schema, value, index)
        value = value[index]
    index = _find(schema, value, path[-1])
    if index is None or index in keys:
        return
    below = _below(schema, value, index)
    if below.values is not None and not below.atomic and isinstance(value[index], dict):
        value[index] = {name: item for name, item in value[index].items() if (*path, f"f:{name}") not in paths}
        if value[index]:
            return
    del value[index]


def _below(schema: Schema, value: Any, index: Any) -> Schema:
    return (schema.items or ANY) if isinstance(value, list) else child(schema, str(index))


def _find(schema: Schema, value: Any, element: str) -> Any:
    """Return the name or index that a path element means in a value, or None."""
    kind, rest = element[:2], element[2:]
    if isinstance(value, dict):
        return rest if kind == "f:" and rest in value else None
    if isinstance(value, list):
        for index, item in enumerate(value):
            if kind == "k:" and key_element(schema, item) == element:
                return index
            if kind == "v:" and isinstance(item, str) and rest == f'"{item}"':
                return index
    return None
