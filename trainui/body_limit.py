"""How large a request may be, told before Django's handler reads it: that writes every body to a temporary file before the first middleware runs."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from django.conf import settings

from trainui.problems import CONTENT_TYPE, PROGRAMS, Problem
from trainui.problems import body as problem_body

ADMISSION_MAX_BYTES = 8 << 20  # an object of 3 MiB before and after the change, and some more
Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]
NOTHING: Message = {"type": "http.request", "body": b"", "more_body": False}


def limit_of(path: str) -> int:
    """Return the bytes that the body of a request to an address may have."""
    if path.startswith("/progress/"):
        return int(settings.ARTIFACT_MAX_BYTES)
    return ADMISSION_MAX_BYTES if path.startswith("/admission/") else int(settings.BODY_MAX_BYTES)


def bounded(app: App) -> App:
    """Return the application with bodies bounded.

    One that says in its header that it is too large is not read; `BodyLimitMiddleware` answers by that header. One without the header
    (chunked) is cut off at the limit and answered here.
    """

    async def limited(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        limit, length = limit_of(scope["path"]), dict(scope["headers"]).get(b"content-length", b"")
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read <= limit:
                return message
            await _too_large(send, scope["path"], limit)
            return {"type": "http.disconnect"}

        if not length.isdigit():
            await app(scope, counted, send)
        elif int(length) <= limit:
            await app(scope, receive, send)
        else:
            await app(scope, _unread(receive), send)

    return limited


def _unread(receive: Receive) -> Receive:
    """An empty body, and after it only the end of the connection."""
    first = True

    async def nothing() -> Message:
        nonlocal first
        if first:
            first = False
            return NOTHING
        while (message := await receive())["type"] != "http.disconnect":
            pass
        return message

    return nothing


async def _too_large(send: Send, path: str, limit: int) -> None:
    detail = f"The request has more than {limit:,} bytes."
    kind, body = b"text/plain; charset=utf-8", f"{detail}\n".encode()
    if path.startswith(PROGRAMS):
        kind, body = CONTENT_TYPE.encode(), orjson.dumps(problem_body(Problem(413, "too_large", detail), path))
    headers = [(b"content-type", kind), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
