"""Starts processes in order, waits until each is ready, starts crashed ones again, and stops all of them in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trainui.up.config import BASE_DIR, Config
from trainui.up.preflight import CannotStart
from trainui.up.processes import STOP_ORDER, Process

READY_SECONDS = 90.0
POLL_SECONDS = 0.05
STEADY_SECONDS = 20.0  # a process that ran so long was not broken: when it ends it is started again at once
LOG_MAX_BYTES = 10 << 20
CHILD = str(Path(__file__).with_name("child.py"))


@dataclass
class Running:
    """A started process and how it fares."""

    process: Process
    popen: subprocess.Popen[bytes]
    started: float
    crashes: int = 0
    restart_at: float | None = None


@dataclass
class Supervisor:
    """Runs the processes of one instance. Each has a session of its own, so that Ctrl-C reaches only the supervisor."""

    config: Config
    say: Callable[[str], None]
    running: dict[str, Running] = field(default_factory=dict)
    stopping: bool = False

    def start(self, *processes: Process) -> None:
        """Start processes side by side and wait until each is ready. Raises CannotStart with the end of its log."""
        for process in processes:
            self.running[process.name] = Running(process, self._spawn(process), time.monotonic())
        deadline = time.monotonic() + READY_SECONDS
        for process in processes:
            self._await(process, deadline)

    def _await(self, process: Process, deadline: float) -> None:
        entry = self.running[process.name]
        while not process.ready():
            code = entry.popen.poll()
            if code is not None or time.monotonic() > deadline:
                why = f"ended with {code}" if code is not None else f"was not ready within {READY_SECONDS:.0f} s"
                raise CannotStart(f"{process.name} {why}. The end of {self.log_path(process)}:\n{self._tail(process)}")
            time.sleep(POLL_SECONDS)

    def watch(self) -> None:
        """Start crashed processes again, with growing pauses, until somebody asks to stop."""
        while not self.stopping:
            for entry in self.running.values():
                self._look_after(entry)
            time.sleep(0.2)

    def _look_after(self, entry: Running) -> None:
        now = time.monotonic()
        if entry.restart_at is not None:
            if now >= entry.restart_at:
                entry.popen, entry.started, entry.restart_at = self._spawn(entry.process), now, None
            return
        code = entry.popen.poll()
        if code is None:
            if now - entry.started > STEADY_SECONDS:
                entry.crashes = 0
            return
        pause = min(10.0, 0.2 * 2**entry.crashes)
        entry.crashes += 1
        entry.restart_at = now + pause
        self.say(f"{entry.process.name} ended with {code}; starting it again (its log: {self.log_path(entry.process)})")

    def stop(self) -> None:
        """End all processes in order, each with its grace, and leave none."""
        self.stopping = True
        for name in STOP_ORDER:
            entry = self.running.pop(name, None)
            if entry is not None and entry.popen.poll() is None:
                self._end(entry)

    def _end(self, entry: Running) -> None:
        _signal(entry.popen, signal.SIGTERM)
        try:
            entry.popen.wait(entry.process.grace_seconds)
        except subprocess.TimeoutExpired:
            self.say(f"{entry.process.name} did not end within {entry.process.grace_seconds:.0f} s and was killed")
        _signal(entry.popen, signal.SIGKILL)  # whatever is left of its group
        entry.popen.wait()

    def log_path(self, process: Process) -> Path:
        """Return the file that holds what a process prints."""
        return self.config.run / f"{process.name.replace(' ', '-')}.log"

    def _spawn(self, process: Process) -> subprocess.Popen[bytes]:
        path = self.log_path(process)
        if path.exists() and path.stat().st_size > LOG_MAX_BYTES:
            path.replace(path.with_suffix(".log.1"))
        with open(path, "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-S", "-I", CHILD, str(os.getpid()), *process.command],
                cwd=BASE_DIR, env=self.config.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _tail(self, process: Process) -> str:
        lines = self.log_path(process).read_text(errors="replace").splitlines()
        return "\n".join(f"    {line}" for line in lines[-15:])


def _signal(popen: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(popen.pid, number)
    except ProcessLookupError:
        return
