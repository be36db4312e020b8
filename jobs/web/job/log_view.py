"""The log tab: the last rows as the server draws them, and what `static/js/logs.js` needs to go on from there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import Http404
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from jobs.logs.availability import Availability, availability
from jobs.logs.html import row_html
from jobs.logs.window import ViewRow, Window, full_row, window
from jobs.models import LogStream, TrainJob
from jobs.queries.job import log_streams
from jobs.queries.job_page import pods_of
from jobs.queries.logs import open_sources
from jobs.web.job.log_choice import NO_STREAM, Choices, Selection, choices
from jobs.web.job.nodes import Node

SHOWN_ROWS = 1000
MESSAGES_SHOWN = 6
UNPLACED = "No machine yet; the log begins when it has one and starts."


@dataclass(frozen=True)
class Wait:
    """Why nothing has come from some nodes. offer: query of a log that can be read meanwhile."""

    who: str
    message: str
    offer: str = ""
    offer_label: str = ""


@dataclass(frozen=True)
class LogView:
    """Everything the tab shows."""

    selection: Selection
    choices: Choices
    html: SafeString
    start: int
    shown: int
    total: int
    cursor: str
    complete: bool
    api_query: str
    waits: list[Wait] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    archived: bool = False
    single: LogStream | None = None
    any: bool = False
    earlier: str = ""
    later: str = ""

    @property
    def closed(self) -> bool:
        """Whether logs that begin later are not among those asked for, and there are none yet: the viewer must be made again then."""
        return self.api_query == NO_STREAM

    @property
    def first_shown(self) -> int:
        """The number of the first row as people count."""
        return self.start + 1

    @property
    def last_shown(self) -> int:
        """The number of the last row as people count."""
        return self.start + self.shown


def log_view(job: TrainJob, query: Mapping[str, str], nodes: Sequence[Node], with_rows: bool = True) -> LogView:
    """Return the tab for an address, without reading any log if no rows are wanted; a bad `start` or `at` counts as not given."""
    selection = Selection.from_query(query)
    streams = log_streams(job)
    chosen = selection.streams(streams)
    rows = _window(job, chosen, query) if with_rows else window([], 0, 0)
    pods = pods_of(job)
    said = _availability(selection.nodes(nodes), chosen, pods, job.phase)
    full_url = reverse("job-log-row", args=[job.pk, "ROW"]).removesuffix("ROW")
    return LogView(
        selection=selection,
        choices=choices(selection, streams, nodes),
        html=mark_safe("".join(row_html(row, full_url) for row in rows.rows)),  # noqa: S308  row_html escapes
        start=rows.start,
        shown=len(rows.rows),
        total=rows.total,
        cursor=rows.at,
        complete=rows.complete and job.finished,
        api_query=selection.api_query(chosen),
        waits=_waits(said, whole=not any(s.bytes for s in chosen)),
        hints=list(dict.fromkeys(a.hint for _, a in said if a.hint)),
        problems=[f"{s.pod}: {s.problem}" for s in chosen if s.problem],
        archived=bool(chosen) and not any(s.pod in pods for s in chosen),
        single=chosen[0] if len(chosen) == 1 else None,
        any=bool(streams),
        earlier=_place(selection, rows, rows.start - SHOWN_ROWS) if rows.start else "",
        later=_place(selection, rows, rows.start + len(rows.rows)) if rows.start + len(rows.rows) < rows.total else "",
    )


def one_row(job: TrainJob, row_id: str) -> ViewRow:
    """Return a row of one log in full by its id. Raises Http404."""
    stream, _, number = row_id.partition(".")
    if not (stream.isascii() and stream.isdigit() and number.isascii() and number.isdigit() and len(row_id) < 40):
        raise Http404
    with open_sources(job, [int(stream)]) as sources:
        found = full_row(sources[0], int(number)) if sources else None
    if found is None:
        raise Http404
    return found


def _window(job: TrainJob, chosen: Sequence[LogStream], query: Mapping[str, str]) -> Window:
    text, at = query.get("start", ""), query.get("at", "")
    start = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -SHOWN_ROWS
    with open_sources(job, [s.pk for s in chosen]) as sources:
        try:
            return window(sources, start, SHOWN_ROWS, at=at)
        except ValueError:  # a cursor that was cut
            return window(sources, -SHOWN_ROWS, SHOWN_ROWS)


def _place(selection: Selection, rows: Window, start: int) -> str:
    return selection.as_query(start=str(max(0, start)), at=rows.at)


def _availability(
    nodes: Sequence[Node], chosen: Sequence[LogStream], pods: Mapping[str, dict[str, Any]], phase: str
) -> list[tuple[Node, Availability]]:
    captured: dict[str, list[int]] = {}
    for stream in chosen:
        captured.setdefault(stream.pod, []).append(stream.restart)
    return [(n, availability(_pod(pods.get(n.pod)), captured.get(n.pod, []), phase)) for n in nodes]


def _pod(raw: dict[str, Any] | None) -> dict[str, Any] | None:
    return {"name": raw["metadata"]["name"], **(raw.get("status") or {})} if raw else None


def _waits(said: Sequence[tuple[Node, Availability]], whole: bool) -> list[Wait]:
    """One line per different reason. When there are rows already, "being created" is no news."""
    by_message: dict[str, list[tuple[Node, Availability]]] = {}
    for node, answer in said:
        if answer.message and (answer.waiting or whole):
            placed = node.machine or answer.code != "ContainerCreating"
            by_message.setdefault(answer.message if placed else UNPLACED, []).append((node, answer))
    waits = []
    for message, group in list(by_message.items())[:MESSAGES_SHOWN]:
        node, answer = group[0]
        offer = Selection(pod=node.pod).as_query() if answer.offer_container else ""
        waits.append(Wait(_who([n for n, _ in group]), message, offer, answer.offer_container))
    return waits


def _who(nodes: Sequence[Node]) -> str:
    if len(nodes) == 1:
        return nodes[0].title.capitalize()
    ranks = [n.rank for n in nodes if n.rank is not None]
    if len(ranks) == len(nodes):
        whole = ranks == list(range(ranks[0], ranks[-1] + 1))
        return f"Ranks {ranks[0]} to {ranks[-1]}" if whole and len(ranks) > 2 else f"Ranks {_listed(ranks)}"
    return f"{len(nodes)} pods"


def _listed(ranks: Sequence[int]) -> str:
    shown = [str(rank) for rank in ranks[:8]]
    return ", ".join(shown) + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
