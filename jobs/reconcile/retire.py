"""What is given back when a job has ended, and what goes with its record."""

import shutil
from pathlib import Path

from django.conf import settings

from jobs.models import TrainJob


def release(job: TrainJob) -> None:
    """Give back what only a living job needs: its rendezvous port."""
    TrainJob.objects.filter(pk=job.pk, port__isnull=False).update(port=None)


def purge(job: TrainJob) -> None:
    """Remove the record of a job with its logs and artifacts; the audit keeps that it existed."""
    for folder in (settings.LOGS_DIR, settings.ARTIFACTS_DIR):
        shutil.rmtree(Path(folder) / str(job.pk), ignore_errors=True)
    job.delete()
