"""A board where a test and the programs of its jobs leave each other notes, by HTTP: pods of a real machine see none of the test's files.

    python3 -c 'import urllib.request as web; web.urlopen("URL/wait/1/go")'

`note/TEXT` writes a note, `has/TEXT` asks for one (404 until it is there), `wait/N/TEXT` answers once N notes begin with a text.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.stack import Stack

OK, NOT_FOUND, UNAVAILABLE = 200, 404, 503


class Board:
    """The notes in the order in which they came, and the server that takes them."""

    def __init__(self, host: str) -> None:
        self.notes: list[str] = []
        self._changed = threading.Condition()
        self._closed = False
        board = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(board._answer(self.path.removeprefix("/")))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self.url = f"http://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, text: str) -> None:
        """Write a note."""
        with self._changed:
            self.notes.append(text)
            self._changed.notify_all()

    def ask(self, path: str) -> str:
        """Return the command by which a script asks: it ends well when the answer is yes."""
        return f"""python3 -c 'import urllib.request as web; web.urlopen("{self.url}/{path}")'"""

    def close(self) -> None:
        """End the server, and turn away who still waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> int:
        what, _, text = path.partition("/")
        if what == "note":
            self.note(text)
            return OK
        if what == "has":
            return OK if text in self.notes else NOT_FOUND
        number, _, start = text.partition("/")
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or sum(note.startswith(start) for note in self.notes) >= int(number)
            )
            return UNAVAILABLE if self._closed else OK


@pytest.fixture
def board(stack: Stack) -> Iterator[Board]:
    """A board that pods of the instance's cluster reach."""
    made = Board(httpx.URL(stack.url).host)
    yield made
    made.close()
