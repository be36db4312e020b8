"""Reading a container's log, as the node agent writes it: one record a line, in the CRI format.

A record is `<RFC 3339 with nine digits>Z <stdout|stderr> <P|F> <bytes>`; P marks a part of a line that goes on in the next record.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Restart:
    """The log of one run of a container."""

    path: Path
    count: int

    @property
    def exit_path(self) -> Path:
        """The file whose presence says that nothing more will be written."""
        return self.path.with_suffix(".exit")


def restarts(folder: Path) -> list[Restart]:
    """Return the logs of a container, the oldest first; empty when it has not started."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    counts = sorted(int(name[:-4]) for name in names if name.endswith(".log") and name[:-4].isdigit())
    return [Restart(folder / f"{count}.log", count) for count in counts]


def nanosecond_stamp(seconds: float) -> bytes:
    """Return a Unix time in the form of a record's stamp, so that the two compare as text."""
    whole = datetime.fromtimestamp(int(seconds // 1), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{int((seconds % 1) * 1_000_000):06d}000Z".encode()


def comparable_stamp(text: str) -> bytes:
    """Return an RFC 3339 time in the form of a record's stamp, keeping nanoseconds. Raises ValueError."""
    head, dot, tail = text.partition(".")
    digits = ""
    if dot:
        digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
        tail = tail[len(digits) :]
        moment = datetime.fromisoformat(head + tail)
    else:
        moment = datetime.fromisoformat(head)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone in {text!r}")
    whole = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{digits[:9]:0<9}Z".encode()


def offset_since(file: BinaryIO, stamp: bytes, size: int) -> int:
    """Return the offset of the first record that is not older than `stamp`; records are in order of time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        start = _next_record(file, middle, size)
        file.seek(start)
        found = file.readline(64).split(b" ", 1)[0]
        if start >= high or found >= stamp:
            high = middle
        else:
            low = start + 1 if start > middle else middle + 1
    return _next_record(file, low, size)


def _next_record(file: BinaryIO, offset: int, size: int) -> int:
    """Return the start of the record at `offset`, or of the next one when it lies inside a record."""
    if offset <= 0:
        return 0
    position = offset - 1
    while position < size:
        file.seek(position)
        chunk = file.read(CHUNK)
        if not chunk:
            return size
        found = chunk.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(chunk)
    return size


def offset_tail(file: BinaryIO, lines: int, size: int) -> int:
    """Return the offset behind which the last `lines` records stand."""
    if lines <= 0:
        return size
    position, wanted = size, lines
    file.seek(max(size - 1, 0))
    if size and file.read(1) == b"\n":
        wanted += 1
    while position > 0:
        start = max(position - CHUNK, 0)
        file.seek(start)
        chunk = file.read(position - start)
        count = chunk.count(b"\n")
        if count >= wanted:
            at = len(chunk)
            for _ in range(wanted):
                at = chunk.rfind(b"\n", 0, at)
            return start + at + 1
        wanted -= count
        position = start
    return 0


class Renderer:
    """Turns records into what a client reads: lines, with their stamps if wanted, up to a number of bytes."""

    def __init__(self, timestamps: bool = False, limit: int | None = None, stream: bytes = b"") -> None:
        self.timestamps = timestamps
        self.left = limit
        self.stream = stream
        self._rest = b""
        self._at_line_start = True

    @property
    def full(self) -> bool:
        """Whether the limit is reached."""
        return self.left is not None and self.left <= 0

    def feed(self, data: bytes) -> bytes:
        """Return the text of the records that are complete with `data`; what is left of one is kept."""
        records = (self._rest + data).split(b"\n")
        self._rest = records.pop()
        return self._cut(b"".join(self._texts(records)))

    def _texts(self, records: list[bytes]) -> Iterator[bytes]:
        for record in records:
            parts = record.split(b" ", 3)
            if len(parts) != 4 or parts[2] not in (b"P", b"F"):
                continue
            stamp, stream, tag, text = parts
            if self.stream and stream != self.stream:
                continue
            if self.timestamps and self._at_line_start:
                yield stamp + b" "
            yield text
            self._at_line_start = tag == b"F"
            if tag == b"F":
                yield b"\n"

    def _cut(self, text: bytes) -> bytes:
        if self.left is None:
            return text
        text = text[: max(self.left, 0)]
        self.left -= len(text)
        return text
