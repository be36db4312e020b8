"""Bodies that are too large never reach Django, which would write them to a temporary file first."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from trainui.body_limit import ADMISSION_MAX_BYTES, bounded, limit_of

LIMIT = 1 << 16
CHUNK = 1 << 14


@pytest.fixture(autouse=True)
def _small(settings) -> None:  # type: ignore[no-untyped-def]
    settings.BODY_MAX_BYTES = LIMIT
    settings.ARTIFACT_MAX_BYTES = 4 * LIMIT


class Reader:
    """An application that reads the whole body before it answers, as Django's handler does."""

    def __init__(self) -> None:
        self.read = 0
        self.aborted = False

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.aborted = True
                return
            self.read += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def ask(path: str, size: int, with_length: bool) -> tuple[Reader, int, int]:
    """Send a body in chunks; return the reader, the status, and how many bytes were taken from the connection."""
    reader, sent, taken = Reader(), [], 0

    def chunks() -> Iterator[dict[str, Any]]:
        for start in range(0, size, CHUNK):
            more = start + CHUNK < size
            yield {"type": "http.request", "body": bytes(min(CHUNK, size - start)), "more_body": more}

    coming = chunks()

    async def receive() -> dict[str, Any]:
        nonlocal taken
        message = next(coming)
        taken += len(message["body"])
        return message

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-length", str(size).encode())] if with_length else [(b"transfer-encoding", b"chunked")]
    asyncio.run(bounded(reader)({"type": "http", "path": path, "headers": headers}, receive, send))
    return reader, sent[0]["status"], taken


@pytest.mark.parametrize("with_length", [True, False])
@pytest.mark.parametrize(("path", "limit"), [("/jobs", LIMIT), ("/progress/x/artifacts/y", 4 * LIMIT)])
def test_what_fits_is_read_whole(path: str, limit: int, with_length: bool) -> None:
    reader, status, _ = ask(path, limit, with_length)
    assert (reader.read, reader.aborted, status) == (limit, False, 200)


def test_a_header_that_says_too_much_is_believed() -> None:
    reader, status, taken = ask("/jobs", LIMIT + 1, True)
    assert (reader.read, taken) == (0, 0)
    assert status == 200  # this reader's own answer; Django's middleware answers 413 by the header


@pytest.mark.parametrize("size", [LIMIT + 1, 100 * LIMIT])
def test_chunks_without_end_are_cut_off(size: int) -> None:
    reader, status, taken = ask("/sign-in", size, False)
    assert (reader.aborted, status) == (True, 413)
    assert reader.read <= LIMIT < taken <= LIMIT + CHUNK


def test_each_address_has_its_limit() -> None:
    assert [limit_of(p) for p in ("/", "/api/v1/trainjobs", "/progress/x/status", "/admission/t/rules")] == [
        LIMIT,
        LIMIT,
        4 * LIMIT,
        ADMISSION_MAX_BYTES,
    ]
