"""What one row of the jobs list shows, made of narrow columns only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from jobs.models import TrainJob
from jobs.state import phases
from jobs.web.job.frame import Progress, progress_of
from trainui.accounts.models import User
from trainui.accounts.permissions import can, roles_of

NAME_SHOWN = 32
_TAIL = 12
# The word of these phases says it all; their sentence would only repeat it.
_PLAIN = frozenset({phases.RUNNING, phases.SUCCEEDED, phases.CANCELLED})


@dataclass(frozen=True)
class Row:
    """One row. name: the job's, cut in the middle when it is long. reason: "" where the phase says it all. operable: bulk actions may take it."""

    job: TrainJob
    name: str
    reason: str
    progress: Progress | None
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
    shown = progress_of(job, now)
    reason = "" if job.phase in _PLAIN else job.sentence
    return Row(job, middle(job.name), reason, shown, can(user, "operate", job, roles=roles))


def middle(name: str, most: int = NAME_SHOWN, tail: int = _TAIL) -> str:
    """Return a name cut in its middle: runs of one series differ at the end, as in `llama3-8b…-lr3e4`."""
    return name if len(name) <= most else f"{name[: most - tail - 1]}…{name[-tail:]}"
