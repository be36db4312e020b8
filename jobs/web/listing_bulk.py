"""One action for many jobs of the list: chosen there, confirmed on a page of its own, done by the services."""

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from jobs import services
from jobs.models import TrainJob
from jobs.queries.listing import MAX_LIMIT
from jobs.queries.newer import chosen_jobs
from jobs.state import phases
from jobs.web.compare import compare_url
from jobs.web.listing_filters import Chosen
from jobs.web.listing_rows import Row, rows_of
from jobs.web.people import person
from trainui.accounts.models import User
from trainui.accounts.permissions import can, roles_of
from trainui.ui.htmx import render

FAILURES_SHOWN = 5
COMPARE = "compare"


@dataclass(frozen=True)
class Action:
    """How an action is worded. verb: on the button. effect: what it does, before it is done. done: said afterwards, with the number of jobs."""

    verb: str
    effect: str
    done: str
    icon: str
    kind: str = "danger"


ACTIONS = {
    phases.SUSPEND: Action("Suspend", "They give their machines back and wait until somebody resumes them.", "being suspended", "pause", "primary"),
    phases.RESUME: Action("Resume", "They are queued again and start from their last checkpoint, if they keep any.", "being resumed", "play", "primary"),
    phases.RETRY: Action("Run again", "Each is submitted once more as a new job, as it was.", "submitted again", "arrow-path", "primary"),
    phases.CANCEL: Action("Cancel", "They end and leave the cluster. Their logs, metrics and events stay.", "being cancelled", "x-circle"),
    phases.DELETE: Action("Delete", "They go for good, with logs, metrics and artifacts. What still runs is cancelled first.", "being deleted", "trash"),
}  # fmt: skip


@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    """Ask whether an action is meant, then do it to the chosen jobs."""
    back = Chosen(request.POST).url()
    name = request.POST.get("action", "")
    action = ACTIONS.get(name)
    jobs = chosen_jobs(person(request), _ids(request.POST.getlist("job")), MAX_LIMIT)
    if name == COMPARE and jobs:
        return redirect(compare_url([job.pk for job in jobs]))
    if action is None or not jobs:
        messages.info(request, "Choose jobs first, then what to do with them.")
        return redirect(back)
    if request.POST.get("confirmed"):
        _do(request, name, action, jobs)
        return redirect(back)
    rows = rows_of(person(request), jobs)
    may = may_do(person(request), name, rows)
    fit = [row for row in rows if row.job.pk in may and phases.allows(row.job.phase, name)]
    context = {
        "name": name,
        "action": action,
        "fit": fit,
        "unfit": [(row, _why(row, may)) for row in rows if row not in fit],
        "chosen": Chosen(request.POST),
        "jobs_url": reverse("jobs"),
        "back": back,
    }
    return render(request, "jobs/list/bulk.html", context)


def _do(request: HttpRequest, name: str, action: Action, jobs: list[TrainJob]) -> None:
    results = services.bulk(person(request), name, jobs)
    done = sum(1 for result in results if not result.error)
    failed = [result for result in results if result.error]
    if done:
        messages.success(request, f"{done} {'job is' if done == 1 else 'jobs are'} {action.done}.")
    for result in failed[:FAILURES_SHOWN]:
        messages.error(request, f"{result.job.name}: {result.error}")
    if len(failed) > FAILURES_SHOWN:
        messages.error(request, f"{len(failed) - FAILURES_SHOWN} more could not be changed.")


def may_do(user: User, action: str, rows: list[Row]) -> set[uuid.UUID]:
    """Return the jobs for which the role of a user allows an action: whoever may submit in its project may run a job again."""
    if action != phases.RETRY:
        return {row.job.pk for row in rows if row.operable}
    roles = roles_of(user)
    return {row.job.pk for row in rows if can(user, "submit", row.job.project, roles=roles)}


def _why(row: Row, may: set[uuid.UUID]) -> str:
    return f"It is {row.job.phase.lower()}." if row.job.pk in may else "Your role does not allow it for this job."


def _ids(texts: list[str]) -> list[uuid.UUID]:
    found = []
    for text in texts[:MAX_LIMIT]:
        try:
            found.append(uuid.UUID(text))
        except ValueError:
            continue
    return found
