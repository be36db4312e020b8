"""Leases in the database: one holder at a time, each with a token that fences off whoever held it before."""

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from django.db.models import Q, QuerySet
from django.utils import timezone

from jobs.models import Lease, TrainJob

JOB_LEASE = timedelta(seconds=60)  # longer than any reconcile, whose calls have time-outs below it
LEADER_LEASE = timedelta(seconds=15)
CLOCK_SLACK = timedelta(minutes=1)  # by which clocks of several machines may differ


class LeaseLost(Exception):
    """Another worker has taken the job over: what this one knows of it is old."""


def held(now: datetime) -> Q:
    """Rows whose lease somebody holds. One that would last longer than a lease can was taken before the clock was set back: it is void."""
    return Q(lease_until__isnull=False, lease_until__gte=now, lease_until__lte=now + JOB_LEASE + CLOCK_SLACK)


@contextmanager
def job_lease(job_id: uuid.UUID | str, now: datetime | None = None) -> Iterator[uuid.UUID | None]:
    """Hold a job's lease for the block; yields its token, or None when another worker holds it."""
    token, now = uuid.uuid4(), now or timezone.now()
    ours = {"lease_token": token, "lease_until": now + JOB_LEASE, "lease_holder": this_process()}
    row = TrainJob.objects.filter(pk=job_id)
    if not row.filter(~held(now)).update(**ours) and not row.filter(of_the_gone(row)).update(**ours):
        yield None
        return
    try:
        yield token
    finally:
        row.filter(lease_token=token).update(lease_token=None, lease_until=None, lease_holder="")


def of_the_gone(rows: QuerySet[TrainJob]) -> Q:
    """Those of some rows whose lease is held by a process that was killed: nobody has to wait until it runs out."""
    holders = rows.exclude(lease_holder="").values_list("lease_holder", flat=True).distinct()
    return Q(lease_holder__in=[holder for holder in holders if _is_gone(holder)])


def guarded(job_id: uuid.UUID, token: uuid.UUID, **columns: object) -> bool:
    """Write columns of a job while the lease is still ours; False when it is not, and nothing is written."""
    return bool(TrainJob.objects.filter(pk=job_id, lease_token=token).update(**columns))


class Leadership:
    """Leadership of a named task. `renew` often; whoever stops renewing loses it after LEADER_LEASE, or at once when its process is seen to be gone."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.holder = this_process()
        self.token = uuid.uuid4()
        Lease.objects.get_or_create(name=name)

    def renew(self, now: datetime | None = None) -> bool:
        """Take or keep the lead; True when we have it."""
        now = now or timezone.now()
        mine_or_free = (
            Q(token=self.token)
            | Q(until__isnull=True)
            | Q(until__lt=now)
            | Q(until__gt=now + LEADER_LEASE + CLOCK_SLACK)
        )
        holder = Lease.objects.filter(name=self.name).values_list("holder", flat=True).first() or ""
        if _is_gone(holder):
            mine_or_free |= Q(holder=holder)
        return bool(
            Lease.objects.filter(mine_or_free, name=self.name).update(
                token=self.token, holder=self.holder, until=now + LEADER_LEASE
            )
        )

    def held(self) -> bool:
        """Whether the lead is still ours; inside a transaction it stays so until that ends."""
        return Lease.objects.select_for_update().filter(name=self.name, token=self.token).first() is not None

    def resign(self) -> None:
        """Give the lead up at once."""
        Lease.objects.filter(name=self.name, token=self.token).update(until=None, token=None)


def this_process() -> str:
    """Return a name of this process that only processes beside it understand."""
    return f"{_processes()}:{os.getpid()}"


def _processes() -> str:
    """Return what tells this set of process ids from all others: the machine since it was started, and the name space of ids; "" if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()}:{boot}:{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _is_gone(holder: str) -> bool:
    """Whether a holder is a process that we would see if it lived, and do not see."""
    where, _, pid = holder.rpartition(":")
    return bool(where) and where == _processes() and pid.isdigit() and not Path(f"/proc/{pid}").exists()
