"""The ASGI application behind /events: one stream per visible tab.

It stands before Django's handler because each of Django's middlewares would keep a thread per open stream; who may see what is read once at
the start, and a stream ends after some minutes so that a changed membership counts at the next connect.
"""

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest

from trainui.accounts.authentication import request_user
from trainui.accounts.permissions import visible_projects
from trainui.database import release_connections
from trainui.events.hub import Entry, Subscriber, hub
from trainui.events.sse import comment, encode

HEARTBEAT_SECONDS = 15
MAX_AGE_SECONDS = 600
DEBOUNCE_SECONDS = 0.15
MAX_TOPICS = 200
RETRY_MS = 2_000
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
    (b"content-encoding", b"identity"),
]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def events(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Serve `GET /events?topics=a,b&last=ID` as server-sent events, or answer 401, 405, 503."""
    if scope["method"] != "GET":
        await _refuse(send, 405, b"Only GET is allowed here.")
        return
    projects, signed_in = await sync_to_async(_who)(ASGIRequest(scope, io.BytesIO()))
    if not signed_in:
        await _refuse(send, 401, b"Sign in first.")
        return
    if len(hub.subscribers) >= settings.EVENT_STREAM_LIMIT:
        await _refuse(send, 503, b"Too many open event streams; the page works without and fetches on reload.")
        return
    query = parse_qs(scope["query_string"].decode("latin-1"))
    topics = frozenset(",".join(query.get("topics", [])).split(",")[:MAX_TOPICS]) - {""}
    last_id = query.get("last", [""])[0] or dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1")
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    subscriber = Subscriber(projects, topics)
    stream = asyncio.create_task(_stream(subscriber, last_id, send))
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({stream, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (stream, gone):
            task.cancel()
        for task in (stream, gone):
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await task


async def _stream(subscriber: Subscriber, last_id: str, send: Send) -> None:
    async with hub.subscribe(subscriber):
        await _write(send, encode("{}", event="hello", event_id=last_id or hub.last_id, retry_ms=RETRY_MS))
        if last_id:
            missed = await hub.since(last_id)
            await _write(
                send, encode("{}", event="reset", event_id=hub.last_id) if missed is None else _pack(missed, subscriber)
            )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_AGE_SECONDS):
                while True:
                    await _write(send, await _next(subscriber))
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next(subscriber: Subscriber) -> bytes:
    """Wait for entries, let a burst gather for a moment, and return them without doubles; a comment when nothing came."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            entries = [await subscriber.queue.get()]
    except TimeoutError:
        return comment("alive")
    await asyncio.sleep(DEBOUNCE_SECONDS)
    while not subscriber.queue.empty():
        entries.append(subscriber.queue.get_nowait())
    if None in entries:
        return encode("{}", event="reset", event_id=hub.last_id)
    return _pack([e for e in entries if e is not None], subscriber)


def _pack(entries: list[Entry], subscriber: Subscriber) -> bytes:
    """Encode the newest entry of each (name, subject), in order."""
    newest = {(e.name, e.subject): e for e in entries if subscriber.wants(e)}
    ordered = sorted(newest.values(), key=lambda e: entries.index(e))
    return b"".join(
        encode(f'{{"subject":"{e.subject}","data":{e.data}}}', event=e.name, event_id=e.id) for e in ordered
    ) or comment("nothing new")


def _who(request: ASGIRequest) -> tuple[frozenset[str] | None, bool]:
    """Return the ids of the projects the caller may see (None: all) and whether they are signed in; holds no connection after."""
    try:
        user = request_user(request)
        if user is None:
            return frozenset(), False
        if user.is_superuser:
            return None, True
        return frozenset(str(pk) for pk in visible_projects(user).values_list("pk", flat=True)), True
    finally:
        release_connections()


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, status: int, text: bytes) -> None:
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain; charset=utf-8")]}
    )
    await send({"type": "http.response.body", "body": text})
