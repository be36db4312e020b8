"""What is stored of a job, how long it stays, and the jobs that were made from it."""

from typing import Any

from django.conf import settings

from jobs.models import TrainJob
from jobs.queries.lineage import successors
from jobs.queries.storage import storage_of
from jobs.web.compare import compare_url
from trainui.accounts.models import User
from trainui.accounts.permissions import can


def storage(user: User, job: TrainJob) -> dict[str, Any]:
    """Return the context of the card about storage, and of the list of retries and copies."""
    stored, made = storage_of(job), successors(user, job)
    return {
        "storage": stored,
        "values": f"{stored.values:,}",
        "samples": f"{stored.samples:,}",
        "retention_days": settings.RETENTION_DAYS,
        "may_keep": can(user, "operate", job) and not job.delete_requested_at,
        "successors": made,
        "compare_url": compare_url([job.pk, *(other.pk for other in made)]) if made else "",
    }
