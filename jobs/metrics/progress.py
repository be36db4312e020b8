"""Writing how far a job is, with an estimate of our own when the program gives none."""

import uuid
from datetime import datetime

from jobs.metrics.eta import advanced, remaining
from jobs.models import TrainJob, TrainJobDetail
from jobs.state import phases

_MOVING = (phases.RUNNING, phases.DEGRADED)


def note_progress(job_id: uuid.UUID, percent: int | None, eta: int | None, at: datetime) -> None:
    """Write the newest progress of a job; call it inside a transaction.

    percent, eta: what the program says, None for what it does not say. at: when it said so.
    """
    # Held from here on: reconcile, too, takes the job's row before its details, and neither waits for the other for ever.
    held = TrainJob.objects.select_for_update(no_key=True).filter(pk=job_id)
    job = held.values("phase", "since", "started_at").first()
    history = TrainJobDetail.objects.filter(pk=job_id).values_list("progress_history", flat=True).first()
    if job is None or history is None:
        return
    estimated = False
    if percent is not None:
        points = advanced(history, at.timestamp(), percent)
        if points != history:
            TrainJobDetail.objects.filter(pk=job_id).update(progress_history=points)
        if eta is None:
            began = job["since"] if job["phase"] in _MOVING else job["started_at"]
            eta = remaining(points, at.timestamp(), began.timestamp() if began else None)
            estimated = eta is not None
    TrainJob.objects.filter(pk=job_id).update(
        progress_percent=percent, eta_seconds=eta, eta_estimated=estimated, progress_at=at
    )
