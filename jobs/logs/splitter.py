"""The byte stream of a Kubernetes log request (`<stamp> <text>` lines, cut anywhere into chunks) to pieces of lines.

Chunks of the transport are no lines (kubernetes-client/python#2426), a last line without LF counts (its own line reader drops it), blank lines
stay, and a line of any length passes through in pieces, so that memory stays small and nothing is cut.
"""

from dataclasses import dataclass

from jobs.logs.times import LONGEST_STAMP, parse_stamp

PIECE_BYTES = 65536


@dataclass(slots=True)
class Piece:
    """A line or a part of one: `first` part, `last` part, neither, or both. `data` has no LF; only the last part is followed by one."""

    stamp: int
    data: bytes
    first: bool = True
    last: bool = True


class Splitter:
    """Splits the stream.

    stamp: that of the last line begun (a line without a stamp of its own takes it). cap: bytes of a line without LF that are held back; with 0
    whatever came is given out at once, so that a progress bar is seen before its line ends.
    """

    def __init__(self, stamp: int = 0, cap: int = PIECE_BYTES) -> None:
        self.stamp = stamp
        self._cap = cap
        self._rest = b""
        self._inside = False  # parts of the line were given out already

    def feed(self, chunk: bytes) -> list[Piece]:
        """Return the lines that are complete now, and parts of one that is longer than the cap."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        pieces = [self._piece(line, last=True) for line in lines]
        if (
            rest
            and len(rest) > self._cap
            and (self._inside or b" " in rest[:LONGEST_STAMP] or len(rest) > LONGEST_STAMP)
        ):
            pieces.append(self._piece(rest, last=False))
            rest = b""
        self._rest = rest
        return pieces

    def flush(self) -> list[Piece]:
        """Return what the stream left without a LF at its end, as a piece that is not `last`."""
        rest, self._rest = self._rest, b""
        pieces = [self._piece(rest, last=False)] if rest else []
        self._inside = False
        return pieces

    def _piece(self, line: bytes, last: bool) -> Piece:
        first, self._inside = not self._inside, not last
        if first:
            end = line.find(b" ", 0, LONGEST_STAMP + 1)
            try:
                self.stamp = parse_stamp(line if end < 0 else line[:end])
                line = b"" if end < 0 else line[end + 1 :]
            except ValueError:
                pass  # a message of the kubelet itself: no stamp, all of it is text
        return Piece(self.stamp, line, first, last)
