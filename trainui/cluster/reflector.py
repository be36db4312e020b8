"""Lists and then watches one kind for ever, and never loses an object.

Guarantees: each object that exists is handed over at least once; each that went is handed over as deleted, also when the watch missed it
(found by comparing at every relist: kptdev/porch#1101); versions are opaque and never go back (kubernetes-client/python#700); a server
that is away, or closes at once, with or without a word, is asked again with growing pauses (kubespawner#577: reconnect storms).
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from trainui.cluster.client import Object
from trainui.cluster.errors import ClusterError, Gone, Idle, NotFound, Unavailable
from trainui.cluster.kinds import Kind

log = logging.getLogger(__name__)
RELIST_SECONDS = 300.0
EARLY_SECONDS = 30.0  # a watch that ends sooner was cut
FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 15.0
LONGEST_ASKED_SECONDS = 60.0  # of a server that asks to come back later
MAX_PAUSE_WITH_EVENTS_SECONDS = 2.0  # something on the way cuts every connection, but the changes come


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
    relist_seconds: float = RELIST_SECONDS
    failures: int = field(default=0, init=False)  # in a row: of calls, and of watches that ended early
    version: str = field(default="", init=False)  # the newest that was handed over
    events: int = field(default=0, init=False)  # of the present watch
    problem: str = field(default="", init=False)
    served: Kind = field(init=False)  # the kind in the version that the cluster serves

    def __post_init__(self) -> None:
        """Begin with the newest version."""
        self.served = self.kind

    def run(self) -> None:
        """List, watch and start over, until stopped."""
        while not self.stop.is_set():
            try:
                self._once()
            except NotFound as error:
                self._trouble(f"the cluster has no {self.kind.plural} ({error.message})")
            except ClusterError as error:
                self._trouble(str(error), error.retry_after)
            except Exception:  # the sink failed (database away): list again, so that nothing is missed
                log.exception("mirroring %s failed, listing again", self.kind.plural)
                self._trouble("writing the mirror failed")

    def _once(self) -> None:
        """List, and watch from there until it is time to compare, or the watch cannot be taken up where it was."""
        items, self.version = self._list()
        self.sink.replace(self.served, items, self.version)
        if self.problem:
            log.info("watch of %s: works again", self.kind.plural)
            self.problem = ""
        listed = self.clock()
        while not self.stop.is_set() and self.clock() - listed < self.relist_seconds:
            self.sink.alive(self.kind)
            opened, self.events, early = self.clock(), 0, True
            try:
                self._follow()
                early = self.clock() - opened < EARLY_SECONDS
            except Gone:  # at once after a long watch; a list for each of many refusals would be a storm
                if self.clock() - opened < EARLY_SECONDS:
                    self._pause_after_early_end()
                return
            except Idle:  # nothing was said for long: it may be over, or there was nothing to say
                early = False
            except Unavailable:
                if not self.events:  # not the stream broke but the server is away: afterwards it may be another
                    raise
            if early:
                self._pause_after_early_end()
            else:
                self.failures = 0

    def _list(self) -> tuple[list[Object], str]:
        """List the newest version that the cluster serves. Raises NotFound about the newest of all when it serves none."""
        missing: NotFound | None = None
        for kind in self.kind.shapes:
            try:
                listed = self.source.list(kind)
            except NotFound as error:
                missing = missing or error
            else:
                self.served = kind
                return listed
        assert missing is not None
        raise missing

    def _follow(self) -> None:
        for event in self.source.watch(self.served, self.version):
            if event["type"] == "BOOKMARK":
                self.sink.alive(self.kind)
            else:
                self.sink.event(self.served, event["type"], event["object"])
            self.version = event["object"]["metadata"]["resourceVersion"]
            self.events += 1
            if self.stop.is_set():
                break

    def _trouble(self, problem: str, retry_after: float | None = None) -> None:
        if problem != self.problem:
            log.warning("watch of %s: %s", self.kind.plural, problem)
        self.problem = problem
        try:
            self.sink.alive(self.kind, problem)
        except Exception:
            log.exception("cannot record the trouble with %s", self.kind.plural)
        self._pause(MAX_PAUSE_SECONDS, min(retry_after or 0.0, LONGEST_ASKED_SECONDS))

    def _pause_after_early_end(self) -> None:
        self._pause(MAX_PAUSE_WITH_EVENTS_SECONDS if self.events else MAX_PAUSE_SECONDS)

    def _pause(self, longest: float, least: float = 0.0) -> None:
        seconds = min(longest, FIRST_PAUSE_SECONDS * 2 ** min(self.failures, 10))
        self.failures += 1
        self.stop.wait(max(least, seconds * random.uniform(0.5, 1.0)))  # noqa: S311  jitter, no secret
