"""Following one container's log into its archive until it has ended, whatever happens to the connection.

Trouble with a log never says anything about the job: a broken read is resumed (apache/airflow#12136 failed tasks for it), and the pod, as watch saw
it, says whether the container has ended. A stream that closes early is opened again with growing pauses (kubespawner#577).
"""

import logging
import random
from collections.abc import Callable, Iterator
from typing import Literal, Protocol

from jobs.logs.archive import Archive
from jobs.logs.resume import Resume
from jobs.logs.splitter import Piece, Splitter
from jobs.logs.times import format_stamp
from trainui.cluster.errors import ClusterError, Invalid, NotFound

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 30.0  # a connection that lived so long was good: pauses start small again
SETTLE_SECONDS = 5.0  # after a clean end of the stream, how long watch may take to show that the container has ended
SETTLE_STEP = 0.25
_MISSING_IS_GONE = 3  # answers 404 in a row, though watch still shows the container as running

State = Literal["running", "ended", "previous", "replaced", "gone"]
"""Of one attempt of a container as watch saw it: running; ended; the one before the present attempt; replaced by later ones; its pod gone.

The log request returns the present attempt; that before it must be asked for with `previous`, older ones cannot be read any more.
"""


class Stop(Protocol):
    """What `threading.Event` offers."""

    def is_set(self) -> bool:
        """Whether to stop."""

    def wait(self, timeout: float) -> bool:
        """Wait, at most until it is set."""


def capture(
    stream_factory: Callable[[str | None], Iterator[bytes]],
    archive: Archive,
    clock: Callable[[], float],
    stop: Stop,
    state: Callable[[], State],
    on_pieces: Callable[[list[Piece]], None] = lambda pieces: None,
) -> str:
    """Follow until the container has ended and all of its log is archived; return why it is over, "" when told to stop.

    stream_factory: opens the log of this attempt from a `sinceTime` on and yields its bytes, raising ClusterError. clock: monotonic seconds. state: of the
    container. on_pieces: told of every batch that was archived, from this thread. Reasons: `ended`, `replaced` (a later attempt runs and the last
    lines of this one could not be read), `gone` (the pod is gone). Raises OSError when the archive cannot be written.
    """
    follower = _Follower(stream_factory, archive, on_pieces)
    pause, missing = FIRST_PAUSE, 0
    while not stop.is_set():
        before, begun = state(), clock()
        if before == "replaced":
            return _finish(archive, "replaced")
        outcome = follower.connection()
        if stop.is_set():
            break
        after = state()
        missing = missing + 1 if outcome == "missing" else 0
        if outcome == "eof" and (after != "running" or _settles(state, clock, stop)):
            return _finish(archive, "ended")
        if outcome in ("waiting", "missing") and (after != "running" or missing >= _MISSING_IS_GONE):
            return _finish(archive, "replaced" if after in ("previous", "replaced") else "gone")
        if clock() - begun >= STEADY_SECONDS:
            pause = FIRST_PAUSE
        stop.wait(max(follower.retry_after, pause * random.uniform(0.75, 1.25)))  # noqa: S311  jitter, no secret
        pause = min(LONGEST_PAUSE, pause * 2)
    return ""


def _settles(state: Callable[[], State], clock: Callable[[], float], stop: Stop) -> bool:
    """Whether watch shows within a few seconds that the container is no longer running."""
    until = clock() + SETTLE_SECONDS
    while clock() < until and not stop.is_set():
        stop.wait(SETTLE_STEP)
        if state() != "running":
            return True
    return False


def _finish(archive: Archive, reason: str) -> str:
    if reason == "replaced":
        archive.note(
            "the connection broke and the container was restarted: the last lines of this attempt may be missing"
        )
    elif reason == "gone":
        archive.note("the pod is gone: the last lines of this log may be missing")
    archive.complete(reason)
    return reason


class _Follower:
    def __init__(
        self,
        stream_factory: Callable[[str | None], Iterator[bytes]],
        archive: Archive,
        on_pieces: Callable[[list[Piece]], None],
    ) -> None:
        self._stream_factory = stream_factory
        self._archive = archive
        self._on_pieces = on_pieces
        self.retry_after = 0.0

    def connection(self) -> Literal["eof", "drop", "waiting", "missing"]:
        """Read one connection to its end: clean, broken, refused because the container has not started, or because there is none."""
        archive = self._archive
        self.retry_after = 0.0
        archive.drop_open()
        splitter, resume = Splitter(archive.last_stamp, cap=0), Resume(archive.position)
        stream = self._stream_factory(archive.position.since_time())
        while True:
            try:
                chunk = next(stream, None)
            except NotFound:
                return "missing"
            except Invalid:
                return "waiting"
            except ClusterError as error:
                self.retry_after = error.retry_after or 0.0
                log.info("%s: %s", archive.folder.name, error)
                return "drop"
            except Exception:
                log.exception("%s: reading the log failed", archive.folder.name)
                return "drop"
            pieces = splitter.flush() if chunk is None else splitter.feed(chunk)
            self._store(pieces, resume)
            if chunk is None:
                return "eof"

    def _store(self, pieces: list[Piece], resume: Resume) -> None:
        archive, before = self._archive, self._archive.last_stamp
        gap_known = resume.gap
        new = list(resume.filter(pieces))
        if resume.gap and not gap_known and not archive.truncated:
            since, until = format_stamp(before), format_stamp(new[-1].stamp)
            archive.note(f"the log was rotated while nobody read it: lines between {since} and {until} may be missing")
        if new:
            archive.append(new)
            self._on_pieces(new)
