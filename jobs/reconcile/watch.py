"""Watch: what the cluster has goes into the mirror, in batches, and jobs that are concerned become due.

Reflector threads put what they see into one queue; one writer thread empties it, some hundred events or 50 ms at a time, one transaction
each. A batch that cannot be written is tried again, so nothing is lost.
"""

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db import InterfaceError, OperationalError, close_old_connections, transaction
from django.utils import timezone

from jobs.models import WatchState
from jobs.reconcile.doorbell import ring
from jobs.reconcile.mirror_writer import MirrorWriter
from runtimes.tasks import ring_runtimes
from trainui.cluster import kinds
from trainui.cluster.client import Object
from trainui.cluster.connection import connect
from trainui.cluster.kinds import Kind
from trainui.events.changes import publish

log = logging.getLogger(__name__)
WATCHED = (
    kinds.CLUSTER_TRAINING_RUNTIME,
    kinds.TRAINING_RUNTIME,
    kinds.TRAIN_JOB,
    kinds.JOB_SET,
    kinds.JOB,
    kinds.POD,
    kinds.POD_GROUP,
    kinds.COSCHEDULING_POD_GROUP,
    kinds.VOLCANO_POD_GROUP,
    kinds.CONFIG_MAP,
    kinds.SECRET,
    kinds.EVENT,
    kinds.NODE,
)
SELECTORS = {kinds.CONFIG_MAP: "trainui.dev/trainjob", kinds.SECRET: "trainui.dev/trainjob"}  # only children of ours
QUEUE_LIMIT = 10_000
BATCH = 300
GATHER_SECONDS = 0.05


@dataclass(frozen=True)
class Seen:
    """One entry of the queue: an event, or with type REPLACE everything there is."""

    kind: Kind
    type: str
    objects: list[Object]
    resource_version: str = ""
    problem: str = ""


class Selected:
    """The reflectors' source: the cluster, with a selector for kinds of which only our own objects are read."""

    def __init__(self, kubeconfig: str) -> None:
        self.kubeconfig = kubeconfig

    def list(self, kind: Kind) -> tuple[list[Object], str]:
        """List a kind."""
        return connect(self.kubeconfig).list(kind, label_selector=SELECTORS.get(kind, ""))

    def watch(self, kind: Kind, resource_version: str) -> Iterator[Object]:
        """Watch a kind."""
        return connect(self.kubeconfig).watch(kind, resource_version, label_selector=SELECTORS.get(kind, ""))


class MirrorSink:
    """The reflectors' sink: a bounded queue, so that a slow database slows the watch down instead of filling memory."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Seen] = queue.Queue(QUEUE_LIMIT)

    def replace(self, kind: Kind, items: list[Object], resource_version: str) -> None:
        """Queue everything there is of a kind: a long list first in pieces, so that no transaction keeps the database for long."""
        for at in range(0, len(items) if len(items) > BATCH else 0, BATCH):
            self.queue.put(Seen(kind, "MODIFIED", items[at : at + BATCH]))
        self.queue.put(Seen(kind, "REPLACE", items, resource_version))

    def event(self, kind: Kind, type: str, obj: Object) -> None:
        """Queue one event."""
        self.queue.put(Seen(kind, type, [obj], obj["metadata"]["resourceVersion"]))

    def alive(self, kind: Kind, problem: str = "") -> None:
        """Queue a sign of life, or what keeps the watch from living."""
        self.queue.put(Seen(kind, "ALIVE", [], problem=problem))


class Writer(threading.Thread):
    """Empties the queue into the database; the only writer of the mirror.

    pods_changed: called after each batch with the ids of jobs whose pods changed (log capture listens). leads: asked inside each
    transaction whether this process still leads: one that was paused must not write old objects over the next leader's.
    """

    def __init__(
        self,
        sink: MirrorSink,
        stop: threading.Event,
        pods_changed: Callable[[set[uuid.UUID]], None],
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(name="mirror-writer", daemon=True)
        self.sink = sink
        self.stop = stop
        self.pods_changed = pods_changed
        self.leads = leads
        self.writer = MirrorWriter()

    def run(self) -> None:
        """Write until stopped and the queue is empty."""
        while not (self.stop.is_set() and self.sink.queue.empty()):
            if batch := self._gather():
                self._bring_in(batch)

    def _bring_in(self, batch: list[Seen]) -> None:
        """Write a batch, again and again while the database is away; an object that nobody can read is left out, and the rest is written."""
        single = len(batch) == 1 and len(batch[0].objects) <= 1
        tried = False
        while True:
            try:
                self._write(batch)
                return
            except (OperationalError, InterfaceError):
                log.exception("the mirror cannot be written, trying again")
                close_old_connections()
                if self.stop.wait(1.0):
                    return
            except Exception:
                if not single:
                    log.exception("a batch cannot be written, trying its objects one by one")
                    break
                if tried:  # twice, because another process may have made the same row at the same moment
                    log.exception("left out of the mirror: %s", _named(batch[0]))
                    return
                tried = True
        for seen in batch:
            for part in _parts(seen):
                self._bring_in([part])

    def _gather(self) -> list[Seen]:
        try:
            batch = [self.sink.queue.get(timeout=0.5)]
        except queue.Empty:
            return []
        deadline, size = time.monotonic() + GATHER_SECONDS, _size(batch[0])
        while size < BATCH and (left := deadline - time.monotonic()) > 0:
            try:
                batch.append(self.sink.queue.get(timeout=left))
            except queue.Empty:
                break
            size += _size(batch[-1])
        return batch

    def _write(self, batch: list[Seen]) -> None:
        with transaction.atomic():
            if not self.leads():
                self.stop.set()
                return
            result = self.writer.write([(s.kind, s.type, s.objects) for s in batch if s.type != "ALIVE"])
            self._note_life(batch)
        for job_id in result.due:
            ring(job_id)
        if result.runtimes:
            ring_runtimes()
        publish(*result.changes)
        self.pods_changed(result.pods)

    def _note_life(self, batch: list[Seen]) -> None:
        now = timezone.now()
        newest: dict[str, dict[str, Any]] = {}
        for seen in batch:
            state = newest.setdefault(seen.kind.key, {"alive_at": now})
            state["problem"] = seen.problem[:500]
            if seen.problem:
                state.pop("alive_at", None)
            if seen.type == "REPLACE":
                state |= {
                    "listed_at": now,
                    "resource_version": seen.resource_version,
                    "version": seen.kind.version,
                }
        for key, state in newest.items():
            WatchState.objects.update_or_create(kind=key, defaults=state)


def _size(seen: Seen) -> int:
    return max(1, len(seen.objects))


def _parts(seen: Seen) -> list[Seen]:
    """Return one entry per object. A list becomes events: what it says of objects that are gone comes again with the next list."""
    if seen.type == "ALIVE" or (seen.type != "REPLACE" and len(seen.objects) <= 1):
        return [seen]
    return [replace(seen, type="MODIFIED", objects=[obj]) for obj in seen.objects]


def _named(seen: Seen) -> str:
    metadata = seen.objects[0].get("metadata", {}) if seen.objects else {}
    return f"{seen.type} {seen.kind.kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
