"""Shared pieces of the log tests: container output as the API server sends it, archived and opened again."""

from collections.abc import Iterable
from pathlib import Path

from jobs.logs.archive import Archive
from jobs.logs.reader import LogReader
from jobs.logs.splitter import Splitter
from jobs.logs.times import format_stamp
from jobs.logs.window import Source

BASE = 1_772_359_200_000_000_000  # 2026-03-01T10:00:00Z


def served(lines: Iterable[bytes], start: int = BASE, step: int = 1_000_000_000) -> bytes:
    """Lines behind stamps that rise by `step` nanoseconds."""
    return b"".join(format_stamp(start + at * step).encode() + b" " + line + b"\n" for at, line in enumerate(lines))


def write(folder: Path, data: bytes, complete: bool = True, chunk: int = 1 << 16) -> None:
    """Archive what the API server sent."""
    archive, splitter = Archive(folder), Splitter()
    for at in range(0, len(data), chunk):
        archive.append(splitter.feed(data[at : at + chunk]))
    archive.append(splitter.flush())
    if complete:
        archive.complete("ended")
    archive.close()


def source(folder: Path, order: int = 0, rank: int | None = None) -> Source:
    """One log of a view; its key is its order."""
    return Source(str(order), order, order if rank is None else rank, f"pod-{order}", LogReader(folder))
