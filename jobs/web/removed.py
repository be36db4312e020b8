"""The page of jobs whose record is gone."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from jobs.queries.removed import removed_jobs
from jobs.state import phases
from jobs.web.people import person
from trainui.ui.htmx import render


@require_GET
def removed(request: HttpRequest) -> HttpResponse:
    """List what is remembered of removed jobs, newest first."""
    project, text = request.GET.get("project", ""), request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    page = removed_jobs(person(request), project, before)
    query = {"project": project} if project else {}
    older = f"?{urlencode({**query, 'before': str(page.next)})}" if page.next else ""
    context = {
        "rows": [(job, phases.PHASES[job.phase].tone if job.phase in phases.PHASES else "") for job in page.jobs],
        "wanted": project,
        "older": older,
        "newest": f"{reverse('jobs-removed')}?{urlencode(query)}" if before else "",
    }
    return render(request, "jobs/removed.html", context)
