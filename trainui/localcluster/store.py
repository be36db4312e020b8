"""The objects of the local cluster: the single writer, in one asyncio loop, each write in SQLite before it is answered."""

import sqlite3
import time
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from trainui.localcluster import deletion
from trainui.localcluster.changes import Change, Feed, Subscription
from trainui.localcluster.errors import ApiError, already_exists, conflict, forbidden, invalid, not_found, stale
from trainui.localcluster.objects import (
    OWNED_BY_SERVER,
    editable,
    generated_name,
    intent,
    merge_patch,
    name_causes,
    owner_uids,
    timestamp,
    unchanged,
)
from trainui.localcluster.resources import KINDS, Kind, Obj
from trainui.localcluster.selectors import both, field_predicate, label_predicate
from trainui.localcluster.storage import Storage
from trainui.localcluster.tables import Entry, Key, Table, replaced

Named = list[tuple[str, Obj]]  # here, since `list` is a method of the store
Admit = Callable[["Store", str, Obj | None, Obj, str | None, float], Obj]
"""(store, kind, object before, object after, subresource, now) -> the object with defaults; raises ApiError to refuse."""

FIRST_NAMESPACES = ("default", "kube-system")


class Store:
    """All objects in memory, written through to one SQLite file.

    Every method but the iteration of a subscription is synchronous and complete when it returns, so a read followed by a write with no
    `await` between them is atomic. Objects that are returned are shared and must not be changed: take `editable(obj)`.
    """

    def __init__(
        self, path: Path | str = ":memory:", admit: Admit | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """Open the database at `path` and load it. `admit` sees each write before it is stored."""
        self.clock = clock
        self._admit = admit
        self._storage = Storage(path)
        self._version = self._storage.version()
        self._tables = {kind: Table() for kind in KINDS}
        self._uids: dict[str, tuple[str, Key]] = {}
        self._dependents: dict[str, set[tuple[str, Key]]] = {}
        self._feed = Feed(self._version)
        self._depth = 0
        self._undo: list[tuple[str, Key, Entry | None]] = []
        self._changes: list[Change] = []
        for kind, namespace, name, written, body in self._storage.load():
            self._index(kind, (namespace, name), Entry(orjson.loads(body), body, written))
        for name in FIRST_NAMESPACES:
            if self.get("Namespace", "", name) is None:
                self.create("Namespace", {"metadata": {"name": name}})

    @property
    def version(self) -> str:
        """The resourceVersion of the last write."""
        return str(self._version)

    # Reading

    def entry(self, kind: str, namespace: str | None, name: str) -> Entry | None:
        """Return a stored object with its JSON, or None."""
        return self._tables[kind].entries.get(_key(KINDS[kind], namespace, name))

    def get(self, kind: str, namespace: str | None, name: str) -> Obj | None:
        """Return an object, or None. The namespace of cluster-wide kinds is ignored."""
        entry = self.entry(kind, namespace, name)
        return entry.obj if entry else None

    def read(self, kind: str, namespace: str | None, name: str) -> Obj:
        """Return an object. Raises ApiError 404."""
        entry = self.entry(kind, namespace, name)
        if entry is None:
            raise not_found(KINDS[kind], name)
        return entry.obj

    def list(
        self,
        kind: str,
        namespace: str | None = None,
        labels: str | Mapping[str, str] | None = None,
        fields: str | Mapping[str, str] | None = None,
    ) -> tuple[list[Obj], str]:
        """Return the objects of a kind that selectors pick, by namespace and name, and the resourceVersion of this state.

        Selectors are texts (`a=b,c in (d,e)`) or mappings of equalities. Raises ApiError 400 for a selector that cannot be read.
        """
        table = self._tables[kind]
        matches = both(label_predicate(labels), field_predicate(kind, fields))
        found = [table.entries[key].obj for key in table.keys(namespace)]
        return (found if matches is None else [obj for obj in found if matches(obj)]), self.version

    def scan(self, kind: str, namespace: str | None = None, after: Key | None = None) -> Iterator[tuple[Key, Entry]]:
        """Yield the entries of a kind in order, beginning behind the key `after`. Not to be held across an `await`."""
        table = self._tables[kind]
        keys = table.keys(namespace)
        for index in range(bisect_right(keys, after) if after else 0, len(keys)):
            yield keys[index], table.entries[keys[index]]

    def by_uid(self, uid: str) -> tuple[str, Obj] | None:
        """Return the kind and the object with a uid, or None."""
        found = self._uids.get(uid)
        return (found[0], self._tables[found[0]].entries[found[1]].obj) if found else None

    def dependents(self, uid: str) -> Named:
        """Return the kind and the object of everything that names `uid` as an owner, in a stable order."""
        keys = sorted(self._dependents.get(uid, ()))
        return [(kind, self._tables[kind].entries[key].obj) for kind, key in keys]

    def subscribe(
        self, kind: str | None = None, since: str | int | None = None, limit: int | None = None
    ) -> Subscription:
        """Return a feed of `(type, object)`, registered at once: `async for type, obj in store.subscribe("Pod", since=version)`.

        `since` is the resourceVersion of a list: changes after it come first. None begins with what comes now; 0 begins with every
        existing object as ADDED. `limit` bounds how far a reader may fall behind. Raises ApiError 410 when `since` is too old.
        """
        if since is None or int(since) != 0:
            return self._feed.subscribe(kind, None if since is None else int(since), limit=limit)
        kinds = [kind] if kind else list(KINDS)
        initial = [Change(self._version, "ADDED", k, e.obj, e.raw, None) for k in kinds for _, e in self.scan(k)]
        return self._feed.subscribe(kind, None, initial, limit=limit)

    def wake(self) -> None:
        """Let every waiting subscription look around: the server ends."""
        self._feed.wake()

    # Writing

    def create(self, kind: str, obj: Obj) -> Obj:
        """Store a new object and return it as stored, with uid, resourceVersion and defaults.

        Raises ApiError: 409 AlreadyExists, 422 Invalid, 403 for a namespace that is ending, 404 for one that does not exist.
        """
        k = KINDS[kind]
        new = editable(obj)
        metadata = new["metadata"] = dict(new.get("metadata") or {})
        for name in OWNED_BY_SERVER:
            metadata.pop(name, None)
        new["apiVersion"], new["kind"] = k.api_version, k.kind
        self._place(k, metadata)
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = timestamp(self.clock())
        if k.generation:
            metadata["generation"] = 1
        if self._admit:
            new = self._admit(self, kind, None, new, None, self.clock())
        causes = name_causes(k, metadata.get("name", ""))
        if causes:
            raise invalid(k, metadata.get("name", ""), causes)
        key = _key(k, metadata.get("namespace"), metadata["name"])
        if key in self._tables[kind].entries:
            raise already_exists(k, metadata["name"])
        if kind == "Namespace":
            new.setdefault("spec", {}).setdefault("finalizers", [deletion.NAMESPACE_CONTENT])
        return self._write(kind, key, new).obj

    def _place(self, k: Kind, metadata: dict[str, Any]) -> None:
        """Give a new object its name and check its namespace."""
        if not metadata.get("name") and metadata.get("generateName"):
            namespace = metadata.get("namespace")
            metadata["name"] = generated_name(metadata["generateName"])
            while self.entry(k.kind, namespace, metadata["name"]):
                metadata["name"] = generated_name(metadata["generateName"])
        if not k.namespaced:
            metadata.pop("namespace", None)
            return
        name = metadata.setdefault("namespace", "default")
        namespace_obj = self.get("Namespace", "", name)
        if namespace_obj is None:
            raise not_found(KINDS["Namespace"], name)
        if namespace_obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise forbidden(k, metadata.get("name", ""), why)

    def update(self, kind: str, obj: Obj, subresource: str | None = None) -> Obj:
        """Replace an object, or with `subresource="status"` its status alone, and return it as stored.

        A resourceVersion or uid in `obj` must be the current one. Status is kept by a plain update of a kind that has the subresource.
        The last finalizer that goes ends an object that is being deleted; nothing is written when nothing changes.
        Raises ApiError: 404, 409 Conflict, 422 Invalid.
        """
        k = KINDS[kind]
        metadata = obj["metadata"]
        key = _key(k, metadata.get("namespace", "default"), metadata["name"])
        old = self.read(kind, *key)
        _check_preconditions(k, old, metadata.get("uid"), metadata.get("resourceVersion"))
        new = replaced(k, old, editable(obj), subresource)
        if self._admit:
            new = self._admit(self, kind, old, new, subresource, self.clock())
        if k.generation and subresource is None and intent(new) != intent(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
        if deletion.is_over(new):
            return self._end(kind, key, new)
        return old if unchanged(old, new) else self._write(kind, key, new).obj

    def patch(self, kind: str, namespace: str | None, name: str, patch: Obj, subresource: str | None = None) -> Obj:
        """Apply a JSON merge patch and return the object as stored. Raises what `update` raises."""
        merged: Obj = merge_patch(self.read(kind, namespace, name), patch)
        return self.update(kind, merged, subresource)

    def delete(
        self,
        kind: str,
        namespace: str | None,
        name: str,
        propagation: str = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
        grace: int | None = None,
    ) -> Obj:
        """Delete an object, or mark it with a deletionTimestamp while finalizers or a pod's grace keep it; return its last state.

        `propagation` is Background, Foreground or Orphan (the last two leave a finalizer for the garbage collector). `grace` counts for
        pods: 0 removes at once. Raises ApiError: 404, 409 when `uid` or `resource_version` is not the current one.
        """
        k = KINDS[kind]
        key = _key(k, namespace, name)
        old = self.read(kind, *key)
        _check_preconditions(k, old, uid, resource_version)
        if kind == "Namespace" and name in FIRST_NAMESPACES:
            raise forbidden(k, name, "this namespace may not be deleted")
        new = deletion.marked(k, old, propagation, grace, self.clock())
        with self.transaction():
            if deletion.is_over(new):
                return self._end(kind, key, new)
            stored = old if new == old else self._write(kind, key, new).obj
            if kind == "Namespace" and not old["metadata"].get("deletionTimestamp"):
                self._empty_namespace(name)
            return self.get(kind, *key) or stored

    def _empty_namespace(self, name: str) -> None:
        for kind in KINDS:
            if KINDS[kind].namespaced:
                for namespace, child in list(self._tables[kind].keys(name)):
                    if self.entry(kind, namespace, child):
                        self.delete(kind, namespace, child)
        self._end_namespace(name)

    def _end_namespace(self, name: str) -> None:
        """Remove a namespace that is being deleted once nothing is left in it."""
        entry = self.entry("Namespace", "", name)
        if entry is None or not entry.obj["metadata"].get("deletionTimestamp"):
            return
        if any(KINDS[kind].namespaced and table.keys(name) for kind, table in self._tables.items()):
            return
        done = deletion.namespace_emptied(entry.obj)
        if deletion.is_over(done):
            self._end("Namespace", ("", name), done)

    def expire(self, kind: str, before: float) -> int:
        """Delete the objects of a kind that were last written before a Unix time; return how many."""
        old = [key for key, entry in self.scan(kind) if entry.written < before]
        with self.transaction():
            for key in old:
                self.delete(kind, *key)
        return len(old)

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the writes inside one: all are stored and then seen by watches, or, after an exception, none. No `await` inside."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        version = self._version
        self._depth = 1
        try:
            self._storage.begin()
            yield
            self._storage.commit(self._version)
        except BaseException as error:
            self._revert(version)
            if isinstance(error, sqlite3.Error):
                raise ApiError(500, "InternalError", f"the cluster's database cannot be written: {error}") from error
            raise
        finally:
            self._depth = 0
        changes, self._changes, self._undo = self._changes, [], []
        self._feed.publish(changes)

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Carry out the writes inside, with all checks, and then undo them: the dry run of the API. Not inside a transaction."""
        try:
            with self.transaction():
                yield
                raise _Rehearsed
        except _Rehearsed:
            pass

    def _revert(self, version: int) -> None:
        self._storage.rollback()
        for kind, key, entry in reversed(self._undo):
            self._index(kind, key, entry)
        self._undo, self._changes, self._version = [], [], version

    def close(self) -> None:
        """Close the database."""
        self._storage.close()

    # The one place where state changes

    def _write(self, kind: str, key: Key, obj: Obj) -> Entry:
        with self.transaction():
            entry = self._stamp(obj)
            self._storage.put(kind, *key, entry.written, entry.raw)
            self._record(kind, key, entry, entry)
        return entry

    def _end(self, kind: str, key: Key, obj: Obj) -> Obj:
        with self.transaction():
            entry = self._stamp(obj)
            self._storage.remove(kind, *key)
            self._record(kind, key, None, entry)
            if KINDS[kind].namespaced:
                self._end_namespace(key[0])
        return entry.obj

    def _stamp(self, obj: Obj) -> Entry:
        self._version += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self._version)}
        raw = orjson.dumps({**obj, "metadata": metadata})
        return Entry(orjson.loads(raw), raw, self.clock())

    def _record(self, kind: str, key: Key, entry: Entry | None, last: Entry) -> None:
        before = self._tables[kind].entries.get(key)
        self._undo.append((kind, key, before))
        self._index(kind, key, entry)
        type_ = "DELETED" if entry is None else "MODIFIED" if before else "ADDED"
        self._changes.append(Change(self._version, type_, kind, last.obj, last.raw, before.obj if before else None))

    def _index(self, kind: str, key: Key, entry: Entry | None) -> None:
        before = self._tables[kind].entries.get(key)
        if before:
            self._uids.pop(before.obj["metadata"]["uid"], None)
            for uid in owner_uids(before.obj):
                left = self._dependents.get(uid, set())
                left.discard((kind, key))
                if not left:
                    self._dependents.pop(uid, None)
        if before or entry:
            self._tables[kind].set(key, entry)
        if entry:
            self._uids[entry.obj["metadata"]["uid"]] = (kind, key)
            for uid in owner_uids(entry.obj):
                self._dependents.setdefault(uid, set()).add((kind, key))


class _Rehearsed(Exception):
    """Ends a rehearsal."""


def _key(kind: Kind, namespace: str | None, name: str) -> Key:
    return (namespace or "default", name) if kind.namespaced else ("", name)


def _check_preconditions(kind: Kind, old: Obj, uid: str | None, version: str | None) -> None:
    name = old["metadata"]["name"]
    if uid and uid != old["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
        raise conflict(kind, name, why)
    if version and version != old["metadata"]["resourceVersion"]:
        raise stale(kind, name)
