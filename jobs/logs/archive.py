"""The archive of one container's log: an append-only folder that survives a crash at any byte.

`log`    the bytes as the container wrote them (and notes of ours as whole lines), so a download is the file.
`lines`  16 bytes per line: offset in `log`, and the merge key: the stamp, but never less than an earlier line's.
`clock`  16 bytes for each line whose stamp is less than its key: line number, stamp. A clock may step back.
`notes`  8 bytes for each line that is ours: line number.
`moves`  40 bytes for each line that moved the cursor up or down (see `rowmap`).
`meta.json`  written when the log is complete or cut: why, and what was dropped over the size limit.

A line's entry in `lines` is written before its bytes and entries are overwritten, never cut off, so a reader in another process always knows
all lines of the bytes it sees. What has no LF when an archive is opened for writing was torn and is dropped; the reconnect rule brings it again.
Numbers are in the machine's byte order. One writer at a time: the file `lines` is locked.
"""

import fcntl
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jobs.logs.resume import Position
from jobs.logs.rowmap import RowMap, RowTracker, whole_moves
from jobs.logs.splitter import Piece

ENTRY = 16
NOTE_PREFIX = "[trainui] "


class _Batch:
    """What one append adds to the files."""

    def __init__(self) -> None:
        self.index, self.clock, self.notes = array("Q"), array("Q"), array("Q")
        self.data, self.moves = bytearray(), bytearray()


class ArchiveBusy(Exception):
    """Another process writes this archive."""


def folder_name(pod: str, container: str, attempt: int) -> str:
    """Return the name of a container's archive below the folder of its job."""
    return f"{pod}--{container}--{attempt}"


def read_meta(folder: Path) -> dict[str, Any]:
    """Return `meta.json`, {} while the log is neither complete nor cut."""
    try:
        meta: dict[str, Any] = json.loads((folder / "meta.json").read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return meta


class Archive:
    """Appends to one container's log. `position` is how far it was taken, for the reconnect rule."""

    def __init__(self, folder: Path, max_bytes: int = 1 << 62) -> None:
        """Open or create the archive in `folder` and mend its end. Raises ArchiveBusy, OSError (no space, no right)."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._max_bytes = max_bytes
        self.lines = self.bytes = 0
        meta = read_meta(folder)
        self.completed: bool = bool(meta.get("complete"))
        self.truncated: bool = bool(meta.get("truncated"))
        self.dropped_bytes: int = int(meta.get("dropped_bytes", 0))
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._files = {
            name: os.open(folder / name, flags, 0o640) for name in ("lines", "log", "clock", "moves", "notes")
        }
        try:
            fcntl.flock(self._files["lines"], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._close_files()
            raise ArchiveBusy(str(folder)) from error
        self.position = Position()
        self._open = False
        self._line_start = self._line_stamp = self._key = self.first_stamp = 0
        self._tracker = RowTracker()
        self._load()

    @property
    def rows(self) -> int:
        """How many rows the complete lines make."""
        return self._tracker.used

    @property
    def last_stamp(self) -> int:
        """The latest stamp in nanoseconds, 0 for an empty log."""
        return self._key

    def append(self, pieces: Iterable[Piece]) -> None:
        """Add pieces of lines in their order. Over the size limit a note is added once and the rest is only counted. Raises OSError."""
        batch = _Batch()
        for piece in pieces:
            if self.truncated or self.bytes + len(batch.data) + len(piece.data) + 1 > self._max_bytes:
                self._over_limit(piece, batch)
                continue
            if piece.first:
                self._begin(piece.stamp, batch)
            if b"\x1b" in piece.data or not (piece.first and piece.last):
                self._tracker.part(piece.data)
            batch.data += piece.data
            if piece.last:
                self._end(batch)
                self.position.add(self._line_stamp)
        self._write(batch)

    def note(self, text: str) -> None:
        """Add a line of ours (`[trainui] ...`), which is not part of the raw download. Raises OSError."""
        batch = _Batch()
        self._add_note(text, batch)
        self._write(batch)

    def drop_open(self) -> None:
        """Forget the last line if it has no LF yet: the whole line will come again."""
        if self._open:
            self._open = False
            self.lines -= 1
            self.bytes = self._line_start
            self._tracker.drop_part()
            os.ftruncate(self._files["log"], self.bytes)

    def complete(self, reason: str) -> None:
        """Say that nothing will follow, and why (`ended`, `gone`, ...). Everything is on the disk when this returns. Raises OSError."""
        for fd in self._files.values():
            os.fsync(fd)
        self.completed = True
        self._write_meta(complete=True, reason=reason)

    def close(self) -> None:
        """Give the files and the lock back; may be called twice."""
        try:
            if self._files and self.truncated and not self.completed:
                self._write_meta(complete=False, reason="")
        finally:
            self._close_files()

    def _close_files(self) -> None:
        files, self._files = self._files, {}
        for fd in files.values():
            os.close(fd)

    def _begin(self, stamp: int, batch: _Batch) -> None:
        self._line_start, self._line_stamp, self._open = self.bytes + len(batch.data), stamp, True
        if stamp < self._key:
            batch.clock.extend((self.lines, max(0, stamp)))
        else:
            self._key = stamp
        if not self.lines:
            self.first_stamp = self._key
        batch.index.append(self._line_start)
        batch.index.append(self._key)
        self.lines += 1

    def _end(self, batch: _Batch) -> None:
        batch.data += b"\n"
        self._open = False
        if move := self._tracker.end_line():
            batch.moves += move.pack()

    def _add_note(self, text: str, batch: _Batch) -> None:
        if self._open:
            self._end(batch)
        batch.notes.append(self.lines)
        self._begin(self._key, batch)
        batch.data += f"{NOTE_PREFIX}{text}".encode()
        self._end(batch)

    def _over_limit(self, piece: Piece, batch: _Batch) -> None:
        if not self.truncated:
            self.truncated = True
            text = f"log cut: the limit of {self._max_bytes:,} bytes is reached, what follows was not kept"
            self._add_note(text, batch)
            self._write_meta(complete=False, reason="")
        self.dropped_bytes += len(piece.data) + piece.last
        if piece.last:
            self.position.add(piece.stamp)

    def _write(self, batch: _Batch) -> None:
        if batch.notes:
            _append(self._files["notes"], batch.notes.tobytes())
        if batch.clock:
            _append(self._files["clock"], batch.clock.tobytes())
        if batch.moves:
            _append(self._files["moves"], batch.moves)
        if batch.index:
            raw = batch.index.tobytes()
            _write_at(self._files["lines"], raw, self.lines * ENTRY - len(raw))
        if batch.data:
            _write_at(self._files["log"], batch.data, self.bytes)
            self.bytes += len(batch.data)

    def _write_meta(self, complete: bool, reason: str) -> None:
        meta = {"version": 1, "complete": complete, "reason": reason, "bytes": self.bytes, "lines": self.lines,
                "truncated": self.truncated, "dropped_bytes": self.dropped_bytes}  # fmt: skip
        temporary = self.folder / "meta.json.new"
        temporary.write_text(json.dumps(meta), encoding="utf-8")
        temporary.replace(self.folder / "meta.json")

    def _load(self) -> None:
        """Read where the archive ends, and mend an end that a crash has torn."""
        index = _read_numbers(self._files["lines"], 2)
        size = os.fstat(self._files["log"]).st_size
        starts, keys = index[0::2], index[1::2]
        self.lines = bisect_left(starts, size)
        self.bytes = size
        if not self.completed:
            self._mend(starts, size)
        moves = whole_moves(_read_all(self._files["moves"]), self.lines)
        os.ftruncate(self._files["moves"], len(moves))
        self._tracker = RowTracker(self.lines, *RowMap(self.lines, moves).state(self.lines))
        self._key = keys[self.lines - 1] if self.lines else 0
        self.first_stamp = keys[0] if self.lines else 0
        self.position = self._find_position(keys, self._kept("notes", 1), self._kept("clock", 2))

    def _mend(self, starts: "array[int]", size: int) -> None:
        if self.lines:
            start = starts[self.lines - 1]
            end = _find_newline(self._files["log"], start, size)
            self.bytes = start if end < 0 else end + 1
            self.lines -= end < 0
        else:
            self.bytes = 0
        os.ftruncate(self._files["log"], self.bytes)
        # entries of lines that are gone must not name an offset that will be reached again
        surplus = len(starts) - self.lines
        _write_at(self._files["lines"], b"\xff" * (ENTRY * surplus), self.lines * ENTRY)

    def _kept(self, name: str, width: int) -> set[int]:
        """Cut a sparse file to the lines that there are, and return the numbers of those."""
        numbers = _read_numbers(self._files[name], width)[0::width]
        kept = bisect_left(numbers, self.lines)
        os.ftruncate(self._files[name], kept * width * 8)
        return set(numbers[:kept])

    def _find_position(self, keys: "array[int]", notes: set[int], earlier: set[int]) -> Position:
        first = bisect_left(keys, self._key, 0, self.lines)
        count = sum(1 for line in range(first, self.lines) if line not in notes and line not in earlier)
        return Position(self._key, count) if count else Position()


def _append(fd: int, data: bytes | bytearray) -> None:
    _write_at(fd, data, os.fstat(fd).st_size)


def _write_at(fd: int, data: bytes | bytearray, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _read_all(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0) if size else b""


def _read_numbers(fd: int, width: int) -> "array[int]":
    """The whole groups of `width` numbers in a file."""
    raw = _read_all(fd)
    return array("Q", raw[: len(raw) - len(raw) % (8 * width)])


def _find_newline(fd: int, start: int, end: int) -> int:
    """The offset of the first LF in [start, end), -1 for none."""
    while start < end:
        block = os.pread(fd, min(1 << 20, end - start), start)
        if not block:
            break
        at = block.find(b"\n")
        if at >= 0:
            return start + at
        start += len(block)
    return -1
