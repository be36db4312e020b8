"""The cluster as watch saw it last: machines, what holds their slots, what waits, and what the cluster serves.

Everybody who is signed in sees how full it is; whose jobs they are only those learn who may see the jobs.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from jobs.builders.resources import Amounts, add
from jobs.models import MirrorObject, TrainJob, WatchState
from jobs.queries.listing import COLUMNS
from jobs.state import phases
from runtimes.spec.quantities import QuantityError, parse
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects
from trainui.cluster import kinds
from trainui.cluster.kinds import Kind

READY, CORDONED, NOT_READY, SILENT = "ready", "cordoned", "not ready", "silent"
WAITING_PHASES = (phases.CREATING, phases.QUEUED, phases.WAITING, phases.PREEMPTED)
WAITING_SHOWN = 50
MACHINES_SHOWN = 200
# What each kind is for, and whether trainui can do without it.
_KINDS: tuple[tuple[Kind, str, bool], ...] = (
    (kinds.TRAIN_JOB, "Jobs, as Kubeflow Trainer defines them", True),
    (kinds.CLUSTER_TRAINING_RUNTIME, "Runtimes for every project", True),
    (kinds.TRAINING_RUNTIME, "Runtimes of one project", True),
    (kinds.JOB_SET, "What a job becomes", True),
    (kinds.JOB, "What a JobSet becomes", True),
    (kinds.POD, "Nodes of jobs", True),
    (kinds.NODE, "Machines", True),
    (kinds.EVENT, "What the cluster says about jobs", True),
    (kinds.POD_GROUP, "Gangs, by Kubernetes’ own scheduler", False),
    (kinds.COSCHEDULING_POD_GROUP, "Gangs, by scheduler-plugins", False),
    (kinds.VOLCANO_POD_GROUP, "Gangs, by Volcano", False),
)


@dataclass(frozen=True)
class Held:
    """What one pod holds of a machine. job, pod: None and "" for a job that the user may not see."""

    job: TrainJob | None
    pod: str
    amounts: Amounts


@dataclass(frozen=True)
class Machine:
    """One machine. reason: why it takes no pods, "" when it does. capacity: what pods may ask for."""

    name: str
    state: str
    reason: str
    since: datetime | None
    capacity: Amounts
    held: list[Held] = field(default_factory=list)

    @property
    def used(self) -> Amounts:
        """What its pods hold together."""
        return add(held.amounts for held in self.held)


@dataclass(frozen=True)
class Served:
    """Whether a kind is there. problem: why not, "" when it is. alive_at: when the watch of it was last heard."""

    kind: Kind
    purpose: str
    needed: bool
    served: bool
    problem: str
    alive_at: datetime | None


@dataclass(frozen=True)
class Cluster:
    """Everything that the page shows. hidden: machines beyond those that are shown. others: waiting jobs that the user may not see."""

    machines: list[Machine]
    hidden: int
    waiting: list[TrainJob]
    more_waiting: int
    others: int
    served: list[Served]


def cluster_of(user: User) -> Cluster:
    """Return the cluster as one user may see it."""
    machines, hidden = _machines(user)
    waiting, more, others = _waiting(user)
    return Cluster(machines, hidden, waiting, more, others, served_kinds())


def served_kinds() -> list[Served]:
    """Return which kinds the cluster serves, as watch found out."""
    rows = {row.kind: row for row in WatchState.objects.all()}
    found = []
    for kind, purpose, needed in _KINDS:
        row = rows.get(kind.key)
        served = row is not None and row.listed_at is not None and not row.problem
        problem = row.problem if row else "not looked for yet"
        found.append(Served(kind, purpose, needed, served, "" if served else problem, row.alive_at if row else None))
    return found


def machine_of(name: str, raw: Mapping[str, Any], held: Iterable[Held] = ()) -> Machine:
    """Return a machine from its Node (`spec`, `status`). Pure."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    ready: Mapping[str, Any] = next((c for c in status.get("conditions") or [] if c.get("type") == "Ready"), {})
    since = _time(ready.get("lastTransitionTime"))
    state, reason = READY, ""
    if ready.get("status") == "Unknown" or not ready:
        state, reason = SILENT, str(ready.get("message") or "Nothing was heard of it yet.")
    elif ready.get("status") != "True":
        state, reason = NOT_READY, str(ready.get("message") or ready.get("reason") or "")
    elif spec.get("unschedulable"):
        state, reason, since = CORDONED, "It takes no new pods; those that run stay.", None
    return Machine(name, state, reason, since, amounts_of(status.get("allocatable") or {}), list(held))


def amounts_of(texts: Mapping[str, Any]) -> Amounts:
    """Return quantities by name; what is none is left out. Pure."""
    found: Amounts = {}
    for name, text in texts.items():
        try:
            found[name] = parse(text)
        except QuantityError:
            continue
    return found


def total(amounts: Iterable[Amounts], name: str) -> Decimal:
    """Return the sum of one resource."""
    return sum((amount.get(name, Decimal(0)) for amount in amounts), Decimal(0))


def _machines(user: User) -> tuple[list[Machine], int]:
    nodes = MirrorObject.objects.filter(kind=kinds.NODE.key).order_by("name")
    rows = nodes.values_list("name", "raw__spec", "raw__status__conditions", "raw__status__allocatable")
    shown = list(rows[:MACHINES_SHOWN])
    held = _held(user, [row[0] for row in shown])
    machines = []
    for name, spec, conditions, allocatable in shown:
        raw = {"spec": spec, "status": {"conditions": conditions, "allocatable": allocatable}}
        machines.append(machine_of(name, raw, held.get(name, [])))
    return machines, max(nodes.count() - MACHINES_SHOWN, 0)


def _held(user: User, machines: list[str]) -> dict[str, list[Held]]:
    """What pods hold of these machines, by machine; jobs in the order in which they began."""
    pods = MirrorObject.objects.filter(machine__in=machines).exclude(machine="")
    rows = list(pods.values_list("job_id", "name", "machine", "holds"))
    jobs = {job.pk: job for job in _visible(user, TrainJob.objects.filter(pk__in={row[0] for row in rows}))}
    found: dict[str, list[Held]] = {}
    for job_id, name, machine, holds in sorted(rows, key=lambda row: _order(jobs.get(row[0]), row[0], row[1])):
        job = jobs.get(job_id)
        found.setdefault(machine, []).append(Held(job, name if job else "", amounts_of(holds)))
    return found


def _order(job: TrainJob | None, job_id: uuid.UUID | None, pod: str) -> tuple[bool, str, str, str]:
    return (job is None, job.created_at.isoformat() if job else "", str(job_id), pod)


def _waiting(user: User) -> tuple[list[TrainJob], int, int]:
    jobs = TrainJob.objects.filter(phase__in=WAITING_PHASES)
    mine = _visible(user, jobs)
    shown = list(mine.order_by("created_at", "pk")[:WAITING_SHOWN])
    number = mine.count()
    return shown, number - len(shown), jobs.count() - number


def _visible(user: User, jobs: QuerySet[TrainJob]) -> QuerySet[TrainJob]:
    if not user.is_superuser:
        jobs = jobs.filter(project_id__in=list(visible_projects(user).values_list("pk", flat=True)))
    return jobs.select_related("project", "owner").only(*COLUMNS)


def is_local() -> bool:
    """Return whether it is the embedded cluster of one machine."""
    return not settings.POD_DNS


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
