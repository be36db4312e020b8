"""Starts the shim of a container, adopts one that runs already, and reads how it ended."""

import contextlib
import json
import os
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainui.localcluster.agent.folders import PodFolder, isolated_python, read_json
from trainui.localcluster.agent.model import Process
from trainui.localcluster.agent.plan import Launch
from trainui.localcluster.agent.processes import identify, is_alive


@dataclass(frozen=True)
class Started:
    """A shim that runs an attempt: since when (RFC 3339), and whether it said that its program could not start."""

    process: Process
    started_at: str
    failed: bool = False


_children: dict[int, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()


def start(
    folder: PodFolder, container: str, restarts: int, launch: Launch, tag: str, log_max_bytes: int
) -> Started | None:
    """Run one attempt under a new shim, or return the shim that runs it already.

    Returns None when the shim broke before it had claimed the attempt. Raises OSError when no process can be made.
    """
    orders = {
        "argv": list(launch.argv),
        "env": dict(launch.env),
        "cwd": launch.cwd,
        "tag": tag,
        "maxBytes": log_max_bytes,
        **{part: str(folder.file(container, restarts, part)) for part in ("log", "exit", "pid")},
    }
    name, _, value = tag.partition("=")
    with open(folder.root / container / "_shim.err", "ab") as errors:
        child = subprocess.Popen(
            isolated_python("shim.py"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={name: value, "PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    with _lock:
        _children[child.pid] = child
    process = identify(child.pid)
    said = _converse(child, json.dumps(orders).encode())
    if said:
        return Started(process, "" if said == "failed" else said, said == "failed")
    await_end(process)  # it broke, or another shim has claimed the attempt
    return claimed(folder, container, restarts)


def _converse(child: subprocess.Popen[bytes], orders: bytes) -> str:
    """Hand over the orders and return the shim's one line; '' when it ended without a word."""
    stdin, stdout = child.stdin, child.stdout
    if stdin is None or stdout is None:
        raise AssertionError("the shim is started with pipes")
    try:
        stdin.write(orders)
        stdin.close()
        return stdout.readline().decode().strip()
    except OSError:
        return ""
    finally:
        stdout.close()


def claimed(folder: PodFolder, container: str, restarts: int) -> Started | None:
    """Return the shim that has claimed an attempt, alive or not; None when none has."""
    record = read_json(folder.file(container, restarts, "pid"))
    if record is None:
        return None
    return Started(Process(int(record["pid"]), str(record["start"])), str(record.get("claimedAt") or ""))


def exit_record(path: Path) -> dict[str, Any] | None:
    """Return what the shim wrote as its last act, or None."""
    return read_json(path)


def collect(process: Process) -> bool:
    """Collect a shim that has ended; return whether it has."""
    ended = not is_alive(process)  # first: one that ends between the two looks is collected the next time, not never
    with _lock:
        child = _children.get(process.pid)
        if child is not None and child.poll() is not None:
            del _children[process.pid]
    return ended


def await_end(process: Process, seconds: float = 5.0) -> None:
    """Wait for a shim of ours that is about to end, and collect it."""
    with _lock:
        child = _children.get(process.pid)
    if child is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        collect(process)
