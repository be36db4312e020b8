"""One row of the text view: characters and styles by cell, overwritten in place as a terminal does."""

from itertools import groupby

from jobs.logs.style import PLAIN, Style


class Row:
    """A row of cells, one code point each.

    `length` counts every cell; only the first `max_cells` of the renderer are kept, so that an endless line costs no memory.
    """

    __slots__ = ("_cells", "_styles", "_text", "length")

    def __init__(self, text: str = "") -> None:
        self._text = text
        self._cells: list[str] | None = None  # only for rows that are written to more than once
        self._styles: list[Style] | None = None  # only for rows that are not plain
        self.length = len(text)

    def copy(self) -> "Row":
        """Return a row of its own with the same cells."""
        row = Row(self.text)
        row._styles = None if self._styles is None else list(self._styles)
        row.length = self.length
        return row

    @property
    def text(self) -> str:
        """The kept characters."""
        return self._text if self._cells is None else "".join(self._cells)

    def runs(self) -> list[tuple[str, Style]]:
        """Return the kept characters as runs of equal style."""
        text = self.text
        if self._styles is None:
            return [(text, PLAIN)] if text else []
        runs, at = [], 0
        for style, cells in groupby(self._styles):
            size = len(list(cells))
            runs.append((text[at : at + size], style))
            at += size
        return runs

    def write(self, col: int, text: str, style: Style, max_cells: int) -> None:
        """Overwrite the cells from `col` on; a gap before them becomes plain blanks."""
        kept = text[: max(0, max_cells - col)] if col + len(text) > max_cells else text
        if col == 0 and self.length == 0 and style is PLAIN:
            self._text, self._cells, self._styles = kept, None, None
        else:
            self._overwrite(col, kept, style, max_cells)
        self.length = max(self.length, col + len(text))

    def _overwrite(self, col: int, kept: str, style: Style, max_cells: int) -> None:
        cells = self._cells
        if cells is None:
            cells = self._cells = list(self._text)
        gap = min(col, max_cells) - len(cells)
        if gap > 0:
            cells.extend(" " * gap)
            if self._styles is not None:
                self._styles.extend([PLAIN] * gap)
        if self._styles is None and style != PLAIN:
            self._styles = [PLAIN] * len(cells)
        cells[col : col + len(kept)] = kept
        if self._styles is not None:
            self._styles[col : col + len(kept)] = [style] * len(kept)

    def erase_from(self, col: int) -> None:
        """Remove the cells from `col` to the end."""
        if col < self.length:
            self._cells = list(self.text[:col])
            if self._styles is not None:
                del self._styles[col:]
            self.length = col

    def erase_to(self, col: int) -> None:
        """Blank the cells up to and with `col`."""
        if col + 1 >= self.length:
            self.erase_from(0)
            return
        cells = list(self.text)
        size = min(col + 1, len(cells))
        cells[:size] = " " * size
        self._cells = cells
        if self._styles is not None:
            self._styles[:size] = [PLAIN] * size
