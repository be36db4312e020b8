"""One follower for each container that has started, whether or not anyone looks; survives restarts of its process.

Nothing is kept but the archives themselves: after a restart each follower goes on from its archive's last stamp.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from jobs.logs.archive import Archive, ArchiveBusy, folder_name, read_meta
from jobs.logs.capture import State, capture
from jobs.logs.progress import MetricParser, Sample
from jobs.logs.splitter import Piece

log = logging.getLogger(__name__)

NOTIFY_SECONDS = 0.1
DISK_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class Container:
    """One attempt of one container of a pod of a job. attempt: its restart count."""

    job_id: str
    namespace: str
    pod: str
    pod_uid: str
    name: str
    attempt: int

    @property
    def folder(self) -> str:
        """Where its archive is, below the folder of logs."""
        return f"{self.job_id}/{folder_name(self.pod, self.name, self.attempt)}"


@dataclass(frozen=True, slots=True)
class LogProgress:
    """How much of a log is archived. Stamps are nanoseconds, 0 for an empty log."""

    bytes: int
    lines: int
    first_stamp: int
    last_stamp: int
    truncated: bool


class OpenLog(Protocol):
    """`Cluster.logs`: the bytes of a container's log behind time stamps, raising ClusterError."""

    def __call__(
        self, namespace: str, pod: str, container: str, since_time: str | None, *, previous: bool
    ) -> Iterator[bytes]:
        """Open it; `previous` asks for the attempt before the present one."""


class Listener(Protocol):
    """Who is told. Calls come from threads of ours; an exception is logged and changes nothing."""

    def progress(self, container: Container, progress: LogProgress) -> None:
        """A log has grown; at most every 100 ms per container."""

    def samples(self, container: Container, samples: list[Sample]) -> None:
        """Metrics were printed."""

    def finished(self, container: Container, progress: LogProgress, reason: str) -> None:
        """A log is complete (`ended`, `replaced`, `gone`)."""


def containers_of(job_id: str, pods: Iterable[Mapping[str, Any]]) -> dict[Container, State]:
    """Return the containers of Pod objects that have started, with the state of each attempt that can be read now."""
    found: dict[Container, State] = {}
    for pod in pods:
        meta, status = pod["metadata"], pod.get("status") or {}
        for entry in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
            state, last = entry.get("state") or {}, entry.get("lastState") or {}
            if "running" in state:
                now: State = "running"
            elif "terminated" in state or "terminated" in last:
                now = "ended"
            else:
                continue
            attempt = int(entry.get("restartCount") or 0)
            container = Container(
                job_id, meta.get("namespace", ""), meta["name"], meta.get("uid", ""), entry["name"], attempt
            )
            found[container] = now
            if attempt and "terminated" in last and "waiting" not in state:
                found[replace(container, attempt=attempt - 1)] = "previous"
    return found


class Captures:
    """Starts and keeps the followers. Use `update` for every change of a job's pods; all methods may be called from any thread."""

    def __init__(
        self,
        logs_dir: Path,
        open_log: OpenLog,
        listener: Listener,
        max_bytes: int,
    ) -> None:
        """open_log: `Cluster.logs`. max_bytes: largest archive of one container."""
        self._logs_dir = logs_dir
        self._open_log = open_log
        self._listener = listener
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._states: dict[Container, State] = {}
        self._followers: dict[Container, _Follower] = {}
        self._done: set[Container] = set()
        self._settled: set[str] = set()
        self._dirty: set[_Follower] = set()
        self._changed = threading.Event()
        self._notifier = threading.Thread(target=self._notify, name="log-notify", daemon=True)
        self._notifier.start()

    def update(self, job_id: str, pods: Iterable[Mapping[str, Any]]) -> None:
        """Take all pods of a job as watch knows them now; an empty list says that they are gone."""
        states = containers_of(job_id, pods)
        latest = {(c.pod, c.name): c.attempt for c in states}
        with self._lock:
            for known in [c for c in self._states if c.job_id == job_id and c not in states]:
                attempt = latest.get((known.pod, known.name), -1)
                self._states[known] = "replaced" if attempt > known.attempt else "gone"
            self._states.update(states)
            if self._stop.is_set():
                return
            for container in states:
                if container not in self._followers and container not in self._done:
                    self._start(container)
            first_time = job_id not in self._settled
            self._settled.add(job_id)
        if first_time:
            self._complete_left_over(job_id, {container.folder for container in states})

    def forget(self, job_id: str) -> None:
        """Stop following a job whose record is being deleted; its folder may then be removed."""
        with self._lock:
            followers = [follower for container, follower in self._followers.items() if container.job_id == job_id]
            for follower in followers:
                follower.stop.set()
            self._states = {c: state for c, state in self._states.items() if c.job_id != job_id}
            self._done = {c for c in self._done if c.job_id != job_id}
            self._settled.discard(job_id)

    def active(self) -> list[Container]:
        """Return the containers that are being followed."""
        with self._lock:
            return list(self._followers)

    def stop(self, seconds: float = 5.0) -> None:
        """Stop all followers; one that waits for bytes ends with its process, its archive is whole at any time."""
        self._stop.set()
        self._changed.set()
        with self._lock:
            threads = [follower.thread for follower in self._followers.values()]
            for follower in self._followers.values():
                follower.stop.set()
        until = time.monotonic() + seconds
        for thread in [*threads, self._notifier]:
            thread.join(max(0.0, until - time.monotonic()))

    def _start(self, container: Container) -> None:
        follower = self._followers[container] = _Follower(self, container)
        follower.thread.start()

    def _complete_left_over(self, job_id: str, followed: set[str]) -> None:
        """Close the archives of pods that went away while no process of ours ran."""
        for folder in sorted((self._logs_dir / job_id).glob("*--*--*")):
            if f"{job_id}/{folder.name}" in followed or read_meta(folder).get("complete"):
                continue
            try:
                archive = Archive(folder)
            except (ArchiveBusy, OSError) as error:
                log.warning("%s cannot be closed: %s", folder.name, error)
                continue
            archive.note("nobody followed this log to its end: the last lines may be missing")
            archive.complete("gone")
            archive.close()

    def _notify(self) -> None:
        while not self._stop.is_set():
            self._changed.wait()
            self._changed.clear()
            with self._lock:
                dirty, self._dirty = self._dirty, set()
            for follower in dirty:
                self.tell(self._listener.progress, follower.container, follower.progress)
            self._stop.wait(NOTIFY_SECONDS)

    # for followers

    def tell(self, call: Callable[..., None], *arguments: Any) -> None:
        """Tell the listener something; what it raises is its own affair."""
        try:
            call(*arguments)
        except Exception:
            log.exception("%s failed", getattr(call, "__name__", call))

    def state_of(self, container: Container) -> State:
        """Return the state of a container as `update` gave it last."""
        with self._lock:
            return self._states.get(container, "gone")

    def mark(self, follower: "_Follower") -> None:
        """Note that a log has grown."""
        with self._lock:
            self._dirty.add(follower)
        self._changed.set()

    def ended(self, follower: "_Follower", reason: str) -> None:
        """Note that a follower is over; `reason` is "" when it was told to stop."""
        container = follower.container
        with self._lock:
            self._followers.pop(container, None)
            self._dirty.discard(follower)
            if reason:
                self._done.add(container)
        if reason:
            self.tell(self._listener.finished, container, follower.progress, reason)

    def archive_of(self, container: Container) -> Archive:
        """Open the archive of a container. Raises ArchiveBusy, OSError."""
        return Archive(self._logs_dir / container.folder, self._max_bytes)

    def stream_of(self, container: Container, since: str | None) -> Iterator[bytes]:
        """Open the log of a container."""
        previous = self.state_of(container) == "previous"
        return self._open_log(container.namespace, container.pod, container.name, since, previous=previous)

    def found(self, container: Container, samples: list[Sample]) -> None:
        """Pass samples on."""
        self.tell(self._listener.samples, container, samples)


class _Follower:
    """The thread of one container; a full disk or an archive that another process still holds makes it wait and open again."""

    def __init__(self, captures: Captures, container: Container) -> None:
        self.container = container
        self.stop = threading.Event()
        self.progress = LogProgress(0, 0, 0, 0, False)
        self._captures = captures
        self._metrics = MetricParser()
        self.thread = threading.Thread(target=self._run, name=f"log-{container.pod}", daemon=True)

    def _run(self) -> None:
        reason = ""
        while not self.stop.is_set():
            try:
                reason = self._follow()
                break
            except (ArchiveBusy, OSError) as error:
                log.warning("%s: the log cannot be archived now: %s", self.container.folder, error)
                self.stop.wait(DISK_PAUSE)
            except Exception:
                log.exception("%s: following failed", self.container.folder)
                self.stop.wait(DISK_PAUSE)
        if samples := self._metrics.flush():
            self._captures.found(self.container, samples)
        self._captures.ended(self, reason)

    def _follow(self) -> str:
        container, captures = self.container, self._captures
        archive = captures.archive_of(container)
        try:
            self._take_stock(archive)
            if archive.completed:
                return str(read_meta(archive.folder).get("reason") or "ended")
            return capture(
                lambda since: captures.stream_of(container, since),
                archive,
                time.monotonic,
                self.stop,
                lambda: captures.state_of(container),
                lambda pieces: self._archived(archive, pieces),
            )
        finally:
            self._take_stock(archive)
            archive.close()

    def _archived(self, archive: Archive, pieces: list[Piece]) -> None:
        self._take_stock(archive)
        samples: list[Sample] = []
        for piece in pieces:
            samples += self._metrics.part(piece.data, piece.stamp, piece.first, piece.last)
        if samples:
            self._captures.found(self.container, samples)
        self._captures.mark(self)

    def _take_stock(self, archive: Archive) -> None:
        self.progress = LogProgress(
            archive.bytes, archive.lines, archive.first_stamp, archive.last_stamp, archive.truncated
        )
