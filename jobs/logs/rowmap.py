"""Lines to rows: they have the same numbers until a line moves the cursor up (nested progress bars), and then rows are written again.

`RowTracker` follows the cursor while lines are archived and yields a `Move` for each line that moved it; `RowMap` answers from these moves
which lines make a row, so that a window of rows is rendered from few lines wherever it is. Both use the renderer, so they cannot disagree with it.
"""

import re
import struct
from bisect import bisect_right
from typing import NamedTuple

from jobs.logs.render import Renderer

_MOVES = re.compile(rb"\x1b\[[0-9;]*[AB]|\x1b(?:\[[0-9;]*)?\Z")
_RECORD = struct.Struct("<QQQQQ")
RECORD_SIZE = _RECORD.size


class Move(NamedTuple):
    """After `line`, which touched rows from `top` on, the cursor was at `row`, had been as low as `lowest`, and `used` rows existed."""

    line: int
    top: int
    row: int
    lowest: int
    used: int

    def pack(self) -> bytes:
        """Return the record of the archive's file `moves`."""
        return _RECORD.pack(*self)


def unpack_moves(data: bytes) -> list[Move]:
    """Return the whole records in `data`; a torn last one is left out."""
    whole = len(data) - len(data) % RECORD_SIZE
    return [Move(*fields) for fields in _RECORD.iter_unpack(data[:whole])]


class RowTracker:
    """Follows the cursor over complete lines. `line` is the number of the next one."""

    def __init__(self, line: int = 0, row: int = 0, lowest: int = 0, used: int = 0) -> None:
        self.line, self.row, self.lowest, self.used = line, row, lowest, used
        self._renderer: Renderer | None = None  # of the current line, once it may move

    def part(self, data: bytes) -> None:
        """Take a part of the current line, without its LF."""
        if self._renderer is None and b"\x1b" in data and _MOVES.search(data):
            self._renderer = Renderer(self.row, self.lowest, self.used, max_cells=0)
        if self._renderer is not None:
            self._renderer.feed(data)
            self._renderer.rows.clear()

    def end_line(self) -> Move | None:
        """End the current line; return a Move if it was one of those."""
        renderer, self._renderer = self._renderer, None
        line, top = self.line, self.row
        self.line += 1
        if renderer is None:
            self.row += 1
            self.used = max(self.used, self.row)
            self.lowest = max(self.lowest, self.row)
            return None
        renderer.feed(b"\n")
        self.row, self.lowest, self.used = renderer.row, renderer.lowest, renderer.used
        return Move(line, min(top, renderer.top), self.row, self.lowest, self.used)

    def drop_part(self) -> None:
        """Forget the parts of the current line: the whole line will come again."""
        self._renderer = None


class RowMap:
    """What the first `lines` complete lines of a log make of its rows. `open_move` is the state after an open last line, as a Move."""

    def __init__(self, lines: int, moves: list[Move], open_line: bytes = b"") -> None:
        moves = [move for move in moves if move.line < lines]
        self.complete_lines = lines
        self.lines = lines
        self._moves = [Move(-1, 0, 0, 0, 0), *moves]
        self._set_segments()
        if open_line:
            row, lowest, used = self.state(lines)
            renderer = Renderer(row, lowest, used, max_cells=0)
            renderer.feed(open_line)
            if _MOVES.search(open_line):
                self._moves.append(
                    Move(lines, min(row, renderer.top), renderer.row, renderer.lowest, max(used, renderer.used))
                )
                self._set_segments()
            # an open line of which nothing can be seen yet makes no row
            self.lines += 1 if row < renderer.used else 0
        self.rows = self.state(self.lines)[2]

    def _set_segments(self) -> None:
        self._starts = [move.line for move in self._moves]
        self._used = [move.used for move in self._moves]
        # the highest row that is touched from segment k on: the last line of any rows is found by it
        tops, top = [], 1 << 62
        for move, following in zip(reversed(self._moves), [None, *reversed(self._moves[1:])], strict=True):
            top = min(top, move.row, following.top if following else top)
            tops.append(top)
        self._tops = tops[::-1]

    @property
    def simple(self) -> bool:
        """Whether every row is its line."""
        return len(self._moves) == 1

    def state(self, line: int) -> tuple[int, int, int]:
        """Return row, lowest and used as they are before `line`."""
        move = self._moves[bisect_right(self._starts, line - 1) - 1]
        row = move.row + line - move.line - 1
        return row, max(move.lowest, row), max(move.used, row)

    def first_line(self, row: int) -> int:
        """Return the line that first wrote in `row`, which must exist."""
        at = bisect_right(self._used, row) - 1  # the last segment that began with `row` not there yet
        move = self._moves[at]
        end = self._starts[at + 1] if at + 1 < len(self._moves) else self.lines
        return min(move.line + 1 + row - move.row, end)

    def last_line(self, row: int) -> int:
        """Return the last line that touched a row above `row` (exclusive), -1 for none."""
        low, high = 0, len(self._tops)
        while low < high:  # tops never falls: find the first segment that stays below
            middle = (low + high) // 2
            if self._tops[middle] < row:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return -1
        move = self._moves[low - 1]
        following = self._moves[low] if low < len(self._moves) else None
        if following and following.top < row:
            return following.line
        end = following.line if following else self.lines
        return min(move.line + row - move.row, end - 1)

    def touched_since(self, line: int) -> int:
        """Return the highest row that `line` or a later one touched; the number of rows if there is none."""
        if line >= self.lines:
            return self.rows
        at = bisect_right(self._starts, line - 1) - 1
        row = self.state(line)[0]
        return min(row, self._moves[at + 1].top, self._tops[at + 1]) if at + 1 < len(self._moves) else row
