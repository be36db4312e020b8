"""How the database is used: SQLite in one file, or PostgreSQL through a pool of connections."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dj_database_url
from django.db import connections

# IMMEDIATE: a transaction that reads and then writes would otherwise fail with "database is locked" whatever the time-out.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 30,
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;PRAGMA journal_size_limit=27103364;",
}
# Of each process; the worker has 16 threads, and those of the watch give their connection back after each write. While the server is away
# the pool tries for as long as somebody waits: later tries would come ever more seldom.
POOL = {"min_size": 1, "max_size": 32, "timeout": 10, "reconnect_timeout": 10}
CONNECT_SECONDS = 5


def configuration(url: str) -> dict[str, Any]:
    """Return Django's settings of the database at a DATABASE_URL. Raises ValueError, which may repeat the URL."""
    config: dict[str, Any] = dict(dj_database_url.parse(url))
    if config["ENGINE"] == "django.db.backends.sqlite3":
        return config | {"OPTIONS": SQLITE_OPTIONS, "CONN_MAX_AGE": None}
    if config["ENGINE"] != "django.db.backends.postgresql":
        raise ValueError("neither SQLite nor PostgreSQL")
    asked = config.get("OPTIONS", {})  # ?sslmode=... of the URL
    options = {"connect_timeout": CONNECT_SECONDS} | asked | {"pool": POOL}
    return config | {"ENGINE": "trainui.postgresql", "OPTIONS": options, "CONN_MAX_AGE": 0}


@contextmanager
def borrowed_connection() -> Iterator[None]:
    """Give this thread's connection back at the end: a pool knows nothing of threads that end or wait with one in hand.

    Inside a transaction it stays with whoever began that.
    """
    _give_back()
    try:
        yield
    finally:
        _give_back()


def _give_back() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


def release_connections() -> None:
    """Close this thread's connections: what waits for something else must hold none. Inside a transaction they stay."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
