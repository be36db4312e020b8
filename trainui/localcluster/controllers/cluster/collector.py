"""The garbage collector: carries out what `garbage` says."""

from collections.abc import Iterable
from typing import Any, ClassVar

from trainui.localcluster.changes import Change
from trainui.localcluster.controllers.actions import Plan
from trainui.localcluster.controllers.cluster import garbage
from trainui.localcluster.controllers.meta import ORPHAN, has_finalizer, is_deleting, uid_of
from trainui.localcluster.controllers.shell import Controller
from trainui.localcluster.resources import KINDS

Obj = dict[str, Any]


class GarbageCollector(Controller):
    """Keys are uids of owners that are gone or going, and of objects whose owners are gone."""

    name: ClassVar[str] = "garbage-collector"
    kinds: ClassVar[frozenset[str]] = frozenset(KINDS) - {"Event", "Lease"}

    def keys(self, change: Change) -> Iterable[str]:
        """The object itself if it has to be looked at, and those of its owners that wait for it or are gone."""
        obj, uid = change.obj, uid_of(change.obj)
        keys = [owner for owner in garbage.owner_uids(obj) if self._waits(owner)]
        if change.type == "DELETED":
            return [uid, *keys] if self.store.dependents(uid) else keys
        if garbage.needs_collector(obj) or self._owner_gone(obj):
            keys.append(uid)
        return keys

    def _waits(self, uid: str) -> bool:
        owner = self._lookup(uid)
        return owner is not None and is_deleting(owner)

    def _owner_gone(self, obj: Obj) -> bool:
        return any(self._lookup(uid) is None for uid in garbage.owner_uids(obj))

    def _lookup(self, uid: str) -> Obj | None:
        found = self.store.by_uid(uid)
        return found[1] if found else None

    def all_keys(self) -> Iterable[str]:
        """Everything that is going or has lost an owner."""
        for kind in sorted(self.kinds):
            for obj in self.store.list(kind)[0]:
                if garbage.needs_collector(obj) or self._owner_gone(obj):
                    yield uid_of(obj)

    def reconcile(self, key: str) -> float | None:
        """Look at one object, there or gone."""
        found = self.store.by_uid(key)
        dependents = self.store.dependents(key)
        if found is None:
            for kind, obj in dependents:
                self.carry_out(Plan(garbage.after_owner(kind, obj, self._lookup)))
            return None
        kind, obj = found
        if not garbage.needs_collector(obj):
            actions = garbage.after_owner(kind, obj, self._lookup)
        elif has_finalizer(obj, ORPHAN):
            actions = garbage.orphan(kind, obj, dependents)
        else:
            actions = garbage.foreground(
                kind, obj, dependents, self._lookup, lambda uid: bool(self.store.dependents(uid))
            )
        self.carry_out(Plan(actions))
        return None
