"""Strategic merge patch: a merge patch that knows which lists are merged by a key, with Kubernetes' directives."""

from typing import Any

from trainui.localcluster.errors import bad_request
from trainui.localcluster.ownership.fields import child
from trainui.localcluster.schema.types import ANY, Schema

_DELETE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge(schema: Schema, live: Any, patch: dict[str, Any]) -> Any:
    """Return `live` with a strategic merge patch applied; neither is changed. Raises ApiError 400 for a bad directive."""
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if directive not in (None, "merge"):
        raise bad_request(f"unknown $patch directive: {directive}")
    merged = dict(live) if isinstance(live, dict) else {}
    if isinstance(patch.get("$retainKeys"), list):
        merged = {name: value for name, value in merged.items() if name in patch["$retainKeys"]}
    for name, value in patch.items():
        if name.startswith(_DELETE) and isinstance(value, list):
            target = name[len(_DELETE) :]
            merged[target] = [item for item in merged.get(target) or [] if item not in value]
    for name, value in patch.items():
        if name.startswith("$"):
            continue
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_value(child(schema, name), merged.get(name), value)
    for name, value in patch.items():
        if name.startswith(_ORDER) and isinstance(value, list):
            _reorder(schema, merged, name[len(_ORDER) :], value)
    return merged


def _merge_value(schema: Schema, live: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return strategic_merge(schema, live, value)
    if isinstance(value, list):
        key = merge_key(schema)
        if key:
            return _merge_items(schema, key, live if isinstance(live, list) else [], value)
        if schema.is_set:
            there = live if isinstance(live, list) else []
            return there + [item for item in value if item not in there]
    return value


def merge_key(schema: Schema) -> str:
    """Return the key by which items of a list are merged, empty when the list is replaced."""
    return schema.merge_key or (schema.keys[0] if schema.keys else "")


def _merge_items(schema: Schema, key: str, live: list[Any], patch: list[Any]) -> list[Any]:
    items = schema.items or ANY
    if any(isinstance(item, dict) and item.get("$patch") == "replace" and key not in item for item in patch):
        return [item for item in patch if not (isinstance(item, dict) and "$patch" in item)]
    merged = list(live)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"an item of a list that is merged has no {key}")
        at = next((index for index, there in enumerate(merged) if there.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            merged = [there for there in merged if there.get(key) != item[key]]
        elif at is None:
            merged.append(strategic_merge(items, {}, item))
        else:
            merged[at] = strategic_merge(items, merged[at], item)
    return merged


def _reorder(schema: Schema, merged: dict[str, Any], name: str, order: list[Any]) -> None:
    """Bring a merged list into the order that the patch asks for; items it does not name stay behind their neighbour."""
    items = merged.get(name)
    if not isinstance(items, list):
        return
    key = merge_key(child(schema, name))
    wanted = [entry.get(key) if isinstance(entry, dict) else entry for entry in order]
    names = [item.get(key) if isinstance(item, dict) else item for item in items]
    ranks, rank = [], -1.0
    for entry in names:
        rank = wanted.index(entry) if entry in wanted else rank + 0.001
        ranks.append(rank)
    merged[name] = [items[index] for index in sorted(range(len(items)), key=lambda index: ranks[index])]
