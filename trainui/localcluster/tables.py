"""Objects of one kind in order, and what a write makes of an object: the store's tools without state of their own."""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass

from trainui.localcluster.objects import OWNED_BY_SERVER, editable
from trainui.localcluster.resources import Kind, Obj

Key = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One stored object, its JSON, and when it was written (Unix time)."""

    obj: Obj
    raw: bytes
    written: float


class Table:
    """The objects of one kind, in the order of namespace and name."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.order: list[Key] = []

    def set(self, key: Key, entry: Entry | None) -> None:
        """Put an entry in its place, or take it away."""
        if entry is None:
            del self.entries[key]
            del self.order[bisect_left(self.order, key)]
            return
        if key not in self.entries:
            insort(self.order, key)
        self.entries[key] = entry

    def keys(self, namespace: str | None) -> list[Key]:
        """Return the keys of a namespace, or of all (then not to be changed)."""
        if namespace is None:
            return self.order
        start = bisect_left(self.order, (namespace, ""))
        return self.order[start : bisect_right(self.order, (namespace, "\U0010ffff"))]


def replaced(kind: Kind, old: Obj, new: Obj, subresource: str | None) -> Obj:
    """Return the object after a write: what the writer sent, and from the old one what it may not set."""
    if subresource is not None:
        after = editable(old)
        if "managedFields" in new["metadata"]:
            after["metadata"]["managedFields"] = new["metadata"]["managedFields"]
        after.pop(subresource, None)
        if new.get(subresource) is not None:
            after[subresource] = new[subresource]
        return after
    metadata = {key: value for key, value in new["metadata"].items() if key not in OWNED_BY_SERVER}
    for key in (*OWNED_BY_SERVER, "namespace", "name", "generateName"):
        if key in old["metadata"]:
            metadata[key] = old["metadata"][key]
    new |= {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    if kind.status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    return new
