"""Stands in for sshd and ssh between the pods of one machine, so that mpirun reaches its workers.

Standard library only, one file, started as ``python -S -I rsh.py MODE ...``:

- ``serve``: what a worker pod runs in place of sshd. It listens on a unix socket, registers it under the pod's host name,
  and runs each command it is sent as its own child: in the worker's environment and process tree, so that the end of the
  pod is the end of its ranks.
- ``call HOST COMMAND...``: what mpirun calls in place of ssh (options of ssh are skipped). The three standard files travel
  to the worker through the socket; the exit code comes back; when the caller goes away, the command is killed.

Pods are found by the first label of HOST within the namespace, as Kubernetes' DNS would.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any, NoReturn

WAIT_SECONDS = 60.0  # workers may start later than the launcher
RETRY_SECONDS = 0.1
SSH_FAILED = 255  # ssh's own exit code for a connection that did not come about
TERM_SECONDS = 5.0
SSH_OPTIONS_WITH_VALUE = frozenset("BbcDEeFIiJLlmOopQRSWw")  # man ssh
HEADER = struct.Struct("!I")
GOOD = "good"
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def split_call(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the host and the command words of an ssh command line.

    Raises ValueError when there is no host.
    """
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            continue
        if word.startswith("-") and len(word) > 1:
            if skips_next(word) and words:
                words.pop(0)
            continue
        return word.rpartition("@")[2], words
    raise ValueError("no host is named")


def skips_next(word: str) -> bool:
    """Tell whether the option word takes its value from the next word (``-o X``, but not ``-oX`` or ``-tt``)."""
    for place, letter in enumerate(word[1:], start=1):
        if letter in SSH_OPTIONS_WITH_VALUE:
            return place == len(word) - 1
    return False


def first_label(host: str) -> str:
    """Return the pod's host name within a name like ``job-node-0-1.job.namespace.svc``."""
    return host.split(".", 1)[0]


def registration_path(folder: str, host: str) -> str:
    """Return where the pod with this host name says how to reach it."""
    return os.path.join(folder, f"{first_label(host)}.json")


def own_hostname() -> str:
    """Return this pod's host name."""
    return os.environ.get("HOSTNAME", "")


def send_message(conn: socket.socket, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
    """Send one JSON message, with open files where given."""
    body = json.dumps(message).encode()
    data = HEADER.pack(len(body)) + body
    if fds:
        sent = socket.send_fds(conn, [data], list(fds))
        data = data[sent:]
    conn.sendall(data)


def receive_message(conn: socket.socket, max_fds: int = 0) -> tuple[dict[str, Any], list[int]]:
    """Return one JSON message and the files that came with it. Raises EOFError when the other side is gone."""
    fds: list[int] = []
    data = b""
    while len(data) < HEADER.size or len(data) < HEADER.size + HEADER.unpack(data[: HEADER.size])[0]:
        if max_fds and not fds:
            chunk, fds, _, _ = socket.recv_fds(conn, 65536, max_fds)
        else:
            chunk = conn.recv(65536)
        if not chunk:
            raise EOFError("the other side is gone")
        data += chunk
    return json.loads(data[HEADER.size :]), fds


# --- the caller -------------------------------------------------------------------------------------------------------


def call(arguments: Sequence[str]) -> int:
    """Run a command in the pod that HOST names; return its exit code, or 255 as ssh does when that cannot be."""
    try:
        host, words = split_call(arguments)
    except ValueError as error:
        return fail(str(error))
    command = " ".join(words)
    if first_label(host) == own_hostname() or host in LOCAL_NAMES:
        run_here(host, command)
    folder = os.environ.get("TRAINUI_RSH_DIR", "")
    if not folder:
        return fail("TRAINUI_RSH_DIR is not set: this works only inside a pod of the local cluster")
    with Note(host) as note:
        conn = connect(folder, host, WAIT_SECONDS)
        if conn is None:
            return note.fail(f"no pod named {first_label(host)} took the connection within {WAIT_SECONDS:.0f} seconds")
        with conn:
            send_message(conn, {"command": command, "host": host}, (0, 1, 2))
            try:
                answer, _ = receive_message(conn)
            except (EOFError, OSError):
                return note.fail(f"the pod {first_label(host)} went away while it ran the command")
        code = int(answer["exitCode"])
        note.write(f"the command in the pod {first_label(host)} ended with exit code {code}" if code else GOOD)
        return code


class Note:
    """Tells the mpirun that made this call how it ended (see mpirun.py): locked while the call lasts."""

    def __init__(self, host: str) -> None:
        folder = os.environ.get("TRAINUI_RSH_NOTES", "")
        self._file: IO[str] | None = None
        if os.path.isdir(folder):
            self._file = open(os.path.join(folder, f"{first_label(host)}-{os.getpid()}"), "w", encoding="utf-8")  # noqa: SIM115
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __enter__(self) -> "Note":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, text: str) -> None:
        """Note the end."""
        if self._file is not None:
            self._file.write(text)

    def fail(self, text: str) -> int:
        """Note a failure, say it, and return ssh's exit code for it."""
        self.write(text)
        return fail(text)


def fail(text: str) -> int:
    """Say why and return ssh's exit code for it."""
    print(f"trainui-rsh: {text}", file=sys.stderr, flush=True)
    return SSH_FAILED


def run_here(host: str, command: str) -> NoReturn:
    """Become the command: the caller's own pod needs no connection."""
    os.environ.update(daemon_environment(host))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv("/bin/sh", ["/bin/sh", "-c", command])


def daemon_environment(host: str) -> dict[str, str]:
    """Return what a command gets besides its pod's environment: PRRTE's name of its host, and a temporary folder of its own.

    Daemons of Open MPI that share a folder disturb each other while they start ("listener thread failed to start").
    """
    return {"PRTE_MCA_prte_nodename": host, "TMPDIR": tempfile.mkdtemp(prefix="c")}


def connect(folder: str, host: str, seconds: float) -> socket.socket | None:
    """Return a connection to the pod, waiting for it to appear; None when it did not."""
    deadline = time.monotonic() + seconds
    while True:
        conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with open(registration_path(folder, host), encoding="utf-8") as file:
                conn.connect(json.load(file)["socket"])
            return conn
        except (OSError, ValueError, KeyError):
            conn.close()
        if time.monotonic() > deadline:
            return None
        time.sleep(RETRY_SECONDS)


# --- the worker's side ------------------------------------------------------------------------------------------------


def serve() -> int:
    """Take commands until SIGTERM; return 143 then, so that a worker that was stopped does not count as finished."""
    path, folder = os.environ["TRAINUI_RSH_SOCKET"], os.environ["TRAINUI_RSH_DIR"]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.path.exists(path):
        os.unlink(path)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(512)
    registration = registration_path(folder, own_hostname())
    os.makedirs(folder, exist_ok=True)
    with open(f"{registration}.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump({"socket": path}, file)
    os.replace(f"{registration}.{os.getpid()}", registration)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(f"trainui-sshd: listening for {own_hostname()}", file=sys.stderr, flush=True)
    try:
        while True:
            conn, _ = listener.accept()
            threading.Thread(target=answer_call, args=(conn,), daemon=True).start()
    finally:
        withdraw(path, registration)


def withdraw(path: str, registration: str) -> None:
    """Remove our socket, and our registration unless a later pod of the same host name has replaced it."""
    with contextlib.suppress(OSError, ValueError):
        os.unlink(path)
        with open(registration, encoding="utf-8") as file:
            ours = json.load(file) == {"socket": path}
        if ours:
            os.unlink(registration)


def answer_call(conn: socket.socket) -> None:
    """Run one command for the caller at the other end."""
    with conn:
        try:
            orders, fds = receive_message(conn, 3)
        except (EOFError, OSError, ValueError):
            return
        try:
            code = run_for(conn, orders, fds)
        finally:
            for fd in fds:
                os.close(fd)
        with contextlib.suppress(OSError):
            send_message(conn, {"exitCode": code})


def run_for(conn: socket.socket, orders: dict[str, Any], fds: list[int]) -> int:
    """Run the command on the caller's files; kill it when the caller goes away."""
    call_id = f"{os.getpid()}-{conn.fileno()}-{time.monotonic_ns()}"
    environment = {**os.environ, **daemon_environment(orders["host"]), "TRAINUI_RSH_CALL": call_id}
    process = subprocess.Popen(
        ["/bin/sh", "-c", orders["command"]],
        stdin=fds[0],
        stdout=fds[1],
        stderr=fds[2],
        env=environment,
        start_new_session=True,
    )
    ended = threading.Event()
    done_read, done_write = os.pipe()

    def wait() -> None:
        process.wait()
        ended.set()
        os.close(done_write)

    threading.Thread(target=wait, daemon=True).start()
    ready, _, _ = select.select([done_read, conn.fileno()], [], [])
    if done_read not in ready:
        end_call(process, call_id, ended)
    os.close(done_read)
    ended.wait()
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def end_call(process: subprocess.Popen[bytes], call_id: str, ended: threading.Event) -> None:
    """End a command whose caller is gone, with everything it started."""
    signal_call(process, call_id, signal.SIGTERM)
    ended.wait(TERM_SECONDS)
    signal_call(process, call_id, signal.SIGKILL)


def signal_call(process: subprocess.Popen[bytes], call_id: str, signum: int) -> None:
    """Signal the command's group and, on Linux, all that carry its call in their environment."""
    tag = f"TRAINUI_RSH_CALL={call_id}".encode()
    targets = set()
    if os.path.isdir("/proc/self"):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as environ:
                    if tag in environ.read().split(b"\0"):
                        targets.add(int(name))
            except OSError:
                continue
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signum)
    for pid in targets:
        with contextlib.suppress(OSError):
            os.kill(pid, signum)


def main(arguments: Sequence[str]) -> int:
    """Run the mode that the first word names; return the exit code."""
    if arguments[:1] == ["call"]:
        return call(arguments[1:])
    if arguments[:1] == ["serve"]:
        if "-t" in arguments[1:] or "-T" in arguments[1:]:  # sshd's check of its configuration
            return 0
        return serve()
    return fail("usage: rsh.py call HOST COMMAND... | serve")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
