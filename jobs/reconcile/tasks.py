"""Celery's side: three-line tasks. A lost or doubled message costs nothing."""

import logging

from celery import shared_task
from django.db.models import Q
from django.utils import timezone

from jobs.models import TrainJob
from jobs.reconcile import quotas as kept_quotas
from jobs.reconcile import retention
from jobs.reconcile.doorbell import ring
from jobs.reconcile.lease import CLOCK_SLACK, held, of_the_gone
from jobs.reconcile.reconcile import reconcile_job
from jobs.reconcile.survey import survey as survey_cluster
from trainui.cluster.patience import within

log = logging.getLogger(__name__)
SWEEP_BATCH = 500
CALLS_SECONDS = 35.0  # all calls of a task together: a task takes less than 45 s, and a job's lease lasts longer


@shared_task(name="jobs.reconcile.tasks.reconcile")
def reconcile(job_id: str) -> None:
    """Reconcile one job; a job deleted in the meantime is no failure."""
    try:
        with within(CALLS_SECONDS):
            reconcile_job(job_id)
    except TrainJob.DoesNotExist:
        log.info("job %s is gone", job_id)


@shared_task(name="jobs.reconcile.tasks.sweep")
def sweep() -> None:
    """Ring for every job that is due and that nobody alive holds: finds what a lost message left.

    A job that was last reconciled, or made, in the future is due: the clock was set back, and its times mean nothing.
    """
    now = timezone.now()
    set_back = Q(reconciled_at__gt=now + CLOCK_SLACK) | Q(reconciled_at__isnull=True, created_at__gt=now + CLOCK_SLACK)
    due = TrainJob.objects.filter(Q(due_at__lte=now) | Q(set_back, due_at__isnull=False))
    left = of_the_gone(TrainJob.objects.filter(held(now)))
    free = due.filter(~held(now) | left).order_by("due_at").values_list("pk", flat=True)
    for job_id in free[:SWEEP_BATCH]:
        ring(job_id)


@shared_task(name="jobs.reconcile.tasks.expire")
def expire() -> None:
    """Ask for the removal of some jobs whose time of retention is over."""
    if number := retention.expire():
        log.info("the time of retention of %d job(s) is over", number)


@shared_task(name="jobs.reconcile.tasks.survey")
def survey() -> None:
    """Look what the cluster has and lacks."""
    survey_cluster()


@shared_task(name="jobs.reconcile.tasks.quotas")
def quotas() -> None:
    """Look how much of the quotas and queues is used."""
    kept_quotas.refresh()
