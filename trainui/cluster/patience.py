"""How long a call may take in all, and which failed calls are made again: after which pause, how often.

Only what cannot happen twice is repeated: reads, applies, patches and deletes that say which object they mean. A create is repeated only
when the API server certainly did not carry it out (no connection, 429); whoever creates recognises what an earlier try left, by its
submission id, and decides.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from trainui.cluster.errors import ClusterError, Unavailable, Unconfigured

CALL_SECONDS = 20.0
MOST_TRIES = 4
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 3.0
LONGEST_ASKED_SECONDS = 10.0  # a longer Retry-After is the caller's: it comes back later
_TRANSIENT = frozenset({0, 429, 500, 502, 503, 504})  # 0: no answer

_until: ContextVar[float | None] = ContextVar("cluster_calls_end", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let all calls of the block together take at most so long; those that do not fit raise Unavailable."""
    outer, end = _until.get(), time.monotonic() + seconds
    token = _until.set(end if outer is None else min(outer, end))
    try:
        yield
    finally:
        _until.reset(token)


@dataclass
class Patience:
    """The time and the tries that one call has."""

    deadline: float
    tries: int = 0

    @classmethod
    def of_a_call(cls, seconds: float = CALL_SECONDS) -> "Patience":
        """Return what a call has that begins now."""
        end, outer = time.monotonic() + seconds, _until.get()
        return cls(end if outer is None else min(end, outer))

    def left(self) -> float:
        """Return the seconds that are left, 0 when none are."""
        return max(0.0, self.deadline - time.monotonic())

    def pause(self, error: ClusterError, idempotent: bool) -> float | None:
        """Return how long to wait before the call is made again, or None when it is not."""
        self.tries += 1
        if self.tries >= MOST_TRIES or not _may_repeat(error, idempotent):
            return None
        seconds = self._seconds(error)
        return seconds if seconds is not None and seconds < self.left() else None

    def _seconds(self, error: ClusterError) -> float | None:
        backoff: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (self.tries - 1))
        if error.retry_after is None:
            return backoff * random.uniform(0.5, 1.0)  # noqa: S311  jitter, no secret
        if error.retry_after > LONGEST_ASKED_SECONDS:
            return None
        return error.retry_after + backoff * random.uniform(0.0, 0.5)  # noqa: S311  not all at the same moment


def _may_repeat(error: ClusterError, idempotent: bool) -> bool:
    if (
        not isinstance(error, Unavailable)
        or isinstance(error, Unconfigured)
        or error.status not in _TRANSIENT
        or error.webhook
    ):
        return False
    return idempotent or not error.carried_out
