"""What a log viewer is given: windows of rows of one or many containers, and the live tail. Plain functions; views only add HTTP.

JSON of `window` (rows by position; positions hold while the same `at` is sent):

    {"start": 200, "total": 1234567, "at": "12:617283,13:617284", "counted": {"12": 617283, "13": 617284}, "complete": false,
     "rows": [{"n": 200, "id": "12.100", "t": "2026-03-01T10:00:00.123456789Z", "rank": 0, "source": "train-node-0-0-abcde/node",
               "spans": [["loss ", ""], ["0.31", "fg-red bold"], ["report", "", "https://example.test/"]],
               "cut": 262145, "note": true}]}

`at` is a cursor: how many whole lines of each log the positions count; `counted`: how many rows of each log have one. Rows that came later, and the row of a
line that has not ended, are not in the window but in the tail:

    {"cursor": "12:617300,13:617290", "reset": false, "complete": false, "rows": [{"id": "12.617284", ...}]}

from `tail(sources, cursor)`. A row with an `id` that is already shown replaces it (a progress bar was redrawn), others go to the end. `reset`: too
much is new to send (`rows` is empty); load the last window without `at`. `complete`: there are logs, and nothing will follow in any.
`rank` is null for logs without one. `cut` (only then) is the real number of characters of a row of which 10,000 are sent; `full_row` gives all.
`note` (only then) marks a line of ours. A span is [text, CSS classes] or [text, CSS classes, link].
"""

import heapq
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.logs.reader import LogReader, LogRow
from jobs.logs.row import Row
from jobs.logs.times import format_stamp

SHOWN_CHARS = 10_000
MAX_ROWS = 5000
FULL_ROW_CHARS = 1_000_000


@dataclass(slots=True)
class Source:
    """One container's log in a view. key: short, stable, without `,:.` (the row's id). order: place in rank order, unique."""

    key: str
    order: int
    rank: int | None
    label: str
    reader: LogReader


@dataclass(slots=True)
class ViewRow:
    """One row as a viewer shows it; `position` is None in the live tail."""

    id: str
    position: int | None
    stamp: int
    rank: int | None
    source: str
    spans: list[tuple[str, str, str]]  # text, CSS classes, link
    length: int
    note: bool

    @property
    def cut(self) -> int:
        """The real number of characters if not all are here, else 0."""
        return self.length if self.length > sum(len(text) for text, _, _ in self.spans) else 0

    @property
    def text(self) -> str:
        """The characters without their style."""
        return "".join(text for text, _, _ in self.spans)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (see the module)."""
        spans = [[text, classes, link] if link else [text, classes] for text, classes, link in self.spans]
        row: dict[str, Any] = {"id": self.id, "t": format_stamp(self.stamp), "rank": self.rank, "source": self.source}
        if self.position is not None:
            row["n"] = self.position
        row["spans"] = spans
        return row | ({"cut": self.cut} if self.cut else {}) | ({"note": True} if self.note else {})


@dataclass(slots=True)
class Window:
    """Rows [start, start + len(rows)) of `total`."""

    rows: list[ViewRow]
    start: int
    total: int
    at: str
    counted: dict[str, int]
    complete: bool

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (see the module)."""
        fields = {"start": self.start, "total": self.total, "at": self.at, "counted": self.counted}
        return fields | {"complete": self.complete, "rows": [row.as_json() for row in self.rows]}


@dataclass(slots=True)
class Tail:
    """What came after a cursor."""

    rows: list[ViewRow]
    cursor: str
    reset: bool
    complete: bool

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (see the module)."""
        rows = [row.as_json() for row in self.rows]
        return {"cursor": self.cursor, "reset": self.reset, "complete": self.complete, "rows": rows}


def choose(sources: Sequence[Source], ranks: Collection[int] | None) -> list[Source]:
    """Return the sources of the ranks (None: all) in rank order."""
    chosen = [source for source in sources if ranks is None or source.rank in ranks]
    return sorted(chosen, key=lambda source: source.order)


def parse_cursor(cursor: str) -> dict[str, int]:
    """Return the number of lines by source key. Raises ValueError for a text that is no cursor of ours."""
    pairs = (part.rsplit(":", 1) for part in cursor.split(",") if part)
    return {key: max(0, int(lines)) for key, lines in pairs}


def window(
    sources: Sequence[Source],
    start: int,
    count: int,
    ranks: Collection[int] | None = None,
    merged: bool = True,
    at: str = "",
) -> Window:
    """Return rows by position, all logs merged by time, or one log after the other.

    start: position of the first row; negative counts from the end. count: at most MAX_ROWS. at: the cursor of an earlier answer, so that
    positions mean the same rows; without it the present state is taken. Raises ValueError for a bad cursor.
    """
    chosen = choose(sources, ranks)
    limits = _limits(chosen, at)
    totals = _totals(chosen, limits)
    total = sum(totals)
    start = max(0, total + start if start < 0 else start)
    count = max(0, min(count, MAX_ROWS, total - start))
    if merged and len(chosen) > 1:
        places = list(_merged_places(chosen, totals, start, count))
    else:
        places = list(_places_in_turn(totals, start, count))
    rows = _render(chosen, places)
    for position, row in enumerate(rows, start):
        row.position = position
    counted = {source.key: rows_of for source, rows_of in zip(chosen, totals, strict=True)}
    complete = bool(chosen) and all(source.reader.complete for source in chosen)
    return Window(rows, start, total, _cursor(chosen, limits), counted, complete)


def tail(sources: Sequence[Source], cursor: str, ranks: Collection[int] | None = None, limit: int = 1000) -> Tail:
    """Return the rows that are new or redrawn since the cursor, merged by time; logs the cursor does not know are new.

    Raises ValueError for a bad cursor.
    """
    chosen = choose(sources, ranks)
    known = parse_cursor(cursor)
    spans = []
    for source in chosen:
        reader = source.reader
        lines = min(known.get(source.key, 0), reader.settled_lines)
        spans.append((reader.row_map.touched_since(lines), reader.rows))
    new_cursor = _cursor(chosen, [source.reader.settled_lines for source in chosen])
    complete = bool(chosen) and all(source.reader.complete for source in chosen)
    if sum(end - first for first, end in spans) > limit:
        return Tail([], new_cursor, True, complete)
    places = heapq.merge(*(_keyed_rows(chosen, at, first, end) for at, (first, end) in enumerate(spans)))
    return Tail(_render(chosen, [(at, row) for _, at, row in places]), new_cursor, False, complete)


def position_of(
    sources: Sequence[Source],
    key: str,
    row: int,
    ranks: Collection[int] | None = None,
    merged: bool = True,
    at: str = "",
) -> int:
    """Return at which position of `window` (with the same arguments) a row of one log is. Raises KeyError for an unknown source."""
    chosen = choose(sources, ranks)
    place = next((number for number, source in enumerate(chosen) if source.key == key), None)
    if place is None:
        raise KeyError(key)
    limits = _limits(chosen, at)
    if not merged:
        return sum(_totals(chosen, limits)[:place]) + row
    stamp = chosen[place].reader.row_key(row)
    others = [
        (number < place, source.reader, limits[number]) for number, source in enumerate(chosen) if number != place
    ]
    return row + sum(reader.rows_until(stamp, inclusive, lines) for inclusive, reader, lines in others)


def full_row(source: Source, number: int) -> ViewRow | None:
    """Return one row with up to a million characters ("show all"), None if there is no such row."""
    rows = source.reader.render(number, 1, FULL_ROW_CHARS) if number >= 0 else []
    return _view_row(source, rows[0]) if rows else None


def to_text(rows: Sequence[ViewRow], with_source: bool = False, with_stamp: bool = False) -> Iterator[str]:
    """Yield the rows as lines of plain text."""
    for row in rows:
        stamp = f"{format_stamp(row.stamp)} " if with_stamp else ""
        yield f"{stamp}{f'[{row.source}] ' if with_source else ''}{row.text}\n"


def to_ndjson(rows: Sequence[ViewRow]) -> Iterator[str]:
    """Yield the rows as lines of JSON, with `text` in place of `spans`."""
    for row in rows:
        fields = row.as_json()
        del fields["spans"]
        yield json.dumps(fields | {"text": row.text}, ensure_ascii=False) + "\n"


def _limits(chosen: Sequence[Source], at: str) -> list[int]:
    """How many lines of each log the positions count. Raises ValueError for a bad cursor."""
    known = parse_cursor(at)
    present = [source.reader.settled_lines for source in chosen]
    if not at:
        return present
    return [min(known.get(source.key, 0), lines) for source, lines in zip(chosen, present, strict=True)]


def _totals(chosen: Sequence[Source], limits: Sequence[int]) -> list[int]:
    """How many rows of each log have a position; the row of an open line gets one when it ends, until then the tail has it."""
    return [source.reader.rows_of_lines(lines) for source, lines in zip(chosen, limits, strict=True)]


def _cursor(chosen: Sequence[Source], lines: Sequence[int]) -> str:
    return ",".join(f"{source.key}:{count}" for source, count in zip(chosen, lines, strict=True))


def _places_in_turn(totals: Sequence[int], start: int, count: int) -> Iterator[tuple[int, int]]:
    for at, total in enumerate(totals):
        for row in range(min(start, total), min(start + count, total)):
            yield at, row
            count -= 1
        start = max(0, start - total)


def _merged_places(
    chosen: Sequence[Source], totals: Sequence[int], start: int, count: int
) -> Iterator[tuple[int, int]]:
    """Yield (source, row) of the merged positions [start, start + count) without walking through what is before them."""
    firsts = _rows_before(chosen, totals, start)
    streams = [
        _keyed_rows(chosen, at, first, min(total, first + count))
        for at, (first, total) in enumerate(zip(firsts, totals, strict=True))
    ]
    for _, (_, at, row) in zip(range(count), heapq.merge(*streams), strict=False):
        yield at, row


def _rows_before(chosen: Sequence[Source], totals: Sequence[int], start: int) -> list[int]:
    """How many rows of each source are before the merged position `start`: found by halving the range of keys."""

    def counts(key: int, inclusive: bool) -> list[int]:
        return [
            min(total, source.reader.rows_until(key, inclusive)) for source, total in zip(chosen, totals, strict=True)
        ]

    filled = [source.reader for source, total in zip(chosen, totals, strict=True) if total]
    if not filled:
        return [0] * len(chosen)
    low, high = 0, max(reader.last_stamp for reader in filled) + 1
    while low < high:  # the largest key that at most `start` rows are below
        middle = (low + high + 1) // 2
        if sum(counts(middle, inclusive=False)) <= start:
            low = middle
        else:
            high = middle - 1
    firsts = counts(low, inclusive=False)
    left = start - sum(firsts)
    for at, with_equal in enumerate(counts(low, inclusive=True)):
        step = min(left, with_equal - firsts[at])
        firsts[at] += step
        left -= step
    return firsts


def _keyed_rows(chosen: Sequence[Source], at: int, first: int, end: int) -> Iterator[tuple[int, int, int]]:
    reader = chosen[at].reader
    return ((reader.row_key(row), at, row) for row in range(first, end))


def _render(chosen: Sequence[Source], places: Sequence[tuple[int, int]]) -> list[ViewRow]:
    spans: dict[int, tuple[int, int]] = {}
    for at, row in places:
        first, _ = spans.get(at, (row, row))
        spans[at] = (first, row + 1)
    rendered = {at: chosen[at].reader.render(first, end - first, SHOWN_CHARS) for at, (first, end) in spans.items()}
    return [_view_row(chosen[at], rendered[at][row - spans[at][0]]) for at, row in places]


def _view_row(source: Source, row: LogRow) -> ViewRow:
    return ViewRow(
        id=f"{source.key}.{row.number}",
        position=None,
        stamp=row.stamp,
        rank=source.rank,
        source=source.label,
        spans=_spans(row.row),
        length=row.row.length,
        note=row.note,
    )


def _spans(row: Row) -> list[tuple[str, str, str]]:
    return [(text, style.classes(), style.link) for text, style in row.runs()]
