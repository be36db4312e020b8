"""One reader of the stream per process; every open event stream is a `Subscriber` of it."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import redis.asyncio as redis
from django.conf import settings

from trainui.events.changes import STREAM

log = logging.getLogger(__name__)
BLOCK_MS = 5_000
QUEUE_LIMIT = 1_000
EMPTY = "0-0"  # before the first entry


@dataclass(frozen=True)
class Entry:
    """One change as read from the stream; `data` is JSON text."""

    id: str
    name: str
    project: str
    subject: str
    data: str


@dataclass(eq=False)
class Subscriber:
    """What one open page may see and wants to hear of.

    projects: ids the user may see, None for all. topics: `*` for every subject, else ids of jobs and runtimes.
    """

    projects: frozenset[str] | None
    topics: frozenset[str]
    queue: asyncio.Queue[Entry | None] = field(default_factory=lambda: asyncio.Queue(QUEUE_LIMIT))

    def wants(self, entry: Entry) -> bool:
        """Whether this entry may be seen and is asked for. Log lines go only to those who name the job."""
        if entry.project and self.projects is not None and entry.project not in self.projects:
            return False
        return entry.subject in self.topics or ("*" in self.topics and entry.name != "log-appended")


def _entry(raw_id: bytes, fields: dict[bytes, bytes]) -> Entry:
    text = {k.decode(): v.decode() for k, v in fields.items()}
    return Entry(
        raw_id.decode(), text.get("name", ""), text.get("project", ""), text.get("subject", ""), text.get("data", "{}")
    )


class Hub:
    """Reads the stream while anybody listens and hands each entry to those who want it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.subscribers: set[Subscriber] = set()
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._client: Any = None
        self.last_id = "$"

    def client(self) -> Any:  # the stubs of redis-py leave bytes, text and None open
        """Return the process's connection to the stream."""
        if self._client is None:
            self._client = redis.Redis.from_url(self.url, socket_timeout=BLOCK_MS / 1000 + 5, socket_connect_timeout=2)
        return self._client

    @contextlib.asynccontextmanager
    async def subscribe(self, subscriber: Subscriber) -> AsyncIterator[Subscriber]:
        """Keep `subscriber` informed until the block is left."""
        self.subscribers.add(subscriber)
        try:
            async with self._starting:  # or two that come together would start two readers
                if self._task is None or self._task.done():
                    self.last_id = await self.newest_id()
                    self._task = asyncio.create_task(self._read())
            yield subscriber
        finally:
            self.subscribers.discard(subscriber)
            if not self.subscribers and self._task is not None:
                self._task.cancel()
                self._task = None

    async def newest_id(self) -> str:
        """Return the id of the newest entry, "0-0" for an empty stream or a broker that is down."""
        with contextlib.suppress(redis.RedisError):
            newest = await self.client().xrevrange(STREAM, count=1)
            return newest[0][0].decode() if newest else EMPTY
        return EMPTY

    async def since(self, last_id: str) -> list[Entry] | None:
        """Return the entries after `last_id`, or None when the stream no longer reaches back to it, or too many came since."""
        try:
            oldest = await self.client().xrange(STREAM, count=1)
            reaches = _key(oldest[0][0].decode()) if oldest else (2**64, 0)
            if _key(last_id) < reaches and last_id != EMPTY:
                return None
            missed = await self.client().xrange(STREAM, min=f"({last_id}", count=QUEUE_LIMIT + 1)
            return [_entry(*item) for item in missed] if len(missed) <= QUEUE_LIMIT else None
        except redis.RedisError:
            return None

    async def _read(self) -> None:
        delay = 0.1
        while True:
            try:
                answer = await self.client().xread({STREAM: self.last_id}, count=500, block=BLOCK_MS)
                delay = 0.1
                for _, items in answer:
                    for item in items:
                        entry = _entry(*item)
                        self.last_id = entry.id
                        self._hand_out(entry)
            except redis.RedisError as error:
                log.warning("event stream: broker does not answer (%s), trying again in %.1f s", error, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, 5.0)

    def _hand_out(self, entry: Entry) -> None:
        for subscriber in self.subscribers:
            if subscriber.wants(entry):
                try:
                    subscriber.queue.put_nowait(entry)
                except asyncio.QueueFull:  # a browser that does not read: it is told to fetch everything again
                    while not subscriber.queue.empty():
                        subscriber.queue.get_nowait()
                    subscriber.queue.put_nowait(None)


def _key(entry_id: str) -> tuple[int, int]:
    """Order of stream ids `<milliseconds>-<sequence>`; (0, 0) for what is no id."""
    head, _, tail = entry_id.partition("-")
    try:
        return int(head), int(tail or 0)
    except ValueError:
        return 0, 0


hub = Hub(settings.REDIS_URL)
