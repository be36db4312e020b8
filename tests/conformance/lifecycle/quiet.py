"""Knows when nothing happens any more: nothing changes in the cluster, watch has seen all of it, and no job is due or being worked at."""

import sqlite3
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from tests.conformance.lifecycle.api import Json
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.kinds import Kind
from trainui.cluster.reflector import Reflector

WATCHED = (kinds.TRAIN_JOB, kinds.JOB_SET, kinds.JOB, kinds.POD, kinds.POD_GROUP, kinds.CONFIG_MAP, kinds.SECRET)
MIRRORED = (kinds.TRAIN_JOB, kinds.JOB_SET, kinds.JOB, kinds.POD)
QUIET_SECONDS = 0.7
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 90.0
DUE = "SELECT COUNT(*) FROM jobs_trainjob WHERE namespace = ? AND (due_at <= ? OR lease_until > ?)"
MIRROR = "SELECT kind, name, resource_version FROM jobs_mirrorobject WHERE namespace = ?"
Place = tuple[str, str]


class Calm:
    """Follows the cluster and the database of an instance."""

    def __init__(self, cluster: Cluster, database: Path) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._versions: dict[str, dict[Place, str]] = defaultdict(dict)  # namespace -> kind and name -> version
        self._changed: dict[str, float] = {}
        self._stop = threading.Event()
        for kind in WATCHED:
            reflector = Reflector(cluster, kind, self, self._stop)
            threading.Thread(target=reflector.run, name=f"calm {kind.kind}", daemon=True).start()

    def stop(self) -> None:
        """Let the threads end at their next event."""
        self._stop.set()

    def wait(self, namespace: str) -> None:
        """Return once a namespace has been quiet. Raises AssertionError when it never is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with sqlite3.connect(f"file:{self._database}?mode=ro", uri=True, timeout=30) as database:
            while busy := self._busy(namespace, database):
                if time.monotonic() > deadline:
                    raise AssertionError(f"{namespace} was not quiet within {PATIENCE_SECONDS:.0f} s: {busy}")
                time.sleep(POLL_SECONDS)

    def _busy(self, namespace: str, database: sqlite3.Connection) -> str:
        """Return what still happens, or an empty text."""
        with self._lock:
            since = time.monotonic() - self._changed.get(namespace, 0.0)
            seen = {place: v for place, v in self._versions[namespace].items() if place[0] in _KEYS}
        if since < QUIET_SECONDS:
            return f"an object changed {since:.1f} s ago"
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(" ")
        if database.execute(DUE, (namespace, now, now)).fetchone()[0]:
            return "its job is due"
        rows = database.execute(MIRROR, (namespace,)).fetchall()
        mirror = {(kind, name): version for kind, name, version in rows if kind in _KEYS}
        return (
            "" if mirror == seen else f"watch has not seen all of it: {sorted(set(seen.items()) ^ set(mirror.items()))}"
        )

    # The sink of the reflectors

    def replace(self, kind: Kind, items: list[Json], resource_version: str) -> None:
        """Take everything there is of a kind."""
        with self._lock:
            for versions in self._versions.values():
                for place in [p for p in versions if p[0] == kind.key]:
                    del versions[place]
        for obj in items:
            self.event(kind, "ADDED", obj)

    def event(self, kind: Kind, type: str, obj: Json) -> None:
        """Take one change."""
        metadata = obj["metadata"]
        with self._lock:
            versions, place = self._versions[metadata.get("namespace", "")], (kind.key, metadata["name"])
            self._changed[metadata.get("namespace", "")] = time.monotonic()
            if type == "DELETED":
                versions.pop(place, None)
            else:
                versions[place] = metadata["resourceVersion"]

    def alive(self, kind: Kind, problem: str = "") -> None:
        """Ignore signs of life: what is missing shows in the mirror."""


_KEYS = {kind.key for kind in MIRRORED}
