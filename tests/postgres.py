"""Debian's PostgreSQL server for one test run: in a folder of its own, on a unix socket only, gone when the run is gone.

The first test that asks starts it; all processes of a run share it, each with databases of its own. A guard process beside it holds a
pidfd of the run's main process, so that server and folder also go when pytest is killed. Standard library only: the guard runs this file.
"""

import contextlib
import ctypes
import fcntl
import glob
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USER = "trainui"
START_SECONDS = 60.0
BINARIES = "/usr/lib/postgresql/*/bin"  # where Debian puts what no user is to call
SERVER_USERS = ("postgres", "nobody")  # the server refuses to run as root
PR_SET_PDEATHSIG = 1
# A linguistic collation, as most servers have: it orders unlike SQLite and unlike Python.
CLUSTER = ("--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US")
SERVER = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",  # nothing outside of the folder
    "log_min_messages": "fatal",
}


class Missing(Exception):
    """There is no PostgreSQL server on this machine."""


def shared() -> "Server":
    """Return the server of this test run, started if it is not there. Raises Missing with one line that says what to install."""
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    server = Server(Path(tempfile.gettempdir()) / f"trainui-postgres-{os.getuid()}-{owner}")
    binary("postgres")
    server.folder.mkdir(mode=0o755, exist_ok=True)
    with open(server.folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not server.answers():
            server.start(owner)
    return server


def binary(name: str) -> str:
    """Return the path of a program of PostgreSQL, the newest version first. Raises Missing."""
    folders = sorted(glob.glob(BINARIES), key=lambda folder: float(folder.split("/")[-2]), reverse=True)
    found = next((path for folder in folders if (path := shutil.which(name, path=folder))), shutil.which(name))
    if found is None:
        raise Missing("no PostgreSQL server is installed (Debian: apt install postgresql)")
    return found


class Server:
    """A server that keeps everything in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, name: str) -> str:
        """Return the DATABASE_URL of one of its databases."""
        return f"postgres://{USER}@{str(self.folder).replace('/', '%2F')}/{name}"

    def answers(self) -> bool:
        """Whether it can be used now."""
        asked = [binary("pg_isready"), "-q", "-h", str(self.folder), "-U", USER, "-d", "postgres"]
        return (self.folder / ".s.PGSQL.5432").exists() and subprocess.run(asked, check=False).returncode == 0

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement and return its answer as text."""
        asked = [binary("psql"), "-XAtq", "-h", str(self.folder), "-U", USER, "-d", database, "-c", statement]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def create(self, name: str) -> str:
        """Make an empty database and return its DATABASE_URL."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def start(self, owner: int) -> None:
        """Start it and its guard, which ends it when the process `owner` ends. Raises AssertionError with its log."""
        with open(self.folder / "guard.log", "wb") as output:
            guard = subprocess.Popen(
                [sys.executable, "-S", __file__, str(self.folder), str(owner)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for pytest, which still drops databases then
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if guard.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"PostgreSQL did not start:\n{(self.folder / 'guard.log').read_text()}")
            time.sleep(0.05)


def guard(folder: Path, owner: int) -> None:
    """Run a server until `owner` ends or the server does; then remove its folder."""
    ends = [os.pidfd_open(owner)]
    user = _server_user()
    data = folder / "data"
    with contextlib.ExitStack() as undone:
        undone.callback(shutil.rmtree, folder, ignore_errors=True)
        if user:
            shutil.chown(folder, user)
        as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        subprocess.run(
            [binary("initdb"), "-D", data, "-U", USER, *CLUSTER], check=True, stdout=subprocess.DEVNULL, **as_user
        )
        options = [part for name, value in SERVER.items() for part in ("-c", f"{name}={value}")]
        server = subprocess.Popen(
            [binary("postgres"), "-D", data, "-k", folder, *options],
            preexec_fn=_end_with_parent,
            start_new_session=True,
            **as_user,
        )
        undone.callback(server.wait)
        undone.callback(server.send_signal, signal.SIGQUIT)  # at once: nobody needs its data
        select.select([*ends, os.pidfd_open(server.pid)], [], [])


def _server_user() -> str | None:
    """Return whom the server runs as; None as ourselves."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in SERVER_USERS if name in known)


def _end_with_parent() -> None:
    """Have the kernel end the server when its guard is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


if __name__ == "__main__":
    guard(Path(sys.argv[1]), int(sys.argv[2]))
