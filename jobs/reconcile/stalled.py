"""Jobs that run without a sign of life: no log line and no metric for a while. Looked at when that while is over, never polled."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Max

from jobs.models import LogStream, MetricSeries
from jobs.state import phases
from jobs.state.model import JobState

if TYPE_CHECKING:
    from jobs.reconcile.reconcile import Pass

_RUNNING = (phases.RUNNING, phases.DEGRADED)


@dataclass(frozen=True)
class Silence:
    """What is known of a silence. since: the last sign of life, None while it is no stall. recheck_at: when it becomes one."""

    since: datetime | None = None
    recheck_at: datetime | None = None


def silence(signs: list[datetime | None], now: datetime, limit: timedelta) -> Silence:
    """Return what to make of the times at which a running job gave a sign of life, among them that it began to run. Pure."""
    last = max((sign for sign in signs if sign is not None), default=None)
    if last is None or not limit:
        return Silence()
    last = min(last, now)  # a clock of a machine may be ahead of ours
    return Silence(since=last) if now - last >= limit else Silence(recheck_at=last + limit)


def stalled_since(this: "Pass", state: JobState) -> datetime | None:
    """Return since when a job has been silent for too long, None if it has not; asks the pass to look again when it may have been."""
    limit = timedelta(minutes=settings.STALLED_MINUTES)
    if state.phase not in _RUNNING or not limit:
        return None
    job = this.job
    line = LogStream.objects.filter(job=job).aggregate(at=Max("last_at"))["at"]
    metric = MetricSeries.objects.filter(job=job).aggregate(at=Max("last_at"))["at"]
    began = [datetime.fromisoformat(text) for text in (state.since, state.started_at) if text]
    if job.phase == state.phase and job.since:
        began.append(job.since)
    found = silence([line, metric, job.progress_at, *began], this.now, limit)
    this.look_again(found.recheck_at)
    return found.since
