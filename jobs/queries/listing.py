"""The jobs list: filters, one page at a time, and how many jobs each chip stands for."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.core import signing
from django.db.models import Q, QuerySet
from django.http import QueryDict

from jobs.models import TrainJob
from jobs.state import phases
from runtimes.spec.findings import Finding
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects
from trainui.problems import Problem

COUNT_CAP = 1000
DEFAULT_LIMIT = 50
MAX_LIMIT = 200
SALT = "trainjobs-cursor"
CHIPS: Mapping[str, tuple[str, ...]] = {
    "Waiting": (
        phases.CREATING,
        phases.QUEUED,
        phases.WAITING,
        phases.STARTING,
        phases.INITIALIZING,
        phases.MISCONFIGURED,
    ),
    "Running": (phases.RUNNING, phases.RESTARTING, phases.DEGRADED, phases.PREEMPTED),
    "Suspended": (phases.SUSPENDING, phases.SUSPENDED),
    "Succeeded": (phases.SUCCEEDED,),
    "Failed": (phases.FAILED, phases.LOST),
    "Cancelled": (phases.CANCELLED, phases.DELETING),
}
# `project` and its namespace are one query for the page; details are never read here.
COLUMNS = (
    "id", "name", "namespace", "project_id", "owner_id", "owner__username", "runtime_kind", "runtime_name", "created_at", "phase", "code", "tone",
    "sentence", "since", "nodes_expected", "nodes_ready", "started_at", "finished_at", "progress_percent", "eta_seconds", "progress_at",
    "desired_suspend", "cancel_requested_at", "delete_requested_at", "observed_at", "live", "uid", "project__name",
    "kept", "stalled_since", "eta_estimated", "origin_id", "origin_name", "origin_relation",
)  # fmt: skip


@dataclass(frozen=True)
class Filters:
    """What the address of a list asks for; empty means everything the user may see.

    phases: phase names. chip: one of CHIPS. q: part of a name. owner: a user name, or `me`.
    """

    project: str = ""
    phases: tuple[str, ...] = ()
    chip: str = ""
    q: str = ""
    runtime: str = ""
    owner: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def from_query(cls, query: QueryDict) -> "Filters":
        """Read filters from an address. Raises Problem 422 that names the parameter."""
        wanted = tuple(p for value in query.getlist("phase") for p in value.split(",") if p)
        for name in wanted:
            if name not in phases.PHASES:
                raise _bad("phase", f"“{name}” is no phase; there are {', '.join(phases.PHASES)}.")
        chip = query.get("status", "")
        if chip and chip not in CHIPS:
            raise _bad("status", f"“{chip}” is no status; there are {', '.join(CHIPS)}.")
        return cls(
            project=query.get("project", ""), phases=wanted, chip=chip, q=query.get("q", "").strip()[:63], runtime=query.get("runtime", ""),
            owner=query.get("owner", ""), since=_time(query, "since"), until=_time(query, "until"),
        )  # fmt: skip

    def as_query(self) -> dict[str, str]:
        """Return the parameters that say the same in an address."""
        words = {
            "project": self.project, "phase": ",".join(self.phases), "status": self.chip, "q": self.q, "runtime": self.runtime, "owner": self.owner,
            "since": self.since.isoformat() if self.since else "", "until": self.until.isoformat() if self.until else "",
        }  # fmt: skip
        return {k: v for k, v in words.items() if v}


@dataclass(frozen=True)
class Page:
    """One page of jobs, newest first. `next` and `previous` are opaque cursors, "" at the ends."""

    jobs: list[TrainJob]
    next: str = ""
    previous: str = ""


@dataclass(frozen=True)
class Count:
    """How many jobs a chip stands for; `capped` means "at least so many"."""

    chip: str
    count: int
    capped: bool
    phases: tuple[str, ...] = field(default=())


def matching(user: User, filters: Filters) -> QuerySet[TrainJob]:
    """Return the jobs the user may see and asks for, without an order."""
    jobs = TrainJob.objects.all()
    if not user.is_superuser or filters.project:
        projects = visible_projects(user)
        if filters.project:
            projects = projects.filter(name=filters.project)
        jobs = jobs.filter(project_id__in=list(projects.values_list("pk", flat=True)))
    if filters.chip:
        jobs = jobs.filter(phase__in=CHIPS[filters.chip])
    if filters.phases:
        jobs = jobs.filter(phase__in=filters.phases)
    if filters.q:
        jobs = jobs.filter(name__icontains=filters.q)
    if filters.runtime:
        jobs = jobs.filter(runtime_name=filters.runtime)
    if filters.owner:
        jobs = jobs.filter(owner=user) if filters.owner == "me" else jobs.filter(owner__username=filters.owner)
    if filters.since:
        jobs = jobs.filter(created_at__gte=filters.since)
    if filters.until:
        jobs = jobs.filter(created_at__lte=filters.until)
    return jobs


def page_of(user: User, filters: Filters, cursor: str = "", limit: int = DEFAULT_LIMIT) -> Page:
    """Return one page of the list by keyset: its cost does not depend on how far the page is from the top.

    Raises Problem 422 for a cursor that was cut or belongs to other filters, or a limit out of range.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise _bad("limit", f"The limit must be from 1 to {MAX_LIMIT}.")
    jobs = matching(user, filters).select_related("owner", "project").only(*COLUMNS)
    place = _open(cursor, filters)
    backwards = place is not None and place["to"] == "previous"
    if place is not None:
        at, pk = datetime.fromisoformat(place["at"]), place["id"]
        beyond = (
            Q(created_at__gt=at) | Q(created_at=at, pk__gt=pk)
            if backwards
            else Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk)
        )
        # The plain bound on the first column lets the database seek in the index; the OR alone would scan.
        bound = Q(created_at__gte=at) if backwards else Q(created_at__lte=at)
        jobs = jobs.filter(bound & beyond)
    order = ("created_at", "pk") if backwards else ("-created_at", "-pk")
    rows = list(jobs.order_by(*order)[: limit + 1])
    more = len(rows) > limit
    rows = rows[:limit]
    if backwards:
        rows.reverse()
    has_next, has_previous = (True, more) if backwards else (more, place is not None)
    return Page(
        rows,
        _seal(rows[-1], "next", filters) if rows and has_next else "",
        _seal(rows[0], "previous", filters) if rows and has_previous else "",
    )


def counts(user: User, filters: Filters) -> list[Count]:
    """Return how many jobs each chip stands for under the other filters, counted to COUNT_CAP and no further."""
    base = matching(
        user,
        Filters(
            project=filters.project,
            q=filters.q,
            runtime=filters.runtime,
            owner=filters.owner,
            since=filters.since,
            until=filters.until,
        ),
    )
    found = []
    for chip, names in CHIPS.items():
        number = base.filter(phase__in=names).values("pk")[: COUNT_CAP + 1].count()
        found.append(Count(chip, min(number, COUNT_CAP), number > COUNT_CAP, names))
    return found


def _seal(job: TrainJob, to: str, filters: Filters) -> str:
    return signing.dumps(
        {"at": job.created_at.isoformat(), "id": str(job.pk), "to": to, "f": _hash(filters)}, salt=SALT, compress=True
    )


def _open(cursor: str, filters: Filters) -> dict[str, Any] | None:
    if not cursor:
        return None
    try:
        place: dict[str, Any] = signing.loads(cursor, salt=SALT)
    except signing.BadSignature:
        raise _bad("cursor", "The cursor was cut or changed; start without one.") from None
    if place["f"] != _hash(filters):
        raise _bad("cursor", "The cursor belongs to a list with other filters; start without one.")
    return place


def _hash(filters: Filters) -> str:
    return hashlib.sha256(orjson.dumps(filters.as_query(), option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]


def _time(query: QueryDict, name: str) -> datetime | None:
    text = query.get(name, "")
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise _bad(name, f"“{text}” is no RFC 3339 time, for example 2026-03-01T12:00:00Z.") from None
    if at.tzinfo is None:
        raise _bad(name, f"“{text}” has no time zone; end it with Z or +01:00.")
    return at


def _bad(parameter: str, message: str) -> Problem:
    return Problem(422, "invalid_parameter", message, [Finding(parameter, "invalid_parameter", message)])
