"""Lines to rows: they have the same numbers until a line moves the cursor up (nested progress bars), and then rows are written again.

`RowTracker` follows the cursor while lines are archived and yields a `Move` for each line that moved it; `RowMap` answers from these moves
which lines make a row, so that a window of rows is rendered from few lines wherever it is. Both use the renderer, so they cannot disagree with it.
"""

import re
import struct
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from jobs.logs.render import Renderer

_MOVES = re.compile(rb"\x1b\[[0-9;]*[AB]|\x1b(?:\[[0-9;]*)?\Z")
_RECORD = struct.Struct("=QQQQQ")
RECORD_SIZE = _RECORD.size
_NO_ROW = (1 << 64) - 1


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


def whole_moves(data: bytes, lines: int) -> bytes:
    """Return the records of the first `lines` lines; a torn last record is left out."""
    numbers = array("Q", data[: len(data) - len(data) % RECORD_SIZE])
    return data[: bisect_left(numbers[0::5], lines) * RECORD_SIZE]


class RowTracker:
    """Follows the cursor over complete lines. `line` is the number of the next one."""

    def __init__(self, line: int = 0, row: int = 0, lowest: int = 0, used: int = 0) -> None:
        self.line, self.row, self.lowest, self.used = line, row, lowest, used
        self._renderer: Renderer | None = None  # of the current line, once it may move

    def part(self, data: bytes) -> None:
        """Take a part of the current line, without its LF; a whole line without an escape need not be given."""
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
    """What the first `lines` complete lines of a log make of its rows.

    moves: the file `moves`. open_line: what there is of a last line without LF. final: nothing will follow it.
    The columns have a first entry for the state before line 0.
    """

    def __init__(self, lines: int, moves: bytes = b"", open_line: bytes = b"", final: bool = False) -> None:
        columns = array("Q", whole_moves(moves, lines))
        self.lines = lines
        # a line is its number plus one here, so that the state before line 0 is that after "line 0"
        self._after = array("Q", [0, *(line + 1 for line in columns[0::5])])
        self._top, self._row, self._lowest, self._used = (array("Q", [0]) + columns[at::5] for at in range(1, 5))
        self._set_tops()
        if open_line:
            row, lowest, used = self.state(lines)
            renderer = Renderer(row, lowest, used, max_cells=0)
            renderer.feed(open_line)
            if final:
                renderer.finish()
            moved = _MOVES.search(open_line) is not None
            if moved:
                self._add(lines, min(row, renderer.top), renderer.row, renderer.lowest, max(used, renderer.used))
            # an open line of which nothing can be seen yet makes no row
            self.lines += 1 if moved or row < renderer.used else 0
        self.rows = self.state(self.lines)[2]

    def _add(self, line: int, *columns: int) -> None:
        self._after.append(line + 1)
        for column, value in zip((self._top, self._row, self._lowest, self._used), columns, strict=True):
            column.append(value)
        self._set_tops()

    def _set_tops(self) -> None:
        """The highest row that is touched from segment k on; it never falls, so the last line of any rows is found by halving."""
        touched = map(min, self._row, [*self._top[1:], _NO_ROW])
        self._tops = array("Q", accumulate(reversed(list(touched)), min))
        self._tops.reverse()

    @property
    def simple(self) -> bool:
        """Whether every row is its line."""
        return len(self._after) == 1

    def state(self, line: int) -> tuple[int, int, int]:
        """Return row, lowest and used as they are before `line`."""
        at = bisect_right(self._after, line) - 1
        row = self._row[at] + line - self._after[at]
        return row, max(self._lowest[at], row), max(self._used[at], row)

    def first_line(self, row: int) -> int:
        """Return the line that first wrote in `row`, which must exist."""
        if self.simple:
            return row
        at = bisect_right(self._used, row) - 1  # the last segment that began with `row` not there yet
        end = self._after[at + 1] - 1 if at + 1 < len(self._after) else self.lines
        return min(self._after[at] + row - self._row[at], end)

    def last_line(self, row: int) -> int:
        """Return the last line that touched a row above `row` (exclusive), -1 for none."""
        at = bisect_left(self._tops, row) - 1
        if at < 0:
            return -1
        last = at + 1 == len(self._after)
        if not last and self._top[at + 1] < row:
            return self._after[at + 1] - 1
        end = self.lines if last else self._after[at + 1] - 1
        return min(self._after[at] + row - self._row[at], end) - 1

    def touched_since(self, line: int) -> int:
        """Return the highest row that `line` or a later one touched; the number of rows if there is none."""
        if line >= self.lines:
            return self.rows
        at = bisect_right(self._after, line)
        row = self.state(line)[0]
        return min(row, self._top[at], self._tops[at]) if at < len(self._after) else row
