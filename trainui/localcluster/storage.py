"""The file behind the store: one SQLite database in WAL mode, written before a write is answered."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, written REAL NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_FORMAT = 1


class Storage:
    """Objects as JSON text by kind, namespace and name, and the last resourceVersion.

    A process that is killed loses nothing; a power cut may lose the last moments, never the file.
    """

    def __init__(self, path: Path | str) -> None:
        """Open or create the database. Raises sqlite3.Error, or ValueError for a file of another format."""
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("PRAGMA journal_size_limit=27103364")
        self._db.executescript(_SCHEMA)
        found = self._meta("format")
        if found is None:
            self._db.execute("INSERT INTO meta VALUES ('format', ?)", (_FORMAT,))
        elif found != _FORMAT:
            raise ValueError(f"{path} has format {found}, this program reads {_FORMAT}")

    def _meta(self, key: str) -> int | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def version(self) -> int:
        """Return the resourceVersion of the last committed write, 0 for an empty database."""
        return self._meta("version") or 0

    def load(self) -> Iterator[tuple[str, str, str, float, bytes]]:
        """Yield every object: kind, namespace, name, time of the last write, JSON."""
        yield from self._db.execute("SELECT kind, namespace, name, written, body FROM objects ORDER BY 1, 2, 3")

    def begin(self) -> None:
        """Start a transaction."""
        self._db.execute("BEGIN IMMEDIATE")

    def put(self, kind: str, namespace: str, name: str, written: float, body: bytes) -> None:
        """Write one object inside the transaction."""
        self._db.execute(
            "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", (kind, namespace, name, written, body)
        )

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Remove one object inside the transaction."""
        self._db.execute("DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?", (kind, namespace, name))

    def commit(self, version: int) -> None:
        """End the transaction; `version` is the last resourceVersion in it."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('version', ?)", (version,))
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Give the transaction up."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file."""
        self._db.close()
