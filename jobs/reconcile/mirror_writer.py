"""Writes one batch of seen objects: mirror rows, kept events, TrainJobs made elsewhere, runtimes of the catalog; says which jobs are concerned."""

import logging
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import timezone

from jobs.models import JobEvent, MirrorObject, TrainJob
from jobs.reconcile.adopt import row_of_trainjob
from jobs.reconcile.marks import JOB_SET_NAME
from jobs.reconcile.masking import mask
from runtimes.mirror import forget_runtimes, save_runtime
from trainui.cluster import kinds
from trainui.cluster.client import Object
from trainui.cluster.kinds import Kind
from trainui.events.changes import Change

log = logging.getLogger(__name__)
RUNTIME_KINDS = (kinds.CLUSTER_TRAINING_RUNTIME, kinds.TRAINING_RUNTIME)
UNPLACED_LIMIT = 5_000
Seen = tuple[Kind, str, list[Object]]


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

    def write(self, batch: list[Seen]) -> Result:
        """Write a batch; runs inside the caller's transaction."""
        result = Result()
        for kind, type, objects in batch:
            if kind == kinds.EVENT:
                self._events(objects, result)
            elif kind in RUNTIME_KINDS:
                self._runtimes(kind, type, objects, result)
            else:
                self._objects(kind, type, objects, result)
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

    def _objects(self, kind: Kind, type: str, objects: list[Object], result: Result) -> None:
        rows = {(r.namespace, r.name): r for r in self._rows(kind, type, objects)}
        if type == "REPLACE":
            present = {_place(o) for o in objects}
            for place, row in rows.items():
                if place not in present:
                    self._gone(kind, row, result)
        for obj in objects:
            known = rows.get(_place(obj))
            if type == "DELETED":
                if known is not None and known.uid == obj["metadata"]["uid"]:
                    self._gone(kind, known, result)
            elif (
                known is None
                or known.uid != obj["metadata"]["uid"]
                or known.resource_version != obj["metadata"]["resourceVersion"]
            ):
                self._save(kind, obj, result)

    def _rows(self, kind: Kind, type: str, objects: list[Object]) -> list[MirrorObject]:
        rows = MirrorObject.objects.filter(kind=kind.key).only(
            "id", "namespace", "name", "uid", "resource_version", "job_id"
        )
        if type != "REPLACE":
            wanted = Q()
            for obj in objects:
                namespace, name = _place(obj)
                wanted |= Q(namespace=namespace, name=name)
            rows = rows.filter(wanted)
        return list(rows)

    def _save(self, kind: Kind, obj: Object, result: Result) -> None:
        namespace, name = _place(obj)
        job_id = self._job_of(kind, obj)
        if job_id is None and kind != kinds.NODE:
            return
        metadata = dict(obj["metadata"])
        metadata.pop("managedFields", None)  # as large as the object and read by nobody
        raw = mask(obj) | {"metadata": metadata}
        values = {
            "uid": metadata["uid"],
            "resource_version": metadata["resourceVersion"],
            "raw": raw,
            "job_id": job_id,
            "seen_at": timezone.now(),
        }
        MirrorObject.objects.update_or_create(kind=kind.key, namespace=namespace, name=name, defaults=values)
        self._concern(kind, job_id, result)
        for event in self.unplaced.pop(metadata["uid"], []):
            self._keep_event(event, job_id, result)

    def _gone(self, kind: Kind, row: MirrorObject, result: Result) -> None:
        self._concern(kind, row.job_id, result)
        MirrorObject.objects.filter(pk=row.pk).delete()

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
                return TrainJob.objects.filter(uid=owner["uid"]).values_list("pk", flat=True).first()
        jobset = (metadata.get("labels") or {}).get(JOB_SET_NAME)
        if jobset is None:
            return None
        owned = MirrorObject.objects.filter(
            kind=kinds.JOB_SET.key, namespace=metadata.get("namespace", ""), name=jobset
        )
        by_jobset = owned.values_list("job_id", flat=True).first()
        return (
            by_jobset
            or TrainJob.objects.filter(namespace=metadata.get("namespace", ""), name=jobset, live=True)
            .values_list("pk", flat=True)
            .first()
        )

    def _events(self, objects: list[Object], result: Result) -> None:
        for event in objects:
            target = event.get("involvedObject") or event.get("regarding") or {}
            uid = target.get("uid")
            if not uid:
                continue
            job_id = self._job_of_uid(uid)
            if job_id is None:
                self.unplaced.setdefault(uid, []).append(event)
                while len(self.unplaced) > UNPLACED_LIMIT:
                    self.unplaced.popitem(last=False)
            else:
                self._keep_event(event, job_id, result)

    def _job_of_uid(self, uid: str) -> uuid.UUID | None:
        found = MirrorObject.objects.filter(uid=uid).values_list("job_id", flat=True).first()
        return found or TrainJob.objects.filter(uid=uid).values_list("pk", flat=True).first()

    def _keep_event(self, event: Object, job_id: uuid.UUID | None, result: Result) -> None:
        if job_id is None:
            return
        target = event.get("involvedObject") or event.get("regarding") or {}
        first = _when(
            event.get("firstTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp")
        )
        last = _when(event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime")) or first
        values: dict[str, Any] = {
            "job_id": job_id,
            "type": event.get("type", "Normal")[:10],
            "reason": event.get("reason", "")[:128],
            "message": event.get("message") or event.get("note") or "",
            "object_kind": target.get("kind", "")[:63],
            "object_name": target.get("name", "")[:253],
            "object_uid": target.get("uid", ""),
            "source": ((event.get("source") or {}).get("component") or event.get("reportingComponent") or "")[:128],
            "count": event.get("count") or (event.get("series") or {}).get("count") or 1,
            "first_at": first or timezone.now(),
            "last_at": last or timezone.now(),
            "raw": {k: v for k, v in event.items() if k != "metadata"}
            | {"metadata": {"name": event["metadata"]["name"]}},
        }
        JobEvent.objects.update_or_create(uid=event["metadata"]["uid"], defaults=values)
        result.due.add(job_id)
        result.events.add(job_id)


def _place(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
