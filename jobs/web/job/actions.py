"""What a person may ask of a job: POST, through the services, then back to the page."""

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs import services
from jobs.models import TrainJob
from jobs.web.job.frame import TABS, find
from trainui.accounts.models import User
from trainui.problems import Problem

Service = Callable[[User, TrainJob, str], TrainJob]
_SAID = {
    "suspend": "{} is being suspended; its machines become free.",
    "resume": "{} is being resumed.",
    "cancel": "{} is being cancelled. Its logs and events stay.",
    "delete": "{} is being deleted, with its logs and artifacts.",
}


@require_POST
def suspend(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Give the machines back and wait."""
    return _ask(request, job_id, "suspend", services.suspend)


@require_POST
def resume(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Go on."""
    return _ask(request, job_id, "resume", services.resume)


@require_POST
def cancel(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """End it; the record stays."""
    return _ask(request, job_id, "cancel", services.cancel)


@require_POST
def delete(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Remove the record too."""
    return _ask(request, job_id, "delete", services.delete)


def _ask(request: HttpRequest, job_id: uuid.UUID, action: str, service: Service) -> HttpResponse:
    job = find(request, job_id)
    try:
        service(request.user, job, request.POST.get("reason", "").strip())  # type: ignore[arg-type]
    except Problem as problem:
        messages.error(request, problem.detail)
    else:
        messages.success(request, _SAID[action].format(job.name))
        if action == "delete":
            return redirect("/jobs")
    tab = request.POST.get("tab", "")
    return redirect(f"job-{tab}" if tab in TABS and tab != "overview" else "job", job.pk)
