"""What is given back when a job has ended, what goes with its record, and what is remembered of it then."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from jobs.models import JobEvent, MetricSample, TrainJob
from trainui.audit.models import AuditEntry
from trainui.audit.services import record

REMOVED = "job.remove"  # the verb of entries that remember a removed job
RETENTION = "retention"  # why, when nobody asked for it
LATE_EVENTS = timedelta(hours=1)  # far longer than watch may lag behind
_CHUNK = 5_000


def release(job: TrainJob) -> None:
    """Give back what only a living job needs: its rendezvous port."""
    TrainJob.objects.filter(pk=job.pk, port__isnull=False).update(port=None)


def purge(job: TrainJob, phase: str) -> None:
    """Remove the record of a job with its logs and artifacts; the audit keeps that it existed and how it ended.

    Broken off at any point it can be done again: the row goes last.
    """
    for folder in (settings.LOGS_DIR, settings.ARTIFACTS_DIR):
        shutil.rmtree(Path(folder) / str(job.pk), ignore_errors=True)
    for rows in (MetricSample.objects.filter(job=job), JobEvent.objects.filter(job=job)):
        while ids := list(rows.values_list("pk", flat=True)[:_CHUNK]):  # small transactions: others want to write too
            rows.filter(pk__in=ids).delete()
    asked = AuditEntry.objects.filter(object_kind="TrainJob", object_id=str(job.pk), verb="job.delete").first()
    with transaction.atomic():
        record(asked.actor if asked else None, REMOVED, job, detail=_memory(job, phase, asked))
        job.delete()


def was_removed(uid: str) -> bool:
    """Whether the record of the TrainJob with this uid was removed lately: watch may still bring events of it, which make no new record."""
    lately = AuditEntry.objects.filter(object_kind="TrainJob", verb=REMOVED, at__gte=timezone.now() - LATE_EVENTS)
    return lately.filter(detail__uid=uid).exists()


def _memory(job: TrainJob, phase: str, asked: AuditEntry | None) -> dict[str, Any]:
    return {
        "uid": job.uid,
        "phase": phase,
        "owner": job.owner.get_username() if job.owner else None,
        "runtime": job.runtime_name,
        "created_at": job.created_at.isoformat(),
        "finished_at": job.finished_at.isoformat() if job.finished_at else None,
        "why": "deleted" if asked else RETENTION,
        "by": asked.actor_name if asked else None,
        "reason": asked.detail.get("reason", "") if asked else "",
    }
