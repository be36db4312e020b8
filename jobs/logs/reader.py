"""Reading an archive while another process may still write it: lines by number or time, rows of the text view, the raw bytes.

The index is mapped into memory and never shrinks; the bytes are read by position, because mapped memory of a file that is cut short kills a process.
"""

import heapq
import mmap
import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.logs.archive import ENTRY, read_meta
from jobs.logs.render import UNLIMITED, Renderer
from jobs.logs.render_cache import CACHE
from jobs.logs.row import Row
from jobs.logs.rowmap import RowMap
from jobs.logs.times import format_stamp

BLOCK = 1 << 20
CACHED_LINES = 6000  # more lines than a window has rows: some rows are redrawn
LONG_LINE = 8 << 20  # bytes of one line beyond which only a part of it is rendered


@dataclass(slots=True)
class Line:
    """One line: `data` without its LF; `ended` says whether it has one; `note` whether it is ours."""

    number: int
    stamp: int
    data: bytes
    note: bool
    ended: bool


@dataclass(slots=True)
class LogRow:
    """One row of the text view with the stamp of the line that first wrote in it."""

    number: int
    stamp: int
    row: Row
    note: bool


class LogReader:
    """A snapshot of one archive. A folder that does not exist (yet) reads as an empty log.

    lines, rows: how many there are, with an open last one. complete: nothing will follow. truncated: cut at the size limit.
    """

    def __init__(self, folder: Path) -> None:
        meta = read_meta(folder)
        self.folder = folder
        self.complete: bool = bool(meta.get("complete"))
        self.truncated: bool = bool(meta.get("truncated"))
        self.dropped_bytes: int = int(meta.get("dropped_bytes", 0))
        self.bytes = 0
        self.lines = 0
        self._log = -1
        self._starts: Sequence[int] = ()
        self._keys: Sequence[int] = ()
        self._clock: dict[int, int] | None = None
        self._map: RowMap | None = None
        self._notes: frozenset[int] = frozenset()
        self._ended = True
        self._open_files()

    def __enter__(self) -> "LogReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the files back; may be called twice."""
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        self._starts = self._keys = ()

    @property
    def ended_lines(self) -> int:
        """How many lines have their LF: a position that stays valid."""
        return self.lines if self._ended else self.lines - 1

    @property
    def settled_lines(self) -> int:
        """How many lines will not change any more by what follows in them: all of a complete log, else those with their LF."""
        return self.lines if self.complete else self.ended_lines

    @property
    def row_map(self) -> RowMap:
        """Which lines make which rows."""
        if self._map is None:
            path = self.folder / "moves"
            data = path.read_bytes() if path.exists() else b""
            open_line = b"" if self._ended else self._bytes(self.lines - 1, limit=BLOCK)
            self._map = RowMap(self.ended_lines, data, open_line, final=self.complete)
        return self._map

    @property
    def rows(self) -> int:
        """How many rows the text view has."""
        return self.row_map.rows

    @property
    def last_stamp(self) -> int:
        """The latest stamp, 0 for an empty log."""
        return self._keys[self.lines - 1] if self.lines else 0

    def read(self, start: int, count: int, limit: int | None = None) -> list[Line]:
        """Return lines by number, each cut to `limit` bytes."""
        return [self._line(number, limit) for number in range(max(0, start), min(self.lines, start + count))]

    def tail(self, count: int, limit: int | None = None) -> list[Line]:
        """Return the last lines."""
        return self.read(max(0, self.lines - count), count, limit)

    def since(self, stamp: int) -> int:
        """Return the number of the first line at `stamp` or later."""
        return bisect_left(self._keys, stamp, 0, self.lines)

    def key(self, line: int) -> int:
        """Return the merge key of a line: its stamp, but never less than an earlier line's."""
        return self._keys[line]

    def row_key(self, row: int) -> int:
        """Return the merge key of a row."""
        return self._keys[self.row_map.first_line(row)]

    def rows_until(self, key: int, inclusive: bool, lines: int | None = None) -> int:
        """Return how many rows were begun before a key (or at it), counting only the first `lines` lines."""
        end = self.lines if lines is None else min(lines, self.lines)
        line = (bisect_right if inclusive else bisect_left)(self._keys, key, 0, end)
        return self.rows_of_lines(line)

    def rows_of_lines(self, lines: int) -> int:
        """Return how many rows the first lines make."""
        return self.rows if lines >= self.lines else self.row_map.state(lines)[2]

    def raw(self, block: int = BLOCK) -> Iterator[bytes]:
        """Yield the bytes that the container wrote: no stamp, no note of ours."""
        at = 0
        for number in sorted(note for note in self._notes if note < self.lines):
            yield from self._range(at, self._start(number), block)
            at = self._end(number)
        yield from self._range(at, self.bytes, block)

    def stamped(self) -> Iterator[bytes]:
        """Yield `<stamp> <text>` lines as the kubelet writes them; a line of any length in pieces."""
        for number in range(self.lines):
            yield f"{format_stamp(self.stamp(number))} ".encode()
            yield from self._range(self._start(number), self._end(number), BLOCK)

    def stamp(self, line: int) -> int:
        """Return the stamp of a line as its container's clock gave it."""
        if self._clock is None:
            pairs = self._numbers("clock", 2)
            self._clock = dict(zip(pairs[0::2], pairs[1::2], strict=True))
        return self._clock.get(line, self._keys[line])

    def render(self, start: int, count: int, max_cells: int = UNLIMITED) -> list[LogRow]:
        """Return rows by number, of each at most the first `max_cells` cells (`Row.length` counts them all)."""
        row_map = self.row_map
        end = min(row_map.rows, start + count)
        start = max(0, start)
        if start >= end:
            return []
        first, last = row_map.first_line(start), row_map.last_line(end)
        rendered = self._rendered(start, first, last + 1, max_cells)
        rows = []
        for number in range(start, end):
            line = row_map.first_line(number)
            rows.append(LogRow(number, self.stamp(line), rendered.get(number) or Row(), self.is_note(line)))
        return rows

    def _rendered(self, start: int, first: int, end: int, max_cells: int) -> dict[int, Row]:
        """The rows from `start` on after lines [first, end). Where rows are redrawn for hours only new lines are rendered."""
        cached = end - first > CACHED_LINES and end <= self.ended_lines
        known = CACHE.take(self.folder, max_cells, start, end) if cached else None
        renderer, at = known or (Renderer(*self.row_map.state(first), max_cells=max_cells), first)
        for block in self.line_blocks(at, end):
            renderer.feed(block)
        if cached:
            return CACHE.keep(self.folder, max_cells, start, end, renderer)
        if self.complete and end == self.lines and not self._ended:
            renderer.finish()
        return renderer.rows

    def is_note(self, line: int) -> bool:
        """Return whether a line is ours."""
        return line in self._notes

    def line_blocks(self, first: int, end: int) -> Iterator[bytes]:
        """Yield the bytes of lines [first, end) in blocks; of a line over 8 MiB only what its view needs."""
        at, number = self._start(first) if first < self.lines else 0, first
        while number < end:
            # as many whole lines as fit in a block, but at least one
            stop = bisect_right(self._starts, at + BLOCK, number + 1, end)
            if stop > number + 1 and self._end(stop - 1) > at + BLOCK:
                stop -= 1
            until = self._end(stop - 1)
            if until - at > LONG_LINE:
                yield from self._long_line(at, until)
            else:
                yield from self._range(at, until, BLOCK)
            at, number = until, stop

    def _long_line(self, start: int, end: int) -> Iterator[bytes]:
        """The start of an endless line; of an endless progress bar its last redraws."""
        tail = os.pread(self._log, BLOCK, end - BLOCK)
        redraw = tail.find(b"\r")
        if 0 <= redraw < len(tail) - 2:
            yield tail[redraw:]
        else:
            yield os.pread(self._log, BLOCK, start)
            yield tail[-1:] if tail.endswith(b"\n") else b""

    def _open_files(self) -> None:
        try:
            self._log = os.open(self.folder / "log", os.O_RDONLY | os.O_CLOEXEC)
            self.bytes = os.fstat(self._log).st_size
            with (self.folder / "lines").open("rb") as index:
                entries = os.fstat(index.fileno()).st_size // ENTRY
                if entries:
                    mapped = mmap.mmap(index.fileno(), entries * ENTRY, access=mmap.ACCESS_READ)
                    view = memoryview(mapped).cast("Q")
                    self._starts, self._keys = view[0::2], view[1::2]
        except FileNotFoundError:
            return
        self.lines = bisect_left(self._starts, self.bytes)
        self._notes = frozenset(self._numbers("notes", 1))
        self._ended = not self.bytes or os.pread(self._log, 1, self.bytes - 1) == b"\n"

    def _numbers(self, name: str, width: int) -> "array[int]":
        """The whole groups of numbers in one of the sparse files."""
        path = self.folder / name
        raw = path.read_bytes() if path.exists() else b""
        return array("Q", raw[: len(raw) - len(raw) % (8 * width)])

    def _start(self, line: int) -> int:
        return self._starts[line]

    def _end(self, line: int) -> int:
        return self._start(line + 1) if line + 1 < self.lines else self.bytes

    def _bytes(self, line: int, limit: int | None = None) -> bytes:
        start, end = self._start(line), self._end(line)
        return b"".join(self._range(start, end if limit is None else min(end, start + limit), BLOCK))

    def _line(self, number: int, limit: int | None) -> Line:
        data = self._bytes(number, limit if limit is None else limit + 1)
        ended = number < self.ended_lines
        if data.endswith(b"\n"):
            data = data[:-1]
        return Line(number, self.stamp(number), data[:limit], self.is_note(number), ended)

    def _range(self, start: int, end: int, block: int) -> Iterator[bytes]:
        while start < end:
            data = os.pread(self._log, min(block, end - start), start)
            if not data:
                return
            yield data
            start += len(data)


def merged_lines(readers: Sequence[LogReader]) -> Iterator[tuple[int, int]]:
    """Yield (reader, line) of several logs in merged order; `readers` are in rank order."""

    def keys(order: int, reader: LogReader) -> Iterator[tuple[int, int, int]]:
        return ((reader.key(line), order, line) for line in range(reader.lines))

    for _, order, line in heapq.merge(*(keys(order, reader) for order, reader in enumerate(readers))):
        yield order, line
