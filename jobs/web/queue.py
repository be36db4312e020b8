"""The page of the queues: who waits and how much is ahead, who holds machines, and how much of each quota is used."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs.queries.cluster import is_local
from jobs.queries.job import freshness
from jobs.queries.queue import Line, queues_of
from jobs.spec.masking import mask_text
from jobs.web.job.frame import STALE_SECONDS
from jobs.web.people import person
from trainui.ui.htmx import render

_KINDS = {
    "kueue": "Kueue",
    "volcano": "Volcano",
    "scheduler": "in the order of priority and age",
    "local": "by priority, then age",
}


@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """Show the queues; names of jobs only where the user may see them."""
    found = queues_of(person(request))
    alive_at, problem = freshness()
    old = alive_at is None or (timezone.now() - alive_at).total_seconds() > STALE_SECONDS
    queues = [
        {
            "queue": queue,
            "order": _KINDS.get(queue.kind, queue.kind),
            "waiting": [(line, _why(line)) for line in queue.waiting],
            "waits": len(queue.waiting) + queue.waiting_hidden,
            "holds": len(queue.holders) + queue.holders_hidden,
        }
        for queue in found.queues
    ]
    context: dict[str, Any] = {
        "queues": queues,
        "quotas": found.quotas,
        "local": is_local(),
        "alive_at": alive_at,
        "problem": problem,
        "stale": old or bool(problem),
        "stale_after": STALE_SECONDS,
    }
    return render(request, "jobs/queue/index.html", context, fragment="jobs/queue/_queue.html")


def _why(line: Line) -> str:
    return mask_text(line.job.sentence) if line.job else ""
