"""The jobs list: one page by keyset, filters in the address, rows that refresh by themselves and never move."""

import uuid
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from jobs.queries.job import freshness
from jobs.queries.listing import COLUMNS, Filters, Page, counts, matching, page_of
from jobs.queries.newer import NEWER_CAP, newer_count
from jobs.web.job.frame import STALE_SECONDS
from jobs.web.listing_filters import Chosen, chips, selects
from jobs.web.listing_rows import Row, rows_of
from jobs.web.people import person, projects_to_submit
from trainui.accounts.permissions import visible_projects
from trainui.problems import Problem
from trainui.ui.htmx import render, wants_fragment

RECENT = 5


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show one page of the jobs that the user may see and asks for."""
    chosen = Chosen(request.GET)
    if request.GET.get("part") == "pulse" and wants_fragment(request):
        return _pulse(request, chosen)
    page, problem = _page(request, chosen)
    rows = rows_of(person(request), page.jobs)
    context = _pulse_context(request, chosen, *_newest(rows)) | {
        "rows": rows,
        "page": page,
        "problem": problem,
        "selects": selects(person(request), chosen),
        "operable": any(row.operable for row in rows),
        "row_query": urlencode(_row_words(chosen)),
        "first_page": not request.GET.get("cursor"),
        "newer_url": chosen.url(cursor=page.previous) if page.previous else "",
        "older_url": chosen.url(cursor=page.next) if page.next else "",
        "here": request.get_full_path(),
        **(_nothing(request, chosen) if not rows else {}),
    }
    status = 422 if problem else 200
    return render(request, "jobs/list/index.html", context, fragment="jobs/list/_table.html", status=status)


@require_GET
def row(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Answer the cells of one row, for a list that shows it already."""
    jobs = matching(person(request), Filters()).filter(pk=job_id).select_related("owner", "project").only(*COLUMNS)
    rows = rows_of(person(request), jobs)
    if not rows:
        raise Http404
    if not wants_fragment(request):
        return redirect("job", job_id)
    context = {"row": rows[0], "chosen": Chosen(request.GET), **_age()}
    return render(request, "jobs/list/_row.html", context, fragment="jobs/list/_row.html")


@require_GET
def recent(request: HttpRequest) -> HttpResponse:
    """Answer the newest jobs of a filter as a short table, for pages about something else (a runtime)."""
    chosen = Chosen(request.GET)
    if not wants_fragment(request):
        return redirect(chosen.url())
    page = page_of(person(request), chosen.filters, limit=RECENT)
    context = {"rows": rows_of(person(request), page.jobs), "more": bool(page.next), "chosen": chosen, **_age()}
    return render(request, "jobs/list/_recent.html", context, fragment="jobs/list/_recent.html")


def _page(request: HttpRequest, chosen: Chosen) -> tuple[Page, str]:
    """The page of the address; the first one, and why, when its cursor leads nowhere."""
    user = person(request)
    try:
        return page_of(user, chosen.filters, request.GET.get("cursor", "")), chosen.problem
    except Problem as problem:
        return page_of(user, chosen.filters), problem.detail


def _pulse(request: HttpRequest, chosen: Chosen) -> HttpResponse:
    """Answer what changes above the table: counts of the chips, the age of the data, and how many jobs are new."""
    at, job_id = _place(request.GET.get("newest", ""))
    context = _pulse_context(request, chosen, at, job_id)
    if at is not None:
        number = newer_count(person(request), chosen.filters, at, job_id)
        context |= {"new": number, "new_capped": number == NEWER_CAP}
    return render(request, "jobs/list/_pulse.html", context, fragment="jobs/list/_pulse.html")


def _pulse_context(
    request: HttpRequest, chosen: Chosen, at: datetime | None, job_id: uuid.UUID | None
) -> dict[str, Any]:
    newest = f"{at.isoformat()}|{job_id or ''}" if at else ""
    return {
        "chosen": chosen,
        "chips": chips(chosen, counts(person(request), chosen.filters)),
        "newest": newest if not request.GET.get("cursor") else "",
        "pulse_query": chosen.query(part="pulse", newest=newest if not request.GET.get("cursor") else ""),
        **_age(),
    }


def _age() -> dict[str, Any]:
    alive_at, problem = freshness()
    old = alive_at is None or (timezone.now() - alive_at).total_seconds() > STALE_SECONDS
    return {"alive_at": alive_at, "stale": old or bool(problem), "stale_after": STALE_SECONDS}


def _row_words(chosen: Chosen) -> dict[str, str]:
    """What a row that refreshes itself must know of its table: whether all are of one project."""
    return {"project": chosen.get("project")} if chosen.get("project") else {}


def _newest(rows: list[Row]) -> tuple[datetime, uuid.UUID | None]:
    return (rows[0].job.created_at, rows[0].job.pk) if rows else (timezone.now(), None)


def _place(text: str) -> tuple[datetime | None, uuid.UUID | None]:
    stamp, _, job_id = text.partition("|")
    try:
        at = datetime.fromisoformat(stamp)
        return (at if at.tzinfo else None), (uuid.UUID(job_id) if job_id else None)
    except ValueError:
        return None, None


def _nothing(request: HttpRequest, chosen: Chosen) -> dict[str, Any]:
    """What an empty list says depends on what the user could do about it."""
    user = person(request)
    projects = [p for p in projects_to_submit(user) if chosen.get("project") in ("", p.name)]
    return {"may_submit": bool(projects), "has_project": bool(projects) or visible_projects(user).exists()}
