"""Search over the logs of a view, with positions to jump to.

    {"hits": [{"n": 812, "id": "12.406", "spans": [[5, 9]]}], "next": "13.2000"}

`n` is a position of `window` with the same ranks, order and `at`. `next` (null at the end) goes back in as `after`: the limit or the time was reached.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.logs.search import Query, search_log
from jobs.logs.window import Source, choose, position_of

MAX_HITS = 1000
SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    """One row with matches; `spans` are [start, end) in code points."""

    position: int
    id: str
    spans: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """Hits in the order of positions, of the logs that were searched; `next` says where to go on, "" at the end."""

    hits: list[Found]
    next: str

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form (see the module)."""
        hits = [{"n": hit.position, "id": hit.id, "spans": [list(span) for span in hit.spans]} for hit in self.hits]
        return {"hits": hits, "next": self.next or None}


def find(
    sources: Sequence[Source],
    query: Query,
    ranks: Collection[int] | None = None,
    merged: bool = True,
    at: str = "",
    after: str = "",
    limit: int = MAX_HITS,
    seconds: float = SECONDS,
) -> Findings:
    """Search one log after the other. Raises SearchError when a pattern takes too long, ValueError for a bad cursor or `after`."""
    deadline = time.monotonic() + seconds
    chosen = choose(sources, ranks)
    key, _, row = after.rpartition(".")
    begin = next((number for number, source in enumerate(chosen) if source.key == key), 0) if after else 0
    start = int(row) if after else 0
    hits: list[Found] = []
    following = ""
    for source in chosen[begin:]:
        found = search_log(source.reader, query, start, max(1, limit - len(hits)), deadline - time.monotonic())
        hits += [
            Found(position_of(chosen, source.key, hit.row, None, merged, at), f"{source.key}.{hit.row}", hit.spans)
            for hit in found.hits
        ]
        start = 0
        if found.next_row is not None or len(hits) >= limit:
            following = _following(chosen, source, found.next_row)
            break
    return Findings(sorted(hits, key=lambda hit: hit.position), following)


def _following(chosen: Sequence[Source], source: Source, next_row: int | None) -> str:
    if next_row is not None:
        return f"{source.key}.{next_row}"
    later = chosen[chosen.index(source) + 1 :]
    return f"{later[0].key}.0" if later else ""
