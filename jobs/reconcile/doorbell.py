"""Rings a worker for a job. A lost ring costs one sweep: what counts is the row's `due_at`."""

import logging
import uuid

from django.db import transaction
from kombu.exceptions import OperationalError

from jobs.models import TrainJob

log = logging.getLogger(__name__)


def ring(job_id: uuid.UUID) -> None:
    """Ask a worker to reconcile a job now."""
    from jobs.reconcile.tasks import reconcile  # the task imports this module's users

    try:
        reconcile.apply_async((str(job_id),), retry=False)
    except (OperationalError, OSError) as error:
        log.warning("the broker does not answer (%s); the sweep will find job %s", error, job_id)


def ring_on_commit(job: TrainJob) -> None:
    """Ring once the current transaction is committed, so that the worker sees the row."""
    transaction.on_commit(lambda: ring(job.pk))


def ring_survey() -> None:
    """Ask a worker to look what the cluster has, now that somebody watches it; beat asks every minute."""
    from jobs.reconcile.tasks import survey

    try:
        survey.apply_async(retry=False)
    except (OperationalError, OSError) as error:
        log.warning("the broker does not answer (%s); the cluster is surveyed within a minute", error)
