"""Views of the job page: each tab is an address, each part that changes by itself is a fragment with an ETag."""

import uuid
from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.cache import patch_cache_control
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_GET

from jobs.logs.html import row_html
from jobs.models import TrainJob
from jobs.queries import job_page as queries
from jobs.queries.job import metric_series
from jobs.web.job import parts
from jobs.web.job.frame import TABS, find, frame
from jobs.web.job.log_view import log_view, one_row
from jobs.web.job.manifests import manifests
from jobs.web.job.storage import storage
from jobs.web.people import person
from trainui.ui.htmx import render, wants_fragment

EVENTS_SHOWN = 100
NODES_SHOWN = 200
Context = dict[str, Any]


@require_GET
def overview(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Say where the job is, how it got there, what it was given and what it has made."""
    job = find(request, job_id)
    context = frame(request, job, "overview")
    for add in (parts.state, parts.conditions, parts.metrics, parts.artifacts, parts.config):
        context |= add(job)
    context |= storage(person(request), job)
    return render(request, "jobs/job/overview.html", context)


@require_GET
def part(request: HttpRequest, job_id: uuid.UUID, name: str) -> HttpResponse:
    """Answer one live part of a page to htmx; anybody else is sent to the page itself."""
    job = find(request, job_id)
    if not wants_fragment(request):
        return redirect("job", job.pk)
    adds: dict[str, Callable[[TrainJob], Context]] = {
        "head": lambda _: {}, "actions": lambda _: {}, "state": parts.state, "waiting": parts.waiting, "conditions": parts.conditions, "metrics": parts.metrics,
        "artifacts": parts.artifacts, "config": parts.config, "newest": parts.newest, "values": parts.values(request.GET.get("name", "")),
        "storage": lambda job: storage(person(request), job),
    }  # fmt: skip
    if name not in adds:
        raise Http404
    tab = request.GET.get("tab", "")
    context = frame(request, job, tab if tab in TABS else "overview") | adds[name](job)
    template = f"jobs/job/_{name}.html"
    return render(request, template, context, fragment=template)


@require_GET
def nodes(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """List the nodes by rank."""
    job = find(request, job_id)
    context = frame(request, job, "nodes") | parts.nodes_page(job, request.GET.get("from", ""), NODES_SHOWN)
    return render(request, "jobs/job/nodes.html", context, fragment="jobs/job/_nodes.html")


@require_GET
def logs(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Show the archived logs, all ranks merged by time or one of them."""
    job = find(request, job_id)
    only_bar = wants_fragment(request) and request.GET.get("part") != "view"
    view = log_view(job, request.GET, parts.nodes(job), with_rows=not only_bar)
    times = request.GET.get("times") == "1"
    places = {"start": request.GET.get("start"), "at": request.GET.get("at"), "times": None if times else 1}
    context = frame(request, job, "logs") | {
        "view": view,
        "times": times,
        "times_query": view.selection.as_query(**places),
    }
    fragment = "jobs/job/_log_bar.html" if only_bar else "jobs/job/_log_view.html"
    return render(request, "jobs/job/logs.html", context, fragment=fragment)


@require_GET
def log_row(request: HttpRequest, job_id: uuid.UUID, row: str) -> HttpResponse:
    """Show one row of a log in full."""
    job = find(request, job_id)
    found = one_row(job, row)
    html = mark_safe(row_html(found))  # noqa: S308  row_html escapes
    context = frame(request, job, "logs") | {"row": found, "html": html}
    return render(request, "jobs/job/log_row.html", context)


@require_GET
def metrics(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Draw every metric over time."""
    job = find(request, job_id)
    context = frame(request, job, "metrics") | parts.newest(job) | parts.charts(job)
    return render(request, "jobs/job/metrics.html", context, fragment="jobs/job/_charts.html")


@require_GET
def points(request: HttpRequest, job_id: uuid.UUID) -> JsonResponse:
    """Answer the points that were stored after the one a chart has last, for it to append."""
    job = find(request, job_id)
    text = request.GET.get("after", "")
    after = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    found, last, more = queries.points_after(job, after)
    response = JsonResponse({"after": last, "more": more, "points": found})
    patch_cache_control(response, private=True, no_store=True)
    return response


@require_GET
def series(request: HttpRequest, job_id: uuid.UUID) -> JsonResponse:
    """Answer metrics whole, all or one by name, for charts to begin with: name to times and values."""
    job = find(request, job_id)
    after = queries.last_sample(job)  # read first: what comes between is sent again rather than lost
    found = {s.name: [s.times, s.values] for s in metric_series(job, request.GET.get("name", ""))}
    response = JsonResponse({"after": after, "series": found})
    patch_cache_control(response, private=True, no_store=True)
    return response


@require_GET
def events(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """List what was said about the job and its objects, newest first."""
    job = find(request, job_id)
    warnings, text = request.GET.get("type") == "warning", request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    page = queries.events_page(job, warnings, before, EVENTS_SHOWN)
    context = frame(request, job, "events") | {"page": page, "warnings_only": warnings, "before": before}
    return render(request, "jobs/job/events.html", context, fragment="jobs/job/_events.html")


@require_GET
def manifest(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Show the job and its children as YAML."""
    job = find(request, job_id)
    context = frame(request, job, "manifest") | {"documents": manifests(job)}
    return render(request, "jobs/job/manifest.html", context)
