"""Bytes of a container to rows of text and styled cells, as a terminal would show them; the state is kept over chunks.

The row model: UTF-8 with each maximal bad part as U+FFFD; only LF ends a row; CR, BS and `ESC[nA/B/C/D/G` move, text then overwrites
cell by cell; `ESC[0K/1K/2K` erase; SGR and OSC 8 (http and https) give style, which ends at LF; every other escape is removed; other
control characters become their pictures. One code point is one cell. A log has no screen: clear and home do nothing.
"""

import codecs
import re

from jobs.logs.row import Row
from jobs.logs.style import PLAIN, Style, apply_sgr

UNLIMITED = 1 << 62
REACH = 5000  # rows above the lowest one that a redraw may still change; older rows are final, which bounds memory
_MAX_JUMP = 10_000  # columns that a cursor movement reaches beyond a row's end, or one escape could ask for any memory
_MAX_ESCAPE = 4096  # characters of an escape that are kept

_NOT_PLAIN = bytes(set(range(0x20)) - {0x09, 0x0A} | {0x7F})
_SPECIAL = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_CSI = re.compile("\x1b\\[([0-?]*)([ -/]*)([@-~])?")
_SHORT = re.compile("\x1b[ -/]+([0-~])?")
# ECMA-48 allows BS to CR and printable characters in a control string; BEL ends one as well
_STRING_END = re.compile("[\x00-\x07\x0a\x0e-\x1f\x7f]")
_LINK = re.compile(r"https?://[^\x00-\x20\x7f]*\Z", re.IGNORECASE)
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}


class Renderer:
    """Rows of one container's log.

    rows: number -> Row (a row without entry is empty). used: how many rows exist. row, col: the cursor. lowest: the lowest row it has been
    on. top: the highest row touched since the caller last set it. A renderer may start in the middle of a log with its row, lowest and used.
    """

    def __init__(self, row: int = 0, lowest: int = 0, used: int = 0, max_cells: int = UNLIMITED) -> None:
        self.rows: dict[int, Row] = {}
        self.row, self.col, self.lowest, self.used = row, 0, lowest, used
        self.top = row
        self._max_cells = max_cells
        self._style: Style = PLAIN
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending = ""  # an escape that is not complete yet
        self._string: str | None = None  # body of the control string we are in
        self._string_kind = ""
        self._taken = used

    def feed(self, data: bytes) -> None:
        """Take the next bytes, split anywhere."""
        plain = len(data.translate(None, _NOT_PLAIN)) == len(data)
        text = self._decoder.decode(data)
        if plain and self.row >= self.lowest and not self._pending and self._string is None:
            self._bulk(text)
        else:
            self._run(text)

    def finish(self) -> None:
        """Say that nothing follows: a cut character at the end becomes U+FFFD."""
        self._run(self._decoder.decode(b"", final=True))

    def get(self, number: int) -> Row:
        """Return a row, an empty one if nothing was written in it."""
        return self.rows.get(number) or Row()

    def take(self, everything: bool = False) -> list[Row]:
        """Return, in order and once, the rows that no redraw can reach any more, or all that are left; they are then forgotten."""
        end = self.used if everything else min(self.used, self.lowest - REACH)
        taken = [self.rows.pop(number) if number in self.rows else Row() for number in range(self._taken, end)]
        self._taken = max(self._taken, end)
        return taken

    def _bulk(self, text: str) -> None:
        """Plain lines at the end of the log: nothing to overwrite, nothing to interpret."""
        first, *lines = text.split("\n")
        if first:
            self._write(first)
        if not lines:
            return
        self._newline()
        last = lines.pop()
        row, cap = self.row, self._max_cells
        for line in lines:
            if line:
                new = self.rows[row] = Row(line if len(line) <= cap else line[:cap])
                new.length = len(line)
            row += 1
        self.row = self.lowest = row
        self.used = max(self.used, row)
        if last:
            self._write(last)

    def _run(self, text: str) -> None:
        if self._pending:
            text, self._pending = self._pending + text, ""
        at, end = 0, len(text)
        if self._string is not None and text:
            at = self._in_string(text, 0)
        while at < end:
            match = _SPECIAL.search(text, at)
            stop = match.start() if match else end
            if stop > at:
                self._write(text[at:stop])
            if match:
                at = self._special(text, stop)
            else:
                return

    def _special(self, text: str, at: int) -> int:
        char = text[at]
        if char == "\n":
            self._newline()
        elif char == "\r":
            self.col = 0
        elif char == "\b":
            self.col = max(0, self.col - 1)
        elif char == "\x1b":
            return self._escape(text, at)
        else:
            self._write(_PICTURES[ord(char)])
        return at + 1

    def _newline(self) -> None:
        self.used = max(self.used, self.row + 1)
        self.row += 1
        self.lowest = max(self.lowest, self.row)
        self.col, self._style = 0, PLAIN

    def _write(self, text: str) -> None:
        row = self.rows.get(self.row)
        if row is None:
            row = self.rows[self.row] = Row()
        row.write(self.col, text, self._style, self._max_cells)
        self.col += len(text)
        self.used = max(self.used, self.row + 1)

    def _escape(self, text: str, at: int) -> int:
        """Handle the escape at `at` and return where to go on; an unfinished one waits for the next chunk."""
        kind = text[at + 1 : at + 2]
        if kind == "[":
            match = _CSI.match(text, at)
            assert match
            if match[3]:
                self._control(match[1], match[2], match[3])
        elif kind and kind in "]PX^_":
            self._string, self._string_kind = "", kind
            return self._in_string(text, at + 2)
        elif kind and " " <= kind <= "/":
            match = _SHORT.match(text, at)
            assert match
        else:
            if not kind:
                self._pending = text[at:]
                return len(text)
            return at + 2 if "0" <= kind <= "~" else at + 1
        if match.end() == len(text) and not match[match.re.groups]:
            rest = text[at:]
            # only its last character still matters when it is absurdly long
            self._pending = rest if len(rest) <= _MAX_ESCAPE else rest[:2] + rest[-1]
        return match.end()

    def _in_string(self, text: str, at: int) -> int:
        """Go on in a control string (OSC, DCS, APC, PM, SOS) and return where it ends."""
        match = _STRING_END.search(text, at)
        stop = match.start() if match else len(text)
        body = self._string or ""
        self._string = body + text[at : at + max(0, min(stop - at, _MAX_ESCAPE - len(body)))]
        if not match:
            return stop
        if text[stop] == "\x1b" and stop + 1 == len(text):
            self._pending = "\x1b"
            return len(text)
        if text[stop] == "\x07" or text[stop : stop + 2] == "\x1b\\":
            self._end_string()
            return stop + (1 if text[stop] == "\x07" else 2)
        self._string = None
        return stop

    def _end_string(self) -> None:
        body, self._string = self._string or "", None
        if self._string_kind == "]" and body.startswith("8;"):
            uri = body.split(";", 2)[2] if body.count(";") > 1 else ""
            link = uri if len(body) < _MAX_ESCAPE and _LINK.match(uri) else ""
            self._style = self._style._replace(link=link)
            if self._style == PLAIN:
                self._style = PLAIN

    def _control(self, parameters: str, intermediates: str, final: str) -> None:
        if intermediates or parameters[:1] in ("<", "=", ">", "?"):
            return
        if final == "m":
            style = apply_sgr(self._style, parameters)
            self._style = PLAIN if style == PLAIN else style
        elif final in "ABCDGK":
            first = parameters.split(";", 1)[0]
            if first and not (first.isascii() and first.isdigit()):
                return
            count = min(int(first[:9] or 0), UNLIMITED)
            if final == "K":
                self._erase(count)
            else:
                self._move(final, max(1, count))

    def _move(self, final: str, count: int) -> None:
        length = self.rows[self.row].length if self.row in self.rows else 0
        limit = max(_MAX_JUMP, length, self.col)
        if final == "A":
            # never above the first row, nor where rows are final
            self.row = max(min(self.row, max(0, self.lowest - REACH)), self.row - count)
            self.top = min(self.top, self.row)
        elif final == "B":
            self.row = min(self.lowest, self.row + count)
        elif final == "C":
            self.col = min(limit, self.col + count)
        elif final == "D":
            self.col = max(0, self.col - count)
        else:
            self.col = min(limit, count - 1)

    def _erase(self, which: int) -> None:
        row = self.rows.get(self.row)
        if row is None:
            return
        if which == 0:
            row.erase_from(self.col)
        elif which == 1:
            row.erase_to(self.col)
        elif which == 2:
            row.erase_from(0)


def render(data: bytes) -> list[Row]:
    """Return all rows of a complete log."""
    renderer = Renderer()
    renderer.feed(data)
    renderer.finish()
    return renderer.take(everything=True)
