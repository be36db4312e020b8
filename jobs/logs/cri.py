"""Container log files in CRI form: `<stamp> <stdout|stderr> <P|F> <text>`; P parts of a stream are joined up to its F part."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.logs.times import parse_stamp


@dataclass(slots=True)
class CriLine:
    """One line of one stream; a joined line has the stamp of its first part."""

    stamp: int
    stream: str
    data: bytes


class CriParser:
    """Joins the parts of each stream. What is no CRI line is kept as text of stdout at the last stamp: a log must not lose anything."""

    def __init__(self) -> None:
        self._rest = b""
        self._open: dict[str, CriLine] = {}
        self._stamp = 0

    def feed(self, chunk: bytes) -> list[CriLine]:
        """Return the lines that are complete now."""
        *raw_lines, self._rest = (self._rest + chunk).split(b"\n")
        return [line for raw in raw_lines if (line := self._take(raw))]

    def finish(self) -> list[CriLine]:
        """Return what is left: a torn last line, and streams whose F part never came."""
        raw, self._rest = self._rest, b""
        done = [line] if raw and (line := self._take(raw)) else []
        done += sorted(self._open.values(), key=lambda line: line.stamp)
        self._open.clear()
        return done

    def _take(self, raw: bytes) -> CriLine | None:
        parts = raw.split(b" ", 3)
        try:
            stamp = parse_stamp(parts[0])
            stream, tags = parts[1].decode(), parts[2].split(b":")
            if stream not in ("stdout", "stderr") or tags[0] not in (b"P", b"F"):
                raise ValueError(stream)
        except (ValueError, IndexError):
            return CriLine(self._stamp, "stdout", raw)
        self._stamp = stamp
        text = parts[3] if len(parts) > 3 else b""
        line = self._open.pop(stream, None) or CriLine(stamp, stream, b"")
        line.data += text
        if tags[0] == b"P":
            self._open[stream] = line
            return None
        return line


def parse_cri(chunks: Iterator[bytes]) -> Iterator[CriLine]:
    """Yield the lines of a whole file in the order in which they were completed."""
    parser = CriParser()
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.finish()
