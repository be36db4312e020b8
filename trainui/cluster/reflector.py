"""Lists and then watches one kind for ever, and never loses an object.

Guarantees: each object that exists is handed over at least once; each that went is handed over as deleted, also when the watch missed it
(found by comparing at every relist); versions are opaque and never go back; a server that is away or closes at once is asked again with
growing pauses (kubespawner#577: reconnect storms).
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from trainui.cluster.client import Object
from trainui.cluster.errors import ClusterError, Gone, NotFound
from trainui.cluster.kinds import Kind

log = logging.getLogger(__name__)
RELIST_SECONDS = 600.0
SHORT_WATCH_SECONDS = 5.0
MAX_PAUSE_SECONDS = 15.0


class Source(Protocol):
    """What a reflector needs of a client."""

    def list(self, kind: Kind) -> tuple[list[Object], str]: ...
    def watch(self, kind: Kind, resource_version: str) -> Iterator[Object]: ...


class Sink(Protocol):
    """Who is told. Calls come from one thread; an exception makes the reflector list again, so nothing is lost."""

    def replace(self, kind: Kind, items: list[Object], resource_version: str) -> None:
        """These are all objects now; what is not among them is gone."""

    def event(self, kind: Kind, type: str, obj: Object) -> None:
        """One object was ADDED, MODIFIED or DELETED."""

    def alive(self, kind: Kind, problem: str = "") -> None:
        """The watch is open (`problem` empty) or cannot be."""


@dataclass
class Reflector:
    """Keeps one Sink informed of one kind until `stop` is set."""

    source: Source
    kind: Kind
    sink: Sink
    stop: threading.Event
    clock: Callable[[], float] = time.monotonic
    failures: int = field(default=0, init=False)

    def run(self) -> None:
        """List, watch and start over, until stopped."""
        while not self.stop.is_set():
            try:
                self._once()
            except NotFound as error:
                self._trouble(f"the cluster has no {self.kind.plural} ({error.message})")
            except ClusterError as error:
                self._trouble(str(error))
            except Exception:  # the sink failed (database away): list again, so that nothing is missed
                log.exception("mirroring %s failed, listing again", self.kind.plural)
                self._trouble("writing the mirror failed")

    def _once(self) -> None:
        items, version = self.source.list(self.kind)
        self.sink.replace(self.kind, items, version)
        listed = self.clock()
        while not self.stop.is_set() and self.clock() - listed < RELIST_SECONDS:
            self.sink.alive(self.kind)
            opened = self.clock()
            try:
                version = self._follow(version)
            except Gone:
                return
            if self.clock() - opened < SHORT_WATCH_SECONDS:
                self._pause()
            else:
                self.failures = 0

    def _follow(self, version: str) -> str:
        for event in self.source.watch(self.kind, version):
            obj = event["object"]
            version = obj["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                self.sink.alive(self.kind)
            else:
                self.failures = 0
                self.sink.event(self.kind, event["type"], obj)
            if self.stop.is_set():
                break
        return version

    def _trouble(self, problem: str) -> None:
        if self.failures == 0:
            log.warning("watch of %s: %s", self.kind.plural, problem)
        try:
            self.sink.alive(self.kind, problem)
        except Exception:
            log.exception("cannot record the trouble with %s", self.kind.plural)
        self._pause()

    def _pause(self) -> None:
        self.failures += 1
        self.stop.wait(min(MAX_PAUSE_SECONDS, 0.2 * 2 ** min(self.failures, 8)) * random.uniform(0.5, 1.0))  # noqa: S311  jitter
