"""Renderers of rows that are redrawn again and again, so that following nested progress bars does not render them from their start each time."""

import threading
from collections import OrderedDict
from pathlib import Path

from jobs.logs.render import Renderer
from jobs.logs.row import Row

_ENTRIES = 32


class RenderCache:
    """The last renderers by archive. One is taken out while it is used: whoever else asks meanwhile renders anew."""

    def __init__(self, entries: int = _ENTRIES) -> None:
        self._entries = entries
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Path, int], tuple[int, int, Renderer]] = OrderedDict()

    def take(self, folder: Path, max_cells: int, start: int, end: int) -> tuple[Renderer, int] | None:
        """Return a renderer that has all of the rows from `start` on, and the line to go on at, which is not after `end`."""
        with self._lock:
            first_row, line, renderer = self._kept.get((folder, max_cells), (0, 0, None))
            if renderer is None or first_row > start or line > end:
                return None
            del self._kept[folder, max_cells]
            return renderer, line

    def keep(self, folder: Path, max_cells: int, start: int, end: int, renderer: Renderer) -> dict[int, Row]:
        """Keep a renderer that has seen the lines up to `end`; return its rows from `start` on, which nobody else will change."""
        renderer.rows = {number: row for number, row in renderer.rows.items() if number >= start}
        rows = {number: row.copy() for number, row in renderer.rows.items()}
        with self._lock:
            self._kept[folder, max_cells] = start, end, renderer
            self._kept.move_to_end((folder, max_cells))
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
        return rows


CACHE = RenderCache()
