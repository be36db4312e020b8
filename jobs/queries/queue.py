"""Queues as the database knows them: who waits in which order, who holds what, how much of each quota is used.

Everybody who is signed in sees how long a queue is; whose jobs stand in it only those learn who may see the jobs.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jobs.models import MirrorObject, TrainJob
from jobs.queries.cluster import amounts_of, is_local
from jobs.queries.listing import COLUMNS
from jobs.reconcile.quotas import CLUSTER_QUEUE, RESOURCE_QUOTA
from jobs.state import phases
from jobs.state.explain import explain
from jobs.state.queue import KUEUE, LOCAL, SCHEDULER, Place, Waits, places
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects

WAITING = (phases.CREATING, phases.QUEUED, phases.WAITING, phases.PREEMPTED)
HOLDING = (phases.STARTING, phases.INITIALIZING, phases.RUNNING, phases.DEGRADED, phases.RESTARTING, phases.SUSPENDING)
SHOWN = 100
OTHERS = "queues of other projects"
LOCAL_NAME = "This computer"
_COLUMNS = (
    "pk",
    "namespace",
    "phase",
    "created_at",
    "detail__expected__demand",
    "detail__state__place",
    "detail__state__counts",
)


@dataclass(frozen=True)
class Line:
    """One job in a queue, or on the machines (place None). job: None for one that the user may not see."""

    job: TrainJob | None
    place: Place | None
    pods: int
    accelerators: int
    priority: int


@dataclass(frozen=True)
class Queue:
    """One queue. lines_hidden: what waits beyond what is shown; holders: the jobs that came through it and hold machines."""

    kind: str
    name: str
    waiting: list[Line]
    waiting_hidden: int
    holders: list[Line]
    holders_hidden: int
    accelerators_waiting: int
    accelerators_held: int
    approximate: bool


@dataclass(frozen=True)
class Use:
    """How much of one amount of a quota is used; both are quantities as text. percent: None where there is no limit to speak of."""

    name: str
    used: str
    limit: str
    percent: int | None


@dataclass(frozen=True)
class Quota:
    """One quota: of a project's namespace, or a ClusterQueue. problem: why it admits nothing, "" when it does."""

    kind: str
    name: str
    where: str
    uses: list[Use]
    problem: str
    pending: int | None = None


@dataclass(frozen=True)
class Queues:
    """Everything that the page shows."""

    queues: list[Queue]
    quotas: list[Quota]


@dataclass(frozen=True)
class _Entry:
    """One row of the narrow query, with the queue that it stands in."""

    id: uuid.UUID
    holds: bool
    waits: Waits


def queues_of(user: User) -> Queues:
    """Return the queues and quotas as one user may see them."""
    entries = _entries((*WAITING, *HOLDING))
    where = places(entry.waits for entry in entries if not entry.holds)
    namespaces = {project.namespace: project.name for project in visible_projects(user)}
    jobs = _jobs(user, [entry.id for entry in entries])
    grouped: dict[tuple[str, str], list[_Entry]] = {}
    for entry in entries:
        kind, name = entry.waits.kind, entry.waits.queue
        shown = OTHERS if kind == KUEUE and name.partition("/")[0] not in namespaces else name
        grouped.setdefault((kind, shown), []).append(entry)
    queues = [_queue(kind, name, found, where, jobs) for (kind, name), found in sorted(grouped.items())]
    return Queues(queues, _quotas(namespaces))


def place_of(job: TrainJob) -> Place | None:
    """Return where a job stands in its queue; None for one that does not wait."""
    if job.phase not in WAITING:
        return None
    return places(entry.waits for entry in _entries(WAITING)).get(str(job.pk))


def resource_quota(name: str, project: str, raw: Mapping[str, Any]) -> Quota:
    """Return what is used of a ResourceQuota. Pure."""
    status = raw.get("status") or {}
    hard, used = status.get("hard") or (raw.get("spec") or {}).get("hard") or {}, status.get("used") or {}
    uses = [_use(resource, str(used.get(resource, "0")), str(limit)) for resource, limit in sorted(hard.items())]
    return Quota("ResourceQuota", name, project, uses, "")


def cluster_queue(name: str, raw: Mapping[str, Any]) -> Quota:
    """Return what is used of a ClusterQueue, flavor by flavor: `nvidia.com/gpu (h100)`. Pure."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    used = {
        (flavor.get("name"), resource.get("name")): str(resource.get("total", "0"))
        for flavor in status.get("flavorsUsage") or []
        for resource in flavor.get("resources") or []
    }
    uses = [
        _use(f"{resource['name']} ({flavor['name']})", used.get((flavor["name"], resource["name"]), "0"), str(resource["nominalQuota"]))
        for group in spec.get("resourceGroups") or []
        for flavor in group.get("flavors") or []
        for resource in flavor.get("resources") or []
    ]  # fmt: skip
    active: Mapping[str, Any] = next((c for c in status.get("conditions") or [] if c.get("type") == "Active"), {})
    problem = ""
    if active.get("status") == "False":
        problem = explain("clusterqueue Active=False", str(active.get("reason")), str(active.get("message"))).sentence
    return Quota("ClusterQueue", name, str(spec.get("cohortName") or ""), uses, problem, status.get("pendingWorkloads"))


def _entries(wanted: Iterable[str]) -> list[_Entry]:
    rows = TrainJob.objects.filter(phase__in=list(wanted)).values_list(*_COLUMNS)
    return [_entry(*row) for row in rows]


def _entry(pk: uuid.UUID, namespace: str, phase: str, created_at: Any, demand: Any, place: Any, counts: Any) -> _Entry:
    demand, place = demand or {}, place or {}
    kind, name = _queue_of(demand.get("queue") or {}, namespace)
    number = place.get("number") if kind == KUEUE else None
    started = bool((counts or {}).get("placed"))
    waits = Waits(
        id=str(pk),
        kind=kind,
        queue=name,
        priority=int(place.get("priority") or demand.get("priority") or 0),
        since=created_at.isoformat(),
        pods=int(demand.get("pods") or 0),
        accelerators=int(demand.get("accelerators") or 0),
        started=started,
        number=number,
    )
    return _Entry(pk, phase in HOLDING, waits)


def _queue_of(queue: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    kind, name = str(queue.get("kind") or SCHEDULER), str(queue.get("name") or "default-scheduler")
    if is_local() and kind != KUEUE:
        return LOCAL, LOCAL_NAME
    return (KUEUE, f"{namespace}/{name}") if kind == KUEUE else (kind, name)


def _jobs(user: User, ids: list[uuid.UUID]) -> dict[uuid.UUID, TrainJob]:
    """Those of some jobs that the user may see."""
    jobs = TrainJob.objects.filter(phase__in=[*WAITING, *HOLDING])
    if not user.is_superuser:
        jobs = jobs.filter(project_id__in=list(visible_projects(user).values_list("pk", flat=True)))
    wanted = set(ids)
    return {job.pk: job for job in jobs.select_related("project", "owner").only(*COLUMNS) if job.pk in wanted}


def _quotas(namespaces: Mapping[str, str]) -> list[Quota]:
    """The quotas of the user's projects, and the ClusterQueues of Kueue."""
    rows = MirrorObject.objects.filter(kind=RESOURCE_QUOTA.key, namespace__in=list(namespaces))
    found = [resource_quota(row.name, namespaces[row.namespace], row.raw) for row in rows.order_by("namespace", "name")]
    shared = MirrorObject.objects.filter(kind=CLUSTER_QUEUE.key).order_by("name")
    return found + [cluster_queue(row.name, row.raw) for row in shared]


def _queue(
    kind: str, name: str, entries: list[_Entry], where: Mapping[str, Place], jobs: Mapping[uuid.UUID, TrainJob]
) -> Queue:
    waiting = sorted((e for e in entries if not e.holds), key=lambda e: where[str(e.id)].position)
    holders = sorted(
        (e for e in entries if e.holds), key=lambda e: (-e.waits.accelerators, -e.waits.pods, e.waits.since, e.waits.id)
    )
    lines = [_line(entry, where.get(str(entry.id)), jobs) for entry in waiting]
    return Queue(
        kind,
        name,
        lines[:SHOWN],
        max(len(lines) - SHOWN, 0),
        [_line(entry, None, jobs) for entry in holders[:SHOWN]],
        max(len(holders) - SHOWN, 0),
        sum(entry.waits.accelerators for entry in waiting),
        sum(entry.waits.accelerators for entry in holders),
        any(line.place is not None and line.place.approximate for line in lines),
    )


def _line(entry: _Entry, place: Place | None, jobs: Mapping[uuid.UUID, TrainJob]) -> Line:
    waits = entry.waits
    return Line(jobs.get(entry.id), place, waits.pods, waits.accelerators, waits.priority)


def _use(name: str, used: str, limit: str) -> Use:
    amounts = amounts_of({"used": used, "limit": limit})
    most = amounts.get("limit")
    percent = round(min(100 * amounts["used"] / most, Decimal(100))) if most and "used" in amounts else None
    return Use(name, used, limit, percent)
