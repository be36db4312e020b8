"""What the whole of trainui costs while nothing happens: CPU seconds per second, with no job and with 1,000 finished ones."""

import contextlib
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

from tests.stack import Stack, wait_for

JOBS = 1_000
PARALLEL = 8
SECONDS = 60.0  # longer than any regular look of the processes
FINISH_SECONDS = 1_800.0
FINISHED = "SELECT COUNT(*) FROM jobs_trainjob WHERE name LIKE 'idle-%' AND finished_at IS NOT NULL"
LOOK_SECONDS, CALM = 5.0, 0.1  # what jobs left to do is done when so little CPU is used for so long
CALM_SECONDS = 600.0
MACHINES = "local-0:cpu=8,memory=16Gi"


def idle(stack: Stack) -> list[dict[str, Any]]:
    """Return the CPU time of all processes together and of each, without jobs and with many finished ones."""
    lines = [_line(stack, 0)]
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda n: stack.submit("true", name=f"idle-{n}"), range(JOBS)))

    with sqlite3.connect(f"file:{stack.data}/trainui.sqlite3?mode=ro", uri=True) as rows:
        wait_for(lambda: rows.execute(FINISHED).fetchone()[0] == JOBS, FINISH_SECONDS, "all jobs to finish")
    lines.append(_line(stack, JOBS))
    return lines


def _line(stack: Stack, jobs: int) -> dict[str, Any]:
    wait_for(lambda: sum(_used(stack, LOOK_SECONDS).values()) < CALM, CALM_SECONDS, "what jobs left to do to be done")
    used = _used(stack, SECONDS)
    return {
        "what": f"CPU seconds per second of all processes with {jobs} finished jobs",
        "cpu": round(sum(used.values()), 4),
        "seconds": SECONDS,
        "processes": {name: round(value, 4) for name, value in sorted(used.items(), key=lambda pair: -pair[1])},
    }


def _used(stack: Stack, seconds: float) -> dict[str, float]:
    """Return the CPU seconds per second of each process during the next seconds."""
    before, began = _cpu(stack), time.perf_counter()
    time.sleep(seconds)
    after, passed = _cpu(stack), time.perf_counter() - began
    return {name: (after[name] - before.get(name, 0.0)) / passed for name in after}


def _cpu(stack: Stack) -> dict[str, float]:
    """Return the CPU seconds that each process of the instance has used so far."""
    if stack.popen is None:
        raise AssertionError("the instance does not run")
    supervisor = psutil.Process(stack.popen.pid)
    found: dict[str, float] = {}
    for process in (supervisor, *supervisor.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # it has ended
            times = process.cpu_times()
            found[f"{_name(process)} {process.pid}"] = times.user + times.system
    return found


def _name(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    names = (
        "trainui.up",
        "trainui.localcluster.agent",
        "trainui.localcluster",
        "uvicorn",
        "worker",
        "beat",
        "watch",
        "unixsocket",
    )
    return next((name for name in names if name in words), process.name())
