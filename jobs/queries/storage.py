"""How much room a job takes, and until when its record stays."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Sum

from jobs.models import Artifact, LogStream, MetricSeries, TrainJob
from jobs.reconcile.retention import kept_until


@dataclass(frozen=True)
class Storage:
    """What is stored of a job in bytes and numbers. kept_until: when retention removes it, None for never (or not yet known)."""

    log_bytes: int
    logs: int
    artifact_bytes: int
    artifacts: int
    samples: int
    values: int
    kept: bool
    kept_until: datetime | None


@dataclass(frozen=True)
class Signs:
    """The last signs of life of a job that runs without any for too long. since: the newest of them, or when it began to run."""

    since: datetime
    last_line_at: datetime | None
    last_metric_at: datetime | None


def storage_of(job: TrainJob) -> Storage:
    """Return what is stored of a job, as its rows say; no file is looked at."""
    logs = LogStream.objects.filter(job=job).aggregate(bytes=Sum("bytes"), count=Count("id"))
    files = Artifact.objects.filter(job=job).aggregate(bytes=Sum("size"), count=Count("id"))
    series = MetricSeries.objects.filter(job=job).aggregate(kept=Sum("kept"), seen=Sum("seen"))
    return Storage(
        logs["bytes"] or 0, logs["count"], files["bytes"] or 0, files["count"], series["kept"] or 0, series["seen"] or 0, job.kept, kept_until(job)
    )  # fmt: skip


def signs_of(job: TrainJob) -> Signs | None:
    """Return the last signs of life of a stalled job, None for any other."""
    if job.stalled_since is None or job.finished:
        return None
    line = LogStream.objects.filter(job=job).aggregate(at=Max("last_at"))["at"]
    metric = MetricSeries.objects.filter(job=job).aggregate(at=Max("last_at"))["at"]
    return Signs(job.stalled_since, line, metric)
