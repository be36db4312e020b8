"""The reconnect rule: which lines of a new log request were taken already.

`sinceTime` counts whole seconds, so the last second comes again. Lines before the last stamp are dropped; at the last stamp as many as were
already taken (equal lines at one stamp are legal, so a set of them would lose some). A part of a line from before the drop is replaced by the
whole line. apache/airflow#39236 shows what whole seconds alone do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobs.logs.splitter import Piece
from jobs.logs.times import since_time


@dataclass(slots=True)
class Position:
    """How far a log was taken: the latest stamp, and how many whole lines have exactly that stamp."""

    stamp: int = 0
    count: int = 0

    def since_time(self) -> str | None:
        """The `sinceTime` to ask with; None for a log of which nothing was taken."""
        return since_time(self.stamp) if self.count else None

    def add(self, stamp: int) -> None:
        """Count one more whole line."""
        if stamp == self.stamp and self.count:
            self.count += 1
        elif stamp > self.stamp or not self.count:
            self.stamp, self.count = stamp, 1


class Resume:
    """Drops what was taken before; one for each connection.

    gap: the first line that came was later than the last stamp though the last line should have come again: the kubelet has rotated it away,
    lines may be missing between the two.
    """

    def __init__(self, position: Position) -> None:
        self._last = position.stamp
        self._again = position.count
        self._fresh = not position.count  # everything from here on is new
        self._keep = True  # whether the line that is now coming in parts is new
        self.gap = False

    def filter(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces that are new."""
        for piece in pieces:
            if piece.first:
                self._keep = self._fresh or self._is_new(piece.stamp)
            if self._keep:
                yield piece

    def _is_new(self, stamp: int) -> bool:
        if stamp < self._last:
            return False
        if stamp == self._last and self._again:
            self._again -= 1
            return False
        if stamp > self._last:
            self.gap = self._again > 0
            self._fresh = True
        return True
