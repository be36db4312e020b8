"""What changed, in order: the bounded history that watches start from, and the live feed after it."""

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from trainui.localcluster.errors import gone
from trainui.localcluster.resources import KINDS, Obj

KEPT_CHANGES = 2000
KEPT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """One write: ADDED, MODIFIED or DELETED, the object after it (for DELETED the last state) and before it."""

    version: int
    type: str
    kind: str
    obj: Obj
    raw: bytes
    previous: Obj | None


class _Log:
    """The last changes of one kind; `floor` is the newest version that was forgotten."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.items: deque[Change] = deque()
        self.size = 0

    def append(self, change: Change) -> None:
        self.items.append(change)
        self.size += len(change.raw)
        while len(self.items) > KEPT_CHANGES or (self.size > KEPT_BYTES and len(self.items) > 1):
            forgotten = self.items.popleft()
            self.size -= len(forgotten.raw)
            self.floor = forgotten.version

    def after(self, version: int) -> list[Change]:
        if version < self.floor:
            raise gone(f"too old resource version: {version} ({self.floor})")
        found: list[Change] = []
        for change in reversed(self.items):
            if change.version <= version:
                break
            found.append(change)
        found.reverse()
        return found


class Subscription:
    """An ordered feed of changes. Iterate it, or `take()` what is there; `close()` it when done.

    With a `limit` a reader that falls behind by more than so many changes loses the feed: the next `take()` raises ApiError 410.
    """

    def __init__(self, feed: "Feed", kind: str | None, backlog: Iterable[Change], limit: int | None) -> None:
        self._feed = feed
        self.kind = kind
        self._queue: deque[Change] = deque(backlog)
        self._limit = limit
        self._overrun = False
        self._wake = asyncio.Event()
        if self._queue:
            self._wake.set()

    def push(self, change: Change) -> None:
        """Add a change; called by the feed only."""
        if self._limit is not None and len(self._queue) >= self._limit:
            self._overrun = True
            self._queue.clear()
        if not self._overrun:
            self._queue.append(change)
        self._wake.set()

    def take(self) -> list[Change]:
        """Return all changes that are there, without waiting. Raises ApiError 410 when some were lost."""
        if self._overrun:
            raise gone("the watch fell too far behind; list again")
        found = list(self._queue)
        self._queue.clear()
        self._wake.clear()
        return found

    async def wait(self) -> None:
        """Return when there is something to take, or someone calls `wake`."""
        await self._wake.wait()

    def wake(self) -> None:
        """Let a `wait` return although there is nothing to take."""
        self._wake.set()

    def close(self) -> None:
        """End the feed; nothing is queued any more."""
        self._feed.remove(self)

    async def __aiter__(self) -> AsyncIterator[tuple[str, Obj]]:
        try:
            while True:
                await self.wait()
                for change in self.take():
                    yield change.type, change.obj
        finally:
            self.close()


class Feed:
    """Histories by kind and the open subscriptions."""

    def __init__(self, version: int) -> None:
        self._logs = {name: _Log(version) for name in KINDS}
        self._open: set[Subscription] = set()

    def publish(self, changes: Iterable[Change]) -> None:
        """Remember changes and hand them to every subscription that wants them."""
        for change in changes:
            self._logs[change.kind].append(change)
            for subscription in self._open:
                if subscription.kind is None or subscription.kind == change.kind:
                    subscription.push(change)

    def subscribe(
        self, kind: str | None, since: int | None, initial: Iterable[Change] = (), limit: int | None = None
    ) -> Subscription:
        """Return a feed of what follows version `since` (None: of what comes from now on), `initial` first.

        Raises ApiError 410 when the history does not reach back to `since`.
        """
        missed: Iterable[Change] = ()
        if since is not None:
            logs = [self._logs[kind]] if kind else list(self._logs.values())
            missed = heapq.merge(*(log.after(since) for log in logs), key=attrgetter("version"))
        subscription = Subscription(self, kind, chain(initial, missed), limit)
        self._open.add(subscription)
        return subscription

    def wake(self) -> None:
        """Wake every subscription, so that readers look whether they shall end."""
        for subscription in self._open:
            subscription.wake()

    def remove(self, subscription: Subscription) -> None:
        """Forget a subscription."""
        self._open.discard(subscription)
