"""What one row of the jobs list shows, made of narrow columns only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from jobs.models import TrainJob
from jobs.spec.masking import mask_text
from jobs.state import phases
from trainui.accounts.models import User
from trainui.accounts.permissions import can, roles_of
from trainui.ui.times import duration

NAME_SHOWN = 32
_TAIL = 12
# The word of these phases says it all; their sentence would only repeat it.
_PLAIN = frozenset({phases.RUNNING, phases.SUCCEEDED, phases.CANCELLED})


@dataclass(frozen=True)
class Meter:
    """How far a job is. label: said of the bar, with the time that is left if the program told."""

    percent: int
    label: str
    tone: str


@dataclass(frozen=True)
class Row:
    """One row. name: the job's, cut in the middle when it is long. reason: "" where the phase says it all. operable: bulk actions may take it."""

    job: TrainJob
    name: str
    reason: str
    progress: Meter | None
    operable: bool

    @property
    def cut(self) -> bool:
        """Whether the name is longer than what is shown of it."""
        return self.name != self.job.name


def rows_of(user: User, jobs: Iterable[TrainJob], roles: dict[Any, str] | None = None) -> list[Row]:
    """Return the rows of jobs; one query whatever their number, none when `roles` are given."""
    known, now = roles_of(user) if roles is None else roles, timezone.now()
    return [_row(user, job, known, now) for job in jobs]


def _row(user: User, job: TrainJob, roles: dict[Any, str], now: datetime) -> Row:
    reason = "" if job.phase in _PLAIN else mask_text(job.sentence)
    if job.stalled_since and not job.finished:
        reason = "No sign of life; it may hang."
    return Row(job, middle(job.name), reason, meter_of(job, now), can(user, "operate", job, roles=roles))


def meter_of(job: TrainJob, now: datetime) -> Meter | None:
    """Return the progress of a job as a row shows it; None when its program reported none. Success is 100 %: the last report may be lost."""
    if job.progress_percent is None:
        return None
    if job.phase == phases.SUCCEEDED:
        return Meter(100, "Done", "ok")
    if job.finished:
        return Meter(job.progress_percent, "Ended here", "error" if job.phase == phases.FAILED else "neutral")
    if job.phase not in (phases.RUNNING, phases.DEGRADED):
        return Meter(job.progress_percent, "Last reported", "neutral")
    left = job.eta_seconds - (now - job.progress_at).total_seconds() if job.eta_seconds and job.progress_at else 0
    return Meter(job.progress_percent, f"About {duration(left)} left" if left >= 1 else "Progress", "active")


def middle(name: str, most: int = NAME_SHOWN, tail: int = _TAIL) -> str:
    """Return a name cut in its middle: runs of one series differ at the end, as in `llama3-8b…-lr3e4`."""
    return name if len(name) <= most else f"{name[: most - tail - 1]}…{name[-tail:]}"
