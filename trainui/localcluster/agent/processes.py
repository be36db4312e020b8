"""Processes of pods: told apart across restarts, watched for their end, and ended together with all they started."""

import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable

import psutil

from trainui.localcluster.agent.model import Process
from trainui.localcluster.agent.shim import start_stamp

POLL_SECONDS = 0.2  # where the system cannot tell us of an end
END_SECONDS = 10.0
LINUX = sys.platform == "linux"


def identify(pid: int) -> Process:
    """Return a process with what tells it from a later one of the same id."""
    return Process(pid, start_of(pid))


def start_of(pid: int) -> str:
    """Return the start stamp of a process, or '' when there is none. It does not change when the clock is set."""
    if LINUX:
        return start_stamp(pid)
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return ""


def is_alive(process: Process) -> bool:
    """Tell whether this very process still runs; one that has ended but was not collected does not."""
    try:
        if psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE:
            return False
    except psutil.Error:
        return False
    return not process.start or start_of(process.pid) == process.start


def signal_process(process: Process, signum: int) -> bool:
    """Send a signal to this very process; return False when it is gone."""
    if not is_alive(process):
        return False
    try:
        os.kill(process.pid, signum)
    except OSError:
        return False
    return True


def tagged(name: str, value: str) -> list[psutil.Process]:
    """Return the living processes whose environment has `name` with `value`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(name) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def end_tagged(name: str, value: str, also: Process | None = None) -> None:
    """Kill every process with this environment entry, and what they started, until none is left."""
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        targets = set(tagged(name, value))
        for process in list(targets):
            try:
                targets.update(process.children(recursive=True))
            except psutil.Error:
                continue
        targets = {process for process in targets if process.pid != os.getpid()}
        if not targets and (also is None or not is_alive(also)):
            return
        if also is not None:
            signal_process(also, signal.SIGKILL)
        for process in targets:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(targets, timeout=0.5)


class ExitWatcher:
    """Calls back when a process ends, child of ours or not. One thread for all; idle while nothing happens."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._polled: dict[Process, Callable[[], None]] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._closed = False
        threading.Thread(target=self._run, name="exits", daemon=True).start()

    def watch(self, process: Process, ended: Callable[[], None]) -> None:
        """Call `ended` once, when the process has ended (at once if it is gone already)."""
        handle = _handle(process)
        if not is_alive(process):
            if handle is not None:
                os.close(handle)
            ended()
            return
        with self._lock:
            if handle is None:
                self._polled[process] = ended
            else:
                self._selector.register(handle, selectors.EVENT_READ, ended)
        os.write(self._wake_write, b"x")

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select(POLL_SECONDS if self._polled else None):
                if key.data is None:
                    os.read(self._wake_read, 4096)
                    continue
                with self._lock:
                    self._selector.unregister(key.fd)
                os.close(key.fd)
                key.data()
            self._poll()

    def _poll(self) -> None:
        for process, ended in list(self._polled.items()):
            if not is_alive(process):
                with self._lock:
                    self._polled.pop(process, None)
                ended()


def _handle(process: Process) -> int | None:
    """Return a file that becomes readable at the process's end, where the system has such files."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(process.pid))
    except OSError:
        return None
