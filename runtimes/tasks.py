"""Celery's side of the catalog."""

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from runtimes.sync import sync_runtimes
from trainui.cluster.patience import within

log = logging.getLogger(__name__)
CALLS_SECONDS = 35.0  # of all calls together; the next sweep does the rest


@shared_task(name="runtimes.tasks.sweep")
def sweep() -> None:
    """Bring blueprints into the cluster and note which were edited there."""
    with within(CALLS_SECONDS):
        sync_runtimes()


def ring_runtimes() -> None:
    """Ask a worker to sync now; a lost ring costs one sweep."""
    try:
        sweep.apply_async(retry=False)
    except (OperationalError, OSError) as error:
        log.warning("the broker does not answer (%s); the sweep will sync runtimes", error)
