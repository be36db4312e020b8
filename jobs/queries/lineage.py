"""Where a job comes from, and what came of it."""

from jobs.models import TrainJob
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects

LIMIT = 20


def successors(user: User, job: TrainJob) -> list[TrainJob]:
    """Return the newest retries and copies of a job that the user may see."""
    made = TrainJob.objects.filter(origin=job).select_related("project")
    if not user.is_superuser:
        made = made.filter(project_id__in=list(visible_projects(user).values_list("pk", flat=True)))
    return list(made.order_by("-created_at", "-pk")[:LIMIT])
