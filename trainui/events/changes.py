"""Writing changes to the stream. Nothing depends on delivery: pages show rows, and the stream only says which to fetch again."""

import logging
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
import redis
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)
STREAM = "trainui:changes"
MAX_ENTRIES = 20_000


@dataclass(frozen=True)
class Change:
    """Something that open pages may want to fetch again.

    name: event name in the browser (`job-changed`, `log-appended`, `metrics-changed`, `events-changed`, `runtime-changed`,
        `cluster-changed`).
    project: id of the project whose members may know; "" means everybody who is signed in.
    subject: id of the job or runtime.
    """

    name: str
    project: str
    subject: str
    data: dict[str, Any] = field(default_factory=dict)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=2)


def publish(*changes: Change) -> None:
    """Ring the stream now. A broker that is down costs a log line, never the caller's work."""
    try:
        pipe = _client().pipeline(transaction=False)
        for change in changes:
            fields: Any = {
                "name": change.name,
                "project": change.project,
                "subject": change.subject,
                "data": orjson.dumps(change.data),
            }
            pipe.xadd(STREAM, fields, maxlen=MAX_ENTRIES, approximate=True)
        pipe.execute()
    except redis.RedisError as error:
        log.warning("could not publish %d change(s): %s", len(changes), error)


def publish_on_commit(*changes: Change) -> None:
    """Ring the stream once the current transaction is committed."""
    transaction.on_commit(lambda: publish(*changes))
