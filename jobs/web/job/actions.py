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
    "keep": "{} is kept until somebody deletes it.",
    "release": "{} goes when its time of retention is over.",
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


@require_POST
def keep(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Let retention pass it by."""
    return _ask(request, job_id, "keep", lambda user, job, _: services.keep(user, job))


@require_POST
def release(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Let retention remove it in time."""
    return _ask(request, job_id, "release", lambda user, job, _: services.keep(user, job, kept=False))


@require_POST
def retry(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse:
    """Run it again as a new job, and go there."""
    job = find(request, job_id)
    key = request.POST.get("key", "")
    try:
        made, there = services.retry(request.user, job, key if key.startswith(f"retry:{job.pk}:") else None)  # type: ignore[arg-type]
    except Problem as problem:
        messages.error(request, f"It cannot run again as it was. {problem.detail}")
        return redirect("job", job.pk)
    if there:
        messages.info(request, f"{job.name} runs again already, as {made.name}; here it is.")
    else:
        messages.success(request, f"{made.name} is submitted: {job.name} once more, with the same values.")
    return redirect("job", made.pk)


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
