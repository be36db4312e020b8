"""Search in the text view of a log: colours removed, redraws collapsed; literal and case-insensitive unless asked otherwise.

A bad pattern is an error, never an empty result. Regular expressions run under a time limit (package `regex`; the standard library has none,
and a pattern like `(a+)+$` would hold a process for ever).
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import regex

from jobs.logs.reader import LogReader
from jobs.logs.render import Renderer

MAX_QUERY = 1000
MAX_CELLS = 65_536  # characters of one row that are searched
_CONTROLS = bytes(set(range(0x20)) - {0x09, 0x0A} | {0x7F})
# what sees a line's end differently inside a larger text, or does not give back what it took beyond it
_LINE_BOUND = re.compile(r"\(\?|\\[AzZG]|[*+?}]\+")
_FEW_LINES = 32
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")

Span = tuple[int, int]


class SearchError(Exception):
    """The query cannot be answered. code: `empty_query`, `too_long`, `invalid_regex` or `regex_timeout`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Hit:
    """One row with matches; `spans` are [start, end) in code points."""

    row: int
    spans: list[Span]
    text: str


@dataclass(slots=True)
class Result:
    """Hits in row order. next_row: where to go on if the search stopped early (limit or time), else None."""

    hits: list[Hit] = field(default_factory=list)
    next_row: int | None = None


class Query:
    """A query that can be applied to rows."""

    def __init__(self, text: str, mode: str = "literal", case: str = "insensitive") -> None:
        """Raises SearchError for an empty, too long or malformed query."""
        if not text:
            raise SearchError("empty_query", "Type something to search for.")
        if len(text) > MAX_QUERY:
            raise SearchError("too_long", f"The query is longer than {MAX_QUERY} characters.")
        self.literal = mode != "regex"
        self.ignore_case = case != "sensitive"
        flags = regex.IGNORECASE if self.ignore_case else 0
        try:
            self._pattern = regex.compile(regex.escape(text) if self.literal else text, flags)
        except (regex.error, RecursionError, OverflowError) as error:
            raise SearchError("invalid_regex", f"Not a regular expression: {error}.") from error
        # the same pattern for several lines at once: no match there means none in any of the lines
        several = self.literal or not _LINE_BOUND.search(text)
        self._several = regex.compile(self._pattern.pattern, flags | regex.MULTILINE) if several else None
        # bytes that any row with a match contains, or None if no such bytes are known
        plain = self.literal and "\ufffd" not in text and not any("\u2400" <= char <= "\u2421" for char in text)
        self.needle: bytes | None = None
        if plain and (text.isascii() or not self.ignore_case):
            self.needle = text.lower().encode() if self.ignore_case else text.encode()

    def candidates(self, lines: str, number: int, deadline: float) -> Iterator[tuple[int, str]]:
        """Yield (number, line) of the lines that may match, most others left out; `number` is that of the first line."""
        count = lines.count("\n") + 1
        if count > _FEW_LINES and self._several:
            try:
                if not self._several.search(lines, timeout=max(0.001, deadline - time.monotonic()) / 4):
                    return
            except TimeoutError:
                yield from enumerate(lines.split("\n"), number)  # one by one it may be quick, and if not it is said
                return
            middle = lines.index("\n", len(lines) // 2) if "\n" in lines[len(lines) // 2 :] else lines.rindex("\n")
            yield from self.candidates(lines[:middle], number, deadline)
            yield from self.candidates(lines[middle + 1 :], number + lines.count("\n", 0, middle + 1), deadline)
            return
        yield from enumerate(lines.split("\n"), number)

    def spans(self, text: str, deadline: float | None = None) -> list[Span]:
        """Return the matches in one row, empty ones left out. Raises SearchError when the time is over."""
        seconds = None if deadline is None else max(0.001, deadline - time.monotonic())
        try:
            return [
                match.span() for match in self._pattern.finditer(text, timeout=seconds) if match.end() > match.start()
            ]
        except TimeoutError as error:
            raise SearchError("regex_timeout", "This regular expression takes too long.") from error


def search_log(reader: LogReader, query: Query, start: int = 0, limit: int = 1000, seconds: float = 2.0) -> Result:
    """Return the rows from `start` on that match. Stops after `limit` rows or `seconds`; Raises SearchError if one row takes longer."""
    deadline = time.monotonic() + seconds
    result = Result()
    candidates = _plain_rows(reader, query, start, deadline) if reader.row_map.simple else _rendered_rows(reader, start)
    for number, text in candidates:
        if text is None or not number % 64:
            if time.monotonic() > deadline:
                result.next_row = number
                break
            if text is None:
                continue
        if spans := query.spans(text, deadline):
            if len(result.hits) >= limit:
                result.next_row = number
                break
            result.hits.append(Hit(number, spans, text))
    return result


def _rendered_rows(reader: LogReader, start: int) -> Iterator[tuple[int, str | None]]:
    """All rows of a log in which rows are written again: rendered from its beginning."""
    renderer = Renderer(max_cells=MAX_CELLS)
    number = 0
    for block in reader.line_blocks(0, reader.lines):
        renderer.feed(block)
        for row in renderer.take():
            if number >= start:
                yield number, row.text
            number += 1
    renderer.finish()
    for row in renderer.take(everything=True):
        if number >= start:
            yield number, row.text
        number += 1


def _plain_rows(reader: LogReader, query: Query, start: int, deadline: float) -> Iterator[tuple[int, str | None]]:
    """Rows that may match, where each line is a row; (row, None) now and then so that the caller can look at the clock."""
    number, rest = start, b""
    for block in reader.line_blocks(start, reader.lines):
        whole, newline, rest_of_block = block.rpartition(b"\n")
        if not newline:
            rest += block
            continue
        lines = rest + whole
        rest = rest_of_block
        yield number, None
        yield from _rows_of(lines, query, number, deadline)
        number += lines.count(b"\n") + 1
    if rest:
        yield from _rows_of(rest, query, number, deadline)


def _rows_of(lines: bytes, query: Query, number: int, deadline: float) -> Iterator[tuple[int, str]]:
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if b"\x1b" in lines:
        lines = _COLOUR.sub(b"", lines)
    plain = len(lines.translate(None, _CONTROLS)) == len(lines)
    if plain and query.needle is not None:
        yield from _rows_with(lines, query.needle, query.ignore_case, number)
        return
    if plain:
        for at, text in query.candidates(lines.decode("utf-8", "replace"), number, deadline):
            yield at, text[:MAX_CELLS]
        return
    for offset, line in enumerate(lines.split(b"\n")):
        if len(line.translate(None, _CONTROLS)) == len(line):
            yield number + offset, line.decode("utf-8", "replace")[:MAX_CELLS]
        else:
            renderer = Renderer(max_cells=MAX_CELLS)
            renderer.feed(line)
            renderer.finish()
            yield number + offset, renderer.get(0).text


def _rows_with(lines: bytes, needle: bytes, ignore_case: bool, number: int) -> Iterator[tuple[int, str]]:
    """The lines that contain the bytes; the rest is never split into lines or decoded."""
    haystack = lines.lower() if ignore_case else lines
    counted, at = 0, haystack.find(needle)
    while at >= 0:
        number += haystack.count(b"\n", counted, at)
        counted = at
        begin = haystack.rfind(b"\n", 0, at) + 1
        end = haystack.find(b"\n", at)
        end = len(haystack) if end < 0 else end
        yield number, lines[begin:end].decode("utf-8", "replace")[:MAX_CELLS]
        at = haystack.find(needle, end)
