"""A work queue of keys: each key once, at once or later, with back-off for those that failed."""

import asyncio
import heapq
from collections.abc import Callable, Hashable
from contextlib import suppress
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

FIRST_RETRY = 0.05
LONGEST_RETRY = 30.0
LONGEST_SLEEP = 300.0
"""Nobody sleeps longer without a look: the wall clock may have been set meanwhile."""


class WorkQueue(Generic[Key]):
    """Keys to work on, in the order they were added. For one asyncio loop and one consumer.

    A key that is added several times before its turn is handed out once. `clock` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ready: dict[Key, None] = {}
        self._later: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._serial = count()
        self._failures: dict[Key, int] = {}
        self._wake = asyncio.Event()

    def add(self, key: Key) -> None:
        """Hand the key out as soon as possible."""
        self._ready[key] = None
        self._wake.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Hand the key out after so many seconds, or sooner if that was asked for before."""
        seconds = min(seconds, LONGEST_SLEEP)
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock() + seconds
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            heapq.heappush(self._later, (due, next(self._serial), key))
            self._wake.set()

    def failed(self, key: Key) -> float:
        """Hand the key out again after a back-off that doubles with each failure in a row; return the seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        wait = min(FIRST_RETRY * 2.0 ** min(failures, 20), LONGEST_RETRY)
        self.add_after(key, wait)
        return wait

    def succeeded(self, key: Key) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    async def take(self) -> Key:
        """Return the next key, waiting for one."""
        while True:
            self._wake.clear()
            wait = self._promote()
            if self._ready:
                key = next(iter(self._ready))
                del self._ready[key]
                return key
            # Not wait_for: before Python 3.12 it can lose a cancellation that comes together with the wake-up (python/cpython#86296).
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    def _promote(self) -> float | None:
        """Move what is due to the ready keys; return the seconds until the next one is due."""
        now = self._clock()
        while self._later:
            due, _, key = self._later[0]
            if self._due.get(key) != due:
                heapq.heappop(self._later)
                continue
            if due > now:
                return due - now
            heapq.heappop(self._later)
            del self._due[key]
            self._ready[key] = None
        return None
