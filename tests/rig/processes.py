"""Programs of the test cluster as child processes: each with a log file, none outlives the process that started it."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.rig.programs import RigError

POLL_SECONDS = 0.05
LAST_LINES = 12
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Processes:
    """The programs of one cluster, by name; `start` again restarts one with the same arguments."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        logs.mkdir(parents=True, exist_ok=True)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._recipes: dict[str, tuple[list[str], dict[str, str]]] = {}

    def run(self, name: str, command: list[str], **environment: str) -> None:
        """Start a program under a name; what it prints goes to NAME.log."""
        self._recipes[name] = (command, environment)
        self.start(name)

    def start(self, name: str) -> None:
        """Start a program that was stopped, with the arguments of before."""
        command, environment = self._recipes[name]
        with open(self.logs / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_without_proxies() | environment,
                preexec_fn=_die_with_parent,
                start_new_session=True,
            )

    def stop(self, name: str, number: int = signal.SIGTERM, seconds: float = 10) -> None:
        """End a program, by force where the signal is not enough."""
        process = self.running.pop(name, None)
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill_all(self, names: list[str]) -> None:
        """End programs by force: what they would take seconds to put in order is thrown away."""
        for name in names:
            self.stop(name, signal.SIGKILL)

    def check(self) -> None:
        """Raise RigError with the last lines of its log when a program has ended by itself."""
        for name, process in list(self.running.items()):
            if process.poll() is not None:
                raise RigError(f"{name} ended with {process.returncode}; its last lines:\n{self.last_lines(name)}")

    def last_lines(self, name: str) -> str:
        """Return the end of a program's log."""
        path = self.logs / f"{name}.log"
        text = path.read_text(errors="replace") if path.exists() else "(no log)"
        return "\n".join(line[:400] for line in text.splitlines()[-LAST_LINES:])

    def wait_for(self, condition: Callable[[], object], what: str, of: str, seconds: float = 90) -> None:
        """Wait for a condition while all programs live; `of` is the program whose log explains why it does not come."""
        end = time.monotonic() + seconds
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise RigError(f"waited {seconds:.0f} s for {what}; the last lines of {of}:\n{self.last_lines(of)}")
            time.sleep(POLL_SECONDS)


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Say whether something accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def _without_proxies() -> dict[str, str]:
    """Return our environment without what would send the cluster's own traffic elsewhere."""
    return {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k != "KUBECONFIG"}


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
