"""Server-side apply, and the tracking of who owns what through other writes."""

from collections.abc import Iterable
from typing import Any

from trainui.localcluster.errors import ApiError, Cause
from trainui.localcluster.objects import editable
from trainui.localcluster.ownership.fields import NONE, Path, Paths, fields_of, show_path, with_parents
from trainui.localcluster.ownership.managers import (
    APPLY,
    UPDATE,
    Manager,
    Managers,
    Ownership,
    read_managers,
    without,
    write_managers,
)
from trainui.localcluster.ownership.merge import merge, remove
from trainui.localcluster.resources import KINDS, Obj
from trainui.localcluster.schema.kinds import SCHEMAS


def apply(
    kind: str, live: Obj | None, applied: Obj, manager: str, time: str, force: bool = False, subresource: str = ""
) -> Obj:
    """Return the object after `manager` applied its configuration.

    Fields it applied before and now leaves out go away, unless another manager owns them. Raises ApiError 409 with a cause for each field
    that another manager owns and that would change, unless `force` takes it over.
    """
    schema = SCHEMAS[kind]
    part = _part(kind, applied, subresource)
    wanted = fields_of(schema, part)
    base: Obj = live or {"apiVersion": applied.get("apiVersion"), "kind": kind, "metadata": {}}
    managers = read_managers(base["metadata"])
    me = Manager(manager, APPLY, subresource)
    there = fields_of(schema, base)
    changes = {path for path, value in wanted.items() if path not in there or there[path] != value}
    contested = {
        other: owned.paths & changes
        for other, owned in managers.items()
        if other != me and not owned.paths.isdisjoint(changes)
    }
    if contested and not force:
        raise _conflict(contested, managers)
    managers = without(managers, changes, me)
    merged = editable(merge(schema, base, part))
    mine = managers.get(me)
    if mine is not None:
        remove(schema, merged, _dropped(mine.paths, wanted.keys(), managers, me))
    return _owned(kind, live, merged, managers, me, frozenset(wanted), time)


def _part(kind: str, applied: Obj, subresource: str) -> Obj:
    """Return the part of a configuration that counts for the resource it is applied to."""
    if subresource:
        return {key: value for key, value in applied.items() if key == subresource}
    return {key: value for key, value in applied.items() if key != "status" or not KINDS[kind].status}


def _dropped(before: Paths, now: Iterable[Path], managers: Managers, me: Manager) -> set[Path]:
    """Return what to take out: what was applied, is not any more, and holds nothing that another manager owns."""
    kept = with_parents(path for other, owned in managers.items() if other != me for path in owned.paths)
    return with_parents(before) - with_parents(now) - kept - {("f:metadata",)}


def _owned(kind: str, live: Obj | None, merged: Obj, managers: Managers, me: Manager, paths: Paths, time: str) -> Obj:
    """Write the managers into the object; when nothing changed the times stay, so that nothing is stored."""
    metadata = merged["metadata"]
    before = managers.get(me)
    bare = {**merged, "metadata": {**metadata, "managedFields": None}}
    same = live is not None and bare == {**live, "metadata": {**live["metadata"], "managedFields": None}}
    since = before.time if before and before.paths == paths and same else time
    managers = {**managers, me: Ownership(paths, KINDS[kind].api_version, since)}
    entries = write_managers(managers)
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)
    return merged


def _conflict(contested: dict[Manager, Paths], managers: Managers) -> ApiError:
    causes, texts = [], []
    count = sum(len(paths) for paths in contested.values())
    for other, paths in contested.items():
        through = f' with subresource "{other.subresource}"' if other.subresource else ""
        who = f'"{other.name}"{through} using {managers[other].api_version}'
        shown = sorted(show_path(path) for path in paths)
        causes += [Cause(path, f"conflict with {who}", "FieldManagerConflict") for path in shown]
        if len(shown) == 1:
            texts.append(f"conflict with {who}: {shown[0]}")
        else:
            texts.append(f"conflicts with {who}:\n" + "\n".join(f"- {path}" for path in shown))
    message = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: " + "\n".join(texts)
    return ApiError(409, "Conflict", message, causes=causes)


def track(kind: str, live: Obj | None, new: Obj, manager: str, time: str, subresource: str = "") -> Obj:
    """Return `new`, a write that is no apply, with its manager as the owner of what it changes.

    Managed fields that the writer sends are taken as they are when they differ from the stored ones; an empty list starts over.
    """
    schema = SCHEMAS[kind]
    metadata = dict(new["metadata"])
    sent = metadata.get("managedFields")
    before = (live or {}).get("metadata", {}).get("managedFields")
    managers = read_managers({"managedFields": before if sent is None else sent})
    part = _part(kind, new, subresource)
    names = [name for name in {**(live or {}), **part} if (live or {}).get(name) != part.get(name)]
    if live is not None:
        names = [name for name in names if name in part or not (subresource or name == "status")]
    old_fields = fields_of(schema, live or {}, names)
    new_fields = fields_of(schema, part, names)
    gone = old_fields.keys() - new_fields.keys()
    changed = {path for path, value in new_fields.items() if path not in old_fields or old_fields[path] != value}
    me = Manager(manager, UPDATE, subresource)
    if gone or changed:
        managers = without(managers, gone | changed, me)
        mine = managers.get(me)
        paths = ((mine.paths if mine else NONE) | changed) - gone
        managers[me] = Ownership(paths, KINDS[kind].api_version, time)
    entries: list[dict[str, Any]] = write_managers(managers)
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)
    return {**new, "metadata": metadata}
