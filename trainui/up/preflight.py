"""What can be wrong before anything starts; each ends the start with one line that says what to do."""

import fcntl
import os
import shutil
import socket
from pathlib import Path
from typing import IO

from trainui.up.config import Config

NEEDED_BYTES = 500 << 20


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
            raise CannotStart(
                f"port {config.port} of {config.host} is in use ({error.strerror}). Choose another: TRAINUI_PORT={config.port + 1} make up"
            ) from None


def start_over(data: Path) -> None:
    """Remove all local data (FRESH=1); the caller holds no lock on it yet."""
    shutil.rmtree(data, ignore_errors=True)
