"""What can be wrong before anything starts; each ends the start with one line that says what to do."""

import errno
import fcntl
import os
import shutil
import socket
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import psutil

from trainui.localcluster.agent.config import ConfigurationError, check_job_env, read_environment
from trainui.localcluster.agent.machines import MachineError, parse_machines
from trainui.up.config import Config

NEEDED_BYTES = 500 << 20
# Everything that a data folder of ours may hold; a folder with anything else is not removed.
OURS = {
    "artifacts",
    "bootstrapped",
    "cluster",
    "logs",
    "run",
    "secret-key",
    "trainui.sqlite3",
    "trainui.sqlite3-shm",
    "trainui.sqlite3-wal",
}


class CannotStart(SystemExit):
    """Ends the process with one line."""

    def __init__(self, line: str) -> None:
        super().__init__(f"trainui: {line}")


def check_disk(config: Config) -> None:
    """Pass when the data folder can be written and has room."""
    try:
        config.run.mkdir(parents=True, exist_ok=True)
        probe = config.run / "probe"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise CannotStart(
            f"the data folder {config.data} cannot be written ({error.strerror}). Free space, or name another: TRAINUI_DATA_DIR=/path make up"
        ) from None
    free = shutil.disk_usage(config.data).free
    if free < NEEDED_BYTES:
        raise CannotStart(
            f"{free >> 20} MB are free at {config.data}; {NEEDED_BYTES >> 20} MB are needed. Free space, or name another folder: TRAINUI_DATA_DIR=/path make up"
        )


def take_lock(config: Config) -> IO[str]:
    """Return the lock of the data folder, held until the process ends. Raises CannotStart when another instance has it."""
    path = config.run / "lock"
    file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  held on purpose
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        raise CannotStart(
            f"it already runs on this data folder ({holder}). Use that one, or stop it with Ctrl-C there, "
            f"or start a second one: TRAINUI_DATA_DIR=/other TRAINUI_PORT={config.port + 1} make up"
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}, {config.url}")
    file.flush()
    return file


def check_local_cluster(config: Config) -> None:
    """Pass when the machines, the environment of jobs and the agent's settings can be used: its own start would fail where nobody looks."""
    try:
        parse_machines(config.machines, os.cpu_count() or 1, psutil.virtual_memory().total)
        read_environment(os.environ)
        check_job_env(config.job_env)
    except (MachineError, ConfigurationError) as error:
        raise CannotStart(str(error).replace("--job-env", "TRAINUI_JOB_ENV")) from None


def check_broker(config: Config) -> None:
    """Pass when the broker that REDIS_URL names answers; the embedded one is started later."""
    if config.embedded_broker:
        return
    import redis  # only who brings a broker waits for this import

    place = _without_password(config.redis_url)
    try:
        with redis.Redis.from_url(config.redis_url, socket_connect_timeout=3, socket_timeout=3) as client:
            client.ping()
    except ValueError:
        raise CannotStart(
            f"REDIS_URL: {place} is no address of a broker. Use redis://host:6379/0, rediss:// or unix:///path, or unset it for the embedded one"
        ) from None
    except (redis.RedisError, OSError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CannotStart(
            f"REDIS_URL: the broker at {place} does not answer ({said}). Start it, correct the address, or unset it for the embedded one"
        ) from None


def _without_password(url: str) -> str:
    """Return an address that may be printed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "what it says"
    scheme = f"{parts.scheme}://" if parts.scheme else ""
    return f"{scheme}{host}{f':{port}' if port else ''}{parts.path}"


def check_port(config: Config) -> None:
    """Pass when the address can be listened on."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((config.host, config.port))
        except PermissionError:
            raise CannotStart(
                f"port {config.port} needs root. Choose one above 1023: TRAINUI_PORT=8000 make up"
            ) from None
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotStart(
                    f"TRAINUI_HOST: {config.host} is no address of this machine ({error.strerror}). Use 127.0.0.1 or 0.0.0.0"
                ) from None
            raise CannotStart(
                f"port {config.port} of {config.host} is in use ({error.strerror}). Choose another: TRAINUI_PORT={config.port + 1} make up"
            ) from None


def start_over(data: Path) -> None:
    """Remove all local data (FRESH=1). Raises CannotStart for a folder that is not one of ours, and when something cannot be removed."""
    strangers = sorted(path.name for path in data.iterdir() if path.name not in OURS)
    if strangers:
        raise CannotStart(
            f"FRESH=1 would remove {data}, which holds more than trainui's data ({', '.join(strangers[:3])}). "
            "Remove what is yours, or name another folder: TRAINUI_DATA_DIR=/path"
        )
    try:
        shutil.rmtree(data)
    except OSError as error:
        raise CannotStart(
            f"FRESH=1: {error.filename or data} cannot be removed ({error.strerror}). Remove it by hand."
        ) from None
