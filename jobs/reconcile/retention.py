"""Jobs that ended long ago are removed, in small batches; jobs that live, and jobs that somebody keeps, never are."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile.doorbell import ring
from jobs.state import phases

BATCH = 50
REASON = "Its time of retention is over."


def kept_until(job: TrainJob) -> datetime | None:
    """Return when retention removes a job as things are, None when it never does."""
    if not settings.RETENTION_DAYS or job.kept or not job.finished or job.finished_at is None:
        return None
    return job.finished_at + timedelta(days=settings.RETENTION_DAYS)


def expire(now: datetime | None = None) -> int:
    """Ask for the removal of the jobs whose time is over, the oldest first and at most BATCH, and return how many.

    Only intent is written, as when a person deletes a job: reconcile takes a TrainJob that is still there out of the cluster, then the record.
    """
    if not settings.RETENTION_DAYS:
        return 0
    now = now or timezone.now()
    over = TrainJob.objects.filter(
        phase__in=phases.FINISHED,
        finished_at__lt=now - timedelta(days=settings.RETENTION_DAYS),
        kept=False,
        delete_requested_at__isnull=True,
    )
    asked = 0
    for job_id in list(over.order_by("finished_at").values_list("pk", flat=True)[:BATCH]):
        # Asked again here: somebody may have chosen to keep it a moment ago.
        if over.filter(pk=job_id).update(delete_requested_at=now, cancel_requested_at=now, cancel_reason=REASON, due_at=now):  # fmt: skip
            asked += 1
            ring(job_id)
    return asked
