"""How many jobs came since a list was made: they are announced, so that rows do not move under somebody's hand."""

import uuid
from datetime import datetime

from django.db.models import Q

from jobs.models import TrainJob
from jobs.queries.listing import Filters, matching
from trainui.accounts.models import User

NEWER_CAP = 100


def newer_count(user: User, filters: Filters, at: datetime, job_id: uuid.UUID | None) -> int:
    """Return how many jobs of a list are newer than its first row, counted to NEWER_CAP and no further.

    at, job_id: when the first row was created, and its id; without an id, jobs created after `at` count (the list was empty).
    """
    newer = Q(created_at__gt=at)
    if job_id is not None:
        newer |= Q(created_at=at, pk__gt=job_id)
    jobs = matching(user, filters).filter(Q(created_at__gte=at) & newer)
    return jobs.values("pk")[:NEWER_CAP].count()


def chosen_jobs(user: User, ids: list[uuid.UUID], limit: int) -> list[TrainJob]:
    """Return the jobs of these ids that the user may see, newest first, at most `limit`."""
    jobs = matching(user, Filters()).filter(pk__in=ids[:limit])
    return list(jobs.select_related("owner", "project").order_by("-created_at", "-pk"))
