"""What chaos needs of an instance beyond what `Stack` offers: its processes by name, those of its pods, and the checker beside it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import psutil

from tests.stack import REPO, Json, Stack, wait_for

MEMBERS = {  # by what only their command line has
    "web": "trainui.asgi:application",
    "worker": "worker -P threads",
    "beat": "beat --schedule",
    "watch": "manage.py watch",
    "broker": "unixsocket",  # its title as well as its command line has it
    "local cluster": "-m trainui.localcluster --data",
    "node agent": "-m trainui.localcluster.agent",
}
POD_TAG = "TRAINUI_POD_UID"  # in the environment of all that a pod starts
SHIM_TAG = "TRAINUI_CONTAINER_ID"  # in that of its shim, as uid/container/restart


def member(stack: Stack, name: str) -> psutil.Process | None:
    """Return a process of the instance, or None while the supervisor has yet to start it again."""
    assert stack.popen is not None
    for process in psutil.Process(stack.popen.pid).children():
        with contextlib.suppress(psutil.Error):
            if MEMBERS[name] in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                return process
    return None


def kill_member(stack: Stack, name: str) -> bool:
    """Send kill -9 to a process of the instance; False when there is none now."""
    process = member(stack, name)
    if process is None:
        return False
    with contextlib.suppress(psutil.Error):
        process.send_signal(signal.SIGKILL)
    return True


def all_up(stack: Stack) -> bool:
    """Whether every process of the instance runs."""
    return all(member(stack, name) for name in MEMBERS)


def pod_processes(stack: Stack) -> dict[str, list[psutil.Process]]:
    """Return the living processes of the instance's pods by the uid of the pod, shims among them."""
    ours, found = _pods_on_disk(stack), dict[str, list[psutil.Process]]()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            environment = process.environ()
            uid = environment.get(POD_TAG) or environment.get(SHIM_TAG, "").partition("/")[0]
            mine = uid in ours or environment.get("HOME", "").startswith(f"{stack.data}/")
            if uid and mine and process.status() != psutil.STATUS_ZOMBIE:
                found.setdefault(uid, []).append(process)
    return found


def _pods_on_disk(stack: Stack) -> set[str]:
    with contextlib.suppress(FileNotFoundError):
        return set(os.listdir(stack.data / "cluster" / "pods"))
    return set()


def archived_logs(stack: Stack, job_id: str) -> list[tuple[Json, str]]:
    """Return the archived logs of a job and their text, once all are complete."""
    path = f"/api/v1/trainjobs/{job_id}/logs"
    with stack.client() as client:
        wait_for(
            lambda: all(log["complete"] for log in client.get(path).json()["items"]), 90, "the logs to be complete"
        )
        logs = client.get(path).json()["items"]
        return [(log, client.get(f"{path}/download", params={"stream": log["id"]}).text) for log in logs]


class Checker:
    """The process that `tests.chaos.checker` runs in, beside the instance."""

    def __init__(self, stack: Stack) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "manage.py", "shell", "-v0", "-c", "from tests.chaos.checker import serve; serve()"],
            cwd=REPO,
            env=stack.environment | stack.addresses(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()

    def ask(self, do: str, **arguments: Any) -> Json:
        """Put a question and return the answer."""
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        with self._lock:
            self._popen.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._popen.stdin.flush()
            answer = self._popen.stdout.readline()
        assert answer, f"the checker ended while it was asked to {do}"
        return json.loads(answer) or {}

    def close(self) -> None:
        """End it."""
        assert self._popen.stdin is not None
        self._popen.stdin.close()
        self._popen.wait(30)
