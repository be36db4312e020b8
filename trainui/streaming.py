"""Large answers, sent as they are read.

Django under ASGI would read a synchronous body to its end before it sends the first byte, and hold all of it in memory.
"""

from collections.abc import AsyncIterator, Generator
from typing import BinaryIO

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header

from trainui.database import release_connections

BLOCK_BYTES = 256 << 10
Chunks = Generator[bytes, None, None]


def download(request: HttpRequest, chunks: Chunks, filename: str, content_type: str) -> StreamingHttpResponse:
    """Return an answer that a browser saves under `filename`; the chunks are read while it is sent, and closed when the client is gone."""
    body = _in_threads(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = content_disposition_header(True, filename) or "attachment"
    return response


def file_chunks(file: BinaryIO) -> Chunks:
    """Yield the bytes of an open file and close it."""
    with file:
        while chunk := file.read(BLOCK_BYTES):
            yield chunk


async def _in_threads(chunks: Chunks) -> AsyncIterator[bytes]:
    """Read in threads, so that the event loop goes on; a thread keeps no database connection."""
    try:
        while block := await sync_to_async(_block, thread_sensitive=False)(chunks):
            yield block
    finally:
        chunks.close()


def _block(chunks: Chunks) -> bytes:
    parts, size = [], 0
    try:
        for chunk in chunks:
            parts.append(chunk)
            size += len(chunk)
            if size >= BLOCK_BYTES:
                break
        return b"".join(parts)
    finally:
        release_connections()
