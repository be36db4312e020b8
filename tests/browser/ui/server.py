"""A web server for the scripts of the frame alone: a page, fragments, and event streams that the test writes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import django_htmx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

ROOT = Path(__file__).resolve().parents[3]
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
PAGE = """<!doctype html><html lang="en" data-theme="system"><head><title>x</title>
<meta name="htmx-config" content='{{"includeIndicatorStyles":false,"allowEval":false}}'>
<script src="/htmx/htmx-2.min.js" defer></script><script src="/js/app.js" defer></script>
<script src="/js/events.js" defer></script></head>
<body data-events="/events" data-topics="{topics}"><div class="messages" id="messages" hidden></div>
<p data-live data-state="idle"><span class="live-text"></span></p>{body}</body></html>"""


@dataclass(eq=False)
class Stream:
    """One connection to /events."""

    query: dict[str, str]
    queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)
    closed: bool = False


class FrameServer:
    """Serves on a free port of loopback until `stop`; what the test sets is read at each request."""

    def __init__(self) -> None:
        self.topics, self.body = "*", ""
        self.fragments: dict[str, tuple[str, str]] = {}  # path -> (ETag, HTML)
        self.hits: list[str] = []
        self.streams: list[Stream] = []
        self.refuse = 0
        self.changed = threading.Condition()
        routes = [
            Route("/page", self._page),
            Route("/events", self._events),
            Route("/part/{name}", self._part),
            Mount("/js", StaticFiles(directory=ROOT / "static" / "js")),
            Mount("/htmx", StaticFiles(directory=Path(django_htmx.__file__).parent / "static" / "django_htmx")),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), "127.0.0.1", 0, log_level="warning", timeout_graceful_shutdown=1, lifespan="off"
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def start(self) -> None:
        self.thread.start()
        self.wait(lambda: self.server.started)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)

    def wait(self, condition: Callable[[], bool], seconds: float = 20) -> None:
        """Return as soon as `condition` holds. Raises AssertionError when it does not in time."""
        with self.changed:
            for _ in range(int(seconds * 20)):
                if condition():
                    return
                self.changed.wait(0.05)
        raise AssertionError("the condition never held")

    def send(self, stream: Stream, text: str | None) -> None:
        """Write to an open stream; None ends it."""
        self.loop.call_soon_threadsafe(stream.queue.put_nowait, text)

    def open_streams(self) -> list[Stream]:
        return [stream for stream in self.streams if not stream.closed]

    def _tell(self) -> None:
        with self.changed:
            self.changed.notify_all()

    async def _page(self, request: Request) -> Response:
        html = PAGE.format(topics=self.topics, body=self.body)
        return HTMLResponse(html, headers={"Content-Security-Policy": POLICY})

    async def _part(self, request: Request) -> Response:
        name = request.path_params["name"]
        self.hits.append(name)
        self._tell()
        tag, html = self.fragments[name]
        return HTMLResponse(html, headers={"ETag": tag, "Cache-Control": "no-cache"})

    async def _events(self, request: Request) -> Response:
        self.loop = asyncio.get_running_loop()
        stream = Stream(dict(request.query_params))
        if self.refuse:
            self.refuse -= 1
            stream.closed = True
            self.streams.append(stream)
            self._tell()
            return Response(status_code=503)
        self.streams.append(stream)
        self._tell()
        return StreamingResponse(self._lines(stream), media_type="text/event-stream")

    async def _lines(self, stream: Stream) -> AsyncIterator[str]:
        try:
            yield f"id: {stream.query['last'] or '1-0'}\nevent: hello\ndata: {{}}\n\n"
            while (text := await stream.queue.get()) is not None:
                yield text
        finally:
            stream.closed = True
            self._tell()
