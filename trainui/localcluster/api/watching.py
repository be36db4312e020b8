"""Watches: changes of one kind as a stream of JSON lines."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator

import orjson
from starlette.requests import Request
from starlette.responses import StreamingResponse

from trainui.localcluster.api.accept import PARTIAL, TABLE, Form, wanted_form
from trainui.localcluster.api.listing import partial, selection
from trainui.localcluster.api.options import flag, number, text, version
from trainui.localcluster.api.printers import definitions, row, table
from trainui.localcluster.api.target import Target
from trainui.localcluster.changes import Change, Subscription
from trainui.localcluster.errors import ApiError, gone
from trainui.localcluster.resources import Kind, Obj
from trainui.localcluster.selectors import Predicate
from trainui.localcluster.store import Store

BOOKMARK_SECONDS = 30.0
MAX_BEHIND = 20_000
_DEFAULT_SECONDS = (1800, 3600)


def watch(store: Store, request: Request, target: Target, closing: asyncio.Event) -> StreamingResponse:
    """Answer a watch. Raises ApiError: 410 for a version whose changes are forgotten, 400 for bad parameters."""
    since = version(request)
    if since is not None and since > int(store.version):
        raise gone(f"resource version {since} is of another cluster; the current one is {store.version}")
    if flag(request, "sendInitialEvents") or (since is None and not text(request, "sendInitialEvents")):
        since = 0
    stream = _Stream(store, request, target)
    stream.subscription = store.subscribe(target.kind.kind, since, limit=MAX_BEHIND)
    seconds = number(request, "timeoutSeconds") or random.randint(*_DEFAULT_SECONDS)  # noqa: S311 - only spreads load
    return StreamingResponse(stream.lines(seconds, closing), media_type="application/json")


class _Stream:
    """One watch: which changes it shows, and how."""

    subscription: Subscription

    def __init__(self, store: Store, request: Request, target: Target) -> None:
        self.store = store
        self.kind: Kind = target.kind
        self.namespace = target.namespace or None
        self.form: Form = wanted_form(request)
        self.matches: Predicate | None = selection(request, target)
        self.bookmarks = flag(request, "allowWatchBookmarks")
        self.mark_start = self.bookmarks and flag(request, "sendInitialEvents")
        self.defined = False

    async def lines(self, seconds: float, closing: asyncio.Event) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        try:
            while not closing.is_set() and loop.time() < end:
                yield b"".join(self._encoded(self.subscription.take()))
                if self.mark_start:
                    self.mark_start = False
                    yield self._bookmark({"k8s.io/initial-events-end": "true"})
                try:
                    async with asyncio.timeout(min(BOOKMARK_SECONDS, max(end - loop.time(), 0))):
                        await self.subscription.wait()
                except TimeoutError:
                    if self.bookmarks:
                        yield self._bookmark()
        except ApiError as error:
            yield orjson.dumps({"type": "ERROR", "object": error.status()}) + b"\n"
        finally:
            self.subscription.close()

    def _encoded(self, changes: list[Change]) -> Iterator[bytes]:
        for change in changes:
            if self.namespace is not None and change.obj["metadata"].get("namespace") != self.namespace:
                continue
            shown = self._shown(change)
            if shown is not None:
                yield shown

    def _shown(self, change: Change) -> bytes | None:
        """Return the line of a change as this watch sees it: entering and leaving the selection are ADDED and DELETED."""
        type_, obj, raw = change.type, change.obj, change.raw
        if self.matches is not None:
            now = type_ != "DELETED" and self.matches(obj)
            before = change.previous is not None and self.matches(change.previous)
            if not now and not before:
                return None
            type_ = "DELETED" if not now else "MODIFIED" if before else "ADDED"
            if change.type == "MODIFIED" and type_ == "DELETED" and change.previous is not None:
                metadata = {**change.previous["metadata"], "resourceVersion": str(change.version)}
                obj = {**change.previous, "metadata": metadata}
                raw = orjson.dumps(obj)
        if self.form.name in (TABLE, PARTIAL):
            raw = orjson.dumps(self._formed(obj))
        return b'{"type":"' + type_.encode() + b'","object":' + raw + b"}\n"

    def _formed(self, obj: Obj) -> Obj:
        if self.form.name == PARTIAL:
            return partial(obj)
        columns = None if self.defined else definitions(self.kind.kind)
        self.defined = True
        rows = [row(self.kind.kind, obj, self.store.clock(), self.form.include)]
        return table(rows, columns, {"resourceVersion": obj["metadata"]["resourceVersion"]})

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        metadata: Obj = {"resourceVersion": self.store.version, "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        obj: Obj = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        if self.form.name == TABLE:
            obj = table([], None, {"resourceVersion": self.store.version})
        return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"
