"""Serves one log viewer over real archives, with the content security policy of the product."""

import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from jobs.logs.find import find
from jobs.logs.html import row_html
from jobs.logs.reader import LogReader
from jobs.logs.search import Query
from jobs.logs.window import Source, full_row, tail, window

ROOT = Path(__file__).resolve().parents[3]
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
PAGE = """<!doctype html><html lang="en" class="js"><head><meta charset="utf-8"><title>log</title>
<link rel="stylesheet" href="/css/tokens.css"><link rel="stylesheet" href="/css/base.css">
<link rel="stylesheet" href="/css/components.css"><link rel="stylesheet" href="/css/log-palette.css">
<link rel="stylesheet" href="/css/logs.css"><script type="module" src="/js/logs.js"></script></head>
<body><main class="main"><section class="log" data-log data-job="j1" data-rows="/rows" data-tail="/tail" {search}>
<div class="log-bar"><button class="btn" type="button" data-log-follow aria-pressed="true">Follow</button>
<button class="btn" type="button" data-log-times aria-pressed="false">Timestamps</button>
<button class="btn" type="button" data-log-wrap aria-pressed="false">Wrap</button>
<div class="log-find"><input type="search" data-log-find aria-label="Find in the log">
<button class="btn" type="button" data-log-prev>Previous</button><button class="btn" type="button" data-log-next>Next</button>
<output data-log-found role="status"></output></div></div>
<div class="log-rows" data-log-rows role="log" tabindex="0" aria-label="Log">{rows}</div>
<p class="log-state" data-log-state role="status"></p></section></main></body></html>"""


class ViewerServer:
    """Serves on a free port of loopback until `stop`; `folders` are the archives by rank."""

    def __init__(self, folders: list[Path]) -> None:
        self.folders = folders
        self.search = True
        self.requests: list[str] = []
        self.fail = 0
        routes = [
            Route("/page", self._page),
            Route("/rows", self._rows),
            Route("/tail", self._tail),
            Route("/search", self._search),
            Route("/rows/{key}/{row:int}", self._row),
            Mount("/js", StaticFiles(directory=ROOT / "static" / "js")),
            Mount("/css", StaticFiles(directory=ROOT / "static" / "css")),
        ]
        config = uvicorn.Config(Starlette(routes=routes), "127.0.0.1", 0, log_level="warning", lifespan="off")
        self.server = uvicorn.Server(config)
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def start(self) -> None:
        self.thread.start()
        while not self.server.started and self.thread.is_alive():
            self.thread.join(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)

    def _with(self, request: Request, answer: Callable[[list[Source]], Response]) -> Response:
        self.requests.append(str(request.url.path) + "?" + str(request.url.query))
        if self.fail > 0:
            self.fail -= 1
            return JSONResponse({"title": "broken"}, 503)
        readers = [LogReader(folder) for folder in self.folders]
        try:
            return answer([Source(str(at), at, at, f"pod-{at}/node", reader) for at, reader in enumerate(readers)])
        finally:
            for reader in readers:
                reader.close()

    def _page(self, request: Request) -> Response:
        def answer(sources: list[Source]) -> Response:
            rows = "".join(row_html(row, "/row/") for row in window(sources, -1000, 1000).rows)
            search = 'data-search="/search"' if self.search else ""
            return HTMLResponse(PAGE.format(rows=rows, search=search), headers={"Content-Security-Policy": POLICY})

        return self._with(request, answer)

    def _rows(self, request: Request) -> Response:
        query = request.query_params
        start, count, at = int(query["start"]), int(query["count"]), query.get("at", "")
        return self._with(request, lambda sources: JSONResponse(window(sources, start, count, at=at).as_json()))

    def _tail(self, request: Request) -> Response:
        cursor = request.query_params["cursor"]
        return self._with(request, lambda sources: JSONResponse(tail(sources, cursor).as_json()))

    def _search(self, request: Request) -> Response:
        query = request.query_params
        return self._with(
            request, lambda sources: JSONResponse(find(sources, Query(query["q"]), at=query["at"]).as_json())
        )

    def _row(self, request: Request) -> Response:
        def answer(sources: list[Source]) -> Response:
            row = full_row(sources[int(request.path_params["key"])], request.path_params["row"])
            return JSONResponse(row.as_json()) if row else JSONResponse({}, 404)

        return self._with(request, answer)
