"""Writes one batch of seen objects: mirror rows, kept events, TrainJobs made elsewhere, runtimes of the catalog; says which jobs are concerned."""

import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from jobs.builders.resources import as_quantities, pod_requests
from jobs.models import JobEvent, MirrorObject, TrainJob
from jobs.reconcile.adopt import row_of_trainjob
from jobs.reconcile.kube_events import COMPONENT
from jobs.reconcile.marks import JOB_SET_NAME
from jobs.reconcile.masking import mask
from runtimes.mirror import forget_runtimes, save_runtime
from runtimes.spec.quantities import QuantityError
from trainui.cluster import kinds
from trainui.cluster.client import Object
from trainui.cluster.kinds import Kind
from trainui.events.changes import Change

log = logging.getLogger(__name__)
RUNTIME_KINDS = (kinds.CLUSTER_TRAINING_RUNTIME, kinds.TRAINING_RUNTIME)
UNPLACED_LIMIT = 5_000
_OVER = ("Succeeded", "Failed")
FIRST = (kinds.TRAIN_JOB, kinds.JOB_SET, kinds.JOB)  # owners before what they own, whose job is found by them
CHUNK = 200
EVENT_COLUMNS = [
    "job", "type", "reason", "message", "object_kind", "object_name", "object_uid", "source", "count", "first_at", "last_at", "raw",
]  # fmt: skip
Seen = tuple[Kind, str, list[Object]]
Place = tuple[str, str]


@dataclass
class Result:
    """What a batch concerns."""

    due: set[uuid.UUID] = field(default_factory=set)
    pods: set[uuid.UUID] = field(default_factory=set)
    events: set[uuid.UUID] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    runtimes: bool = False
    cluster: bool = False  # machines, or what they hold


class MirrorWriter:
    """Keeps no state but events whose object the mirror does not know yet."""

    def __init__(self) -> None:
        self.unplaced: OrderedDict[str, list[Object]] = OrderedDict()  # object uid -> events
        self._kept: dict[str, JobEvent] = {}  # of the present batch, by uid
        self._jobs: dict[tuple[str, ...], uuid.UUID | None] = {}  # what was looked up for the present batch

    def write(self, batch: list[Seen]) -> Result:
        """Write a batch; runs inside the caller's transaction. Kinds are independent of each other, and each keeps its order."""
        result = Result()
        self._kept, self._jobs = {}, {}
        for kind, entries in _by_kind(batch):
            if kind == kinds.EVENT:
                self._events([obj for _, objects in entries for obj in objects], result)
            elif kind in RUNTIME_KINDS:
                for type, objects in entries:
                    self._runtimes(kind, type, objects, result)
            else:
                self._objects(kind, entries, result)
        self._write_events()
        if result.due:
            now = timezone.now()
            TrainJob.objects.filter(pk__in=result.due).update(due_at=now, observed_at=now)
        if result.cluster:
            result.changes.append(Change("cluster-changed", "", "cluster"))
        for job_id, project_id in TrainJob.objects.filter(pk__in=result.events).values_list("pk", "project_id"):
            result.changes.append(Change("events-changed", str(project_id), str(job_id)))
        return result

    def _runtimes(self, kind: Kind, type: str, objects: list[Object], result: Result) -> None:
        if type == "REPLACE":
            forget_runtimes(
                kind.kind, keep={(o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects}
            )
        for obj in objects:
            save_runtime(kind.kind, obj, deleted=type == "DELETED")
        result.runtimes = True
        result.changes.append(Change("runtime-changed", "", kind.kind))

    def _objects(self, kind: Kind, entries: list[tuple[str, list[Object]]], result: Result) -> None:
        everything = any(type == "REPLACE" for type, _ in entries)
        rows = self._rows(kind, None if everything else [obj for _, objects in entries for obj in objects])
        before = dict(rows)
        fresh: dict[Place, MirrorObject] = {}
        for type, objects in entries:
            if type == "REPLACE":
                present = {_place(o) for o in objects}
                for place in [place for place in rows if place not in present]:
                    self._concern(kind, rows.pop(place).job_id, result)
                    fresh.pop(place, None)
            for obj in objects:
                place, known = _place(obj), rows.get(_place(obj))
                same = known is not None and known.uid == obj["metadata"]["uid"]
                if type == "DELETED":
                    if known is not None and same:
                        self._concern(kind, known.job_id, result)
                        rows.pop(place)
                        fresh.pop(place, None)
                elif known is None or not same or known.resource_version != obj["metadata"]["resourceVersion"]:
                    row = self._row_of(kind, obj, result)
                    if row is not None:
                        self._concern(kind, known.job_id if known else None, result)
                        rows[place] = fresh[place] = row
        self._store([row.pk for place, row in before.items() if place not in rows], fresh)
        for row in fresh.values():
            for event in self.unplaced.pop(row.uid, []):
                self._keep_event(event, row.job_id, result)

    def _rows(self, kind: Kind, objects: list[Object] | None) -> dict[Place, MirrorObject]:
        """Return the rows of some objects, of all without any, without what they hold."""
        rows = MirrorObject.objects.filter(kind=kind.key).defer("raw")
        if objects is not None:
            rows = rows.filter(name__in={obj["metadata"]["name"] for obj in objects})
        return {(row.namespace, row.name): row for row in rows}

    def _row_of(self, kind: Kind, obj: Object, result: Result) -> MirrorObject | None:
        """Return the row that an object makes; None for one that is no job's."""
        namespace, name = _place(obj)
        job_id = self._job_of(kind, obj)
        if job_id is None and kind != kinds.NODE:
            return None
        self._concern(kind, job_id, result)
        metadata = dict(obj["metadata"])
        metadata.pop("managedFields", None)  # as large as the object and read by nobody
        machine, holds = holding(obj) if kind == kinds.POD else ("", {})
        return MirrorObject(
            kind=kind.key,
            namespace=namespace,
            name=name,
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
            raw=mask(obj) | {"metadata": metadata},
            machine=machine,
            holds=holds,
            job_id=job_id,
            seen_at=timezone.now(),
        )

    def _store(self, gone: list[int], fresh: dict[Place, MirrorObject]) -> None:
        if gone:
            MirrorObject.objects.filter(pk__in=gone).delete()
        MirrorObject.objects.bulk_create(
            fresh.values(),
            batch_size=CHUNK,
            update_conflicts=True,
            unique_fields=["kind", "namespace", "name"],
            update_fields=["uid", "resource_version", "raw", "machine", "holds", "job", "seen_at"],
        )

    def _concern(self, kind: Kind, job_id: uuid.UUID | None, result: Result) -> None:
        result.cluster = result.cluster or kind in (kinds.NODE, kinds.POD)
        if job_id is None:
            return
        result.due.add(job_id)
        if kind == kinds.POD:
            result.pods.add(job_id)

    def _job_of(self, kind: Kind, obj: Object) -> uuid.UUID | None:
        """Return the job an object belongs to: by owner, or by JobSet's label; never by a name's beginning."""
        if kind == kinds.TRAIN_JOB:
            return row_of_trainjob(obj)
        metadata = obj["metadata"]
        for owner in metadata.get("ownerReferences") or []:
            if owner.get("kind") == "TrainJob":
                return self._looked_up(_job_by_uid, owner["uid"])
        jobset = (metadata.get("labels") or {}).get(JOB_SET_NAME)
        if jobset is None:
            return None
        return self._looked_up(_job_by_jobset, metadata.get("namespace", ""), jobset)

    def _looked_up(self, look_up: Callable[..., uuid.UUID | None], *names: str) -> uuid.UUID | None:
        key = (look_up.__name__, *names)
        if key not in self._jobs:
            self._jobs[key] = look_up(*names)
        return self._jobs[key]

    def _events(self, objects: list[Object], result: Result) -> None:
        for event in objects:
            target = event.get("involvedObject") or event.get("regarding") or {}
            uid = target.get("uid")
            if not uid:
                continue
            job_id = self._looked_up(_job_of_object, uid)
            if job_id is None:
                self.unplaced.setdefault(uid, []).append(event)
                while len(self.unplaced) > UNPLACED_LIMIT:
                    self.unplaced.popitem(last=False)
            else:
                self._keep_event(event, job_id, result)

    def _keep_event(self, event: Object, job_id: uuid.UUID | None, result: Result) -> None:
        if job_id is None:
            return
        target = event.get("involvedObject") or event.get("regarding") or {}
        first = _when(
            event.get("firstTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
        )
        last = _when(event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime")) or first
        self._kept[event["metadata"]["uid"]] = JobEvent(
            uid=event["metadata"]["uid"],
            job_id=job_id,
            type=event.get("type", "Normal")[:10],
            reason=event.get("reason", "")[:128],
            message=event.get("message") or event.get("note") or "",
            object_kind=target.get("kind", "")[:63],
            object_name=target.get("name", "")[:253],
            object_uid=target.get("uid", ""),
            source=_source(event)[:128],
            count=event.get("count") or (event.get("series") or {}).get("count") or 1,
            first_at=first or timezone.now(),
            last_at=last or timezone.now(),
            raw={k: v for k, v in event.items() if k != "metadata"} | {"metadata": {"name": event["metadata"]["name"]}},
        )
        # What we said ourselves is no news: in words that change each time we would say it for ever.
        if _source(event) != COMPONENT:
            result.due.add(job_id)
        result.events.add(job_id)

    def _write_events(self) -> None:
        JobEvent.objects.bulk_create(
            self._kept.values(),
            batch_size=CHUNK,
            update_conflicts=True,
            unique_fields=["uid"],
            update_fields=EVENT_COLUMNS,
        )


def _by_kind(batch: list[Seen]) -> list[tuple[Kind, list[tuple[str, list[Object]]]]]:
    """Return what was seen of each kind, owners first and events last."""
    kept: dict[Kind, list[tuple[str, list[Object]]]] = {}
    for kind, type, objects in batch:
        kept.setdefault(kind, []).append((type, objects))
    order = sorted(kept, key=lambda kind: (kind == kinds.EVENT, FIRST.index(kind) if kind in FIRST else len(FIRST)))
    return [(kind, kept[kind]) for kind in order]


def _job_by_uid(uid: str) -> uuid.UUID | None:
    return TrainJob.objects.filter(uid=uid).values_list("pk", flat=True).first()


def _job_by_jobset(namespace: str, name: str) -> uuid.UUID | None:
    owned = MirrorObject.objects.filter(kind=kinds.JOB_SET.key, namespace=namespace, name=name)
    live = TrainJob.objects.filter(namespace=namespace, name=name, live=True)
    return owned.values_list("job_id", flat=True).first() or live.values_list("pk", flat=True).first()


def _job_of_object(uid: str) -> uuid.UUID | None:
    found = MirrorObject.objects.filter(uid=uid).values_list("job_id", flat=True).first()
    return found or _job_by_uid(uid)


def holding(pod: Object) -> tuple[str, dict[str, str]]:
    """Return the machine that a pod holds something of, and what; "" and nothing when it has none or is over."""
    spec = pod.get("spec") or {}
    machine = spec.get("nodeName") or ""
    if not machine or (pod.get("status") or {}).get("phase") in _OVER:
        return "", {}
    try:
        return machine, as_quantities(pod_requests(spec))
    except QuantityError:  # no API server takes such a pod
        return machine, {}


def _place(obj: Object) -> Place:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _source(event: Object) -> str:
    return str((event.get("source") or {}).get("component") or event.get("reportingComponent") or "")


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
