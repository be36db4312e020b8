"""The page of the cluster: machines and their slots, who holds what, what waits, and what the cluster serves."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs.queries.cluster import CORDONED, READY, Cluster, cluster_of, is_local, total
from jobs.queries.cluster_checks import ABSENT, LACKS, OK, UNKNOWN, WARNS, survey_of_cluster
from jobs.queries.job import freshness
from jobs.reconcile.capabilities import capabilities
from jobs.spec.masking import mask_text
from jobs.web.cluster_slots import amount, cards_of, word_of
from jobs.web.job.differences import of_local_cluster
from jobs.web.job.frame import STALE_SECONDS
from jobs.web.people import person
from trainui.ui.htmx import render

_SCHEDULERS = {
    "in_tree": "Kubernetes’ own pod groups",
    "volcano": "Volcano",
    "coscheduling": "scheduler-plugins (Coscheduling)",
}

_LOOKS = {  # tone, icon and word of a check's state
    OK: ("ok", "check-circle", "ok"),
    LACKS: ("error", "x-circle", "problem"),
    WARNS: ("warn", "exclamation-triangle", "warning"),
    ABSENT: ("neutral", "minus-circle", "optional"),
    UNKNOWN: ("unknown", "question-mark-circle", "unknown"),
}
SURVEY_STALE_SECONDS = 180  # it is made every minute


@dataclass(frozen=True)
class Sum:
    """How much of one resource is held, over all machines that take pods."""

    name: str
    used: str
    capacity: str
    percent: int


@require_GET
def cluster(request: HttpRequest) -> HttpResponse:
    """Show how full the cluster is; names of jobs only where the user may see them."""
    found = cluster_of(person(request))
    alive_at, problem = freshness()
    old = alive_at is None or (timezone.now() - alive_at).total_seconds() > STALE_SECONDS
    survey = None if is_local() else survey_of_cluster()
    context: dict[str, Any] = {
        "cluster": found,
        "cards": cards_of(found.machines),
        "sums": sums_of(found),
        "ready": sum(1 for machine in found.machines if machine.state == READY),
        "waiting": [(job, mask_text(job.sentence)) for job in found.waiting],
        "waits": len(found.waiting) + found.more_waiting + found.others,
        "local": is_local(),
        "differences": of_local_cluster() if is_local() else [],
        "gangs": [_SCHEDULERS[name] for name in sorted(capabilities().gang_schedulers)],
        "survey": survey,
        "checks": [(check, *_LOOKS[check.state]) for check in survey.checks] if survey else [],
        "broken": [check for check in survey.checks if check.state == LACKS] if survey else [],
        "survey_stale_after": SURVEY_STALE_SECONDS,
        "missing": [served for served in found.served if served.needed and not served.served],
        "alive_at": alive_at,
        "problem": problem,
        "stale": old or bool(problem),
        "stale_after": STALE_SECONDS,
    }
    return render(request, "jobs/cluster/index.html", context, fragment="jobs/cluster/_cluster.html")


def sums_of(found: Cluster) -> list[Sum]:
    """Return the sums of devices, CPUs and memory, in that order. Machines that are down offer nothing."""
    machines = [machine for machine in found.machines if machine.state in (READY, CORDONED)]
    devices = sorted({name for machine in machines for name in machine.capacity if "/" in name})
    sums = []
    for name in (*devices, "cpu", "memory"):
        capacity = total((machine.capacity for machine in machines), name)
        used = total((machine.used for machine in machines), name)
        if capacity > 0:
            percent = round(min(100 * used / capacity, Decimal(100)))
            sums.append(Sum(word_of(name), amount(used, name), amount(capacity, name), percent))
    return sums
