"""Garbage collection by owner references: what goes when an owner goes. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from trainui.localcluster.controllers.actions import Action, Delete, Update
from trainui.localcluster.controllers.meta import (
    FOREGROUND,
    ORPHAN,
    has_finalizer,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)

Obj = dict[str, Any]
Named = tuple[str, Obj]
"""A kind and an object of it."""


def owner_uids(obj: Obj) -> list[str]:
    """Return the uids of the owners that an object names."""
    return [owner.get("uid", "") for owner in obj["metadata"].get("ownerReferences") or ()]


def needs_collector(obj: Obj) -> bool:
    """Tell whether an object waits for the collector before it can go."""
    return is_deleting(obj) and (has_finalizer(obj, FOREGROUND) or has_finalizer(obj, ORPHAN))


def after_owner(kind: str, obj: Obj, lookup: Callable[[str], Obj | None]) -> list[Action]:
    """Return what becomes of an object some of whose owners may be gone.

    Without any owner left it is deleted; as long as one is left only the references to the others go. `lookup` finds an object by uid.
    """
    uids = owner_uids(obj)
    left = {uid for uid in uids if lookup(uid) is not None}
    if len(left) == len(set(uids)):
        return []
    if left:
        return [_with_owners(kind, obj, left)]
    return [] if is_deleting(obj) else [_delete(kind, obj, "Background")]


def orphan(kind: str, owner: Obj, dependents: Iterable[Named]) -> list[Action]:
    """Return what lets an owner go without its dependents: they forget it, then it loses its finalizer."""
    actions: list[Action] = []
    for dependent_kind, dependent in dependents:
        left = {uid for uid in owner_uids(dependent) if uid != uid_of(owner)}
        actions.append(_with_owners(dependent_kind, dependent, left))
    return [*actions, _without_finalizer(kind, owner, ORPHAN)]


def foreground(
    kind: str,
    owner: Obj,
    dependents: Iterable[Named],
    lookup: Callable[[str], Obj | None],
    has_dependents: Callable[[str], bool],
) -> list[Action]:
    """Return the next step of a deletion in the foreground: dependents first, the owner when none is left that holds it up.

    A dependent with another owner that stays only forgets this one. Dependents that own something themselves go in the foreground too.
    """
    actions: list[Action] = []
    blocked = False
    for dependent_kind, dependent in dependents:
        others = {uid for uid in owner_uids(dependent) if uid != uid_of(owner) and _stays(lookup(uid))}
        if others:
            actions.append(_with_owners(dependent_kind, dependent, others))
            continue
        blocked = blocked or _blocks(owner, dependent)
        if not is_deleting(dependent):
            propagation = "Foreground" if has_dependents(uid_of(dependent)) else "Background"
            actions.append(_delete(dependent_kind, dependent, propagation))
    if not blocked:
        actions.append(_without_finalizer(kind, owner, FOREGROUND))
    return actions


def _stays(owner: Obj | None) -> bool:
    return owner is not None and not (is_deleting(owner) and has_finalizer(owner, FOREGROUND))


def _blocks(owner: Obj, dependent: Obj) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(ref.get("uid") == uid_of(owner) and ref.get("blockOwnerDeletion") for ref in references)


def _with_owners(kind: str, obj: Obj, uids: set[str]) -> Update:
    metadata = {**obj["metadata"]}
    left = [owner for owner in metadata.pop("ownerReferences", ()) if owner.get("uid") in uids]
    if left:
        metadata["ownerReferences"] = left
    return Update(kind, {**obj, "metadata": metadata})


def _without_finalizer(kind: str, obj: Obj, finalizer: str) -> Update:
    metadata = {**obj["metadata"]}
    left = [name for name in metadata.pop("finalizers", ()) if name != finalizer]
    if left:
        metadata["finalizers"] = left
    return Update(kind, {**obj, "metadata": metadata})


def _delete(kind: str, obj: Obj, propagation: str) -> Delete:
    return Delete(kind, namespace_of(obj), name_of(obj), uid_of(obj), propagation)
