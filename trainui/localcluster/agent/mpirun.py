"""Stands before mpirun in every pod, so that a run that lost a host is not taken for a good one.

Open MPI 5's prterun returns 0 when it has lost the daemon of a host ("PRTE has lost communication with a remote daemon"): the
launcher's pod, and with it the job, would count as succeeded. Our stand-in for ssh notes how each of its calls ended in the
folder TRAINUI_RSH_NOTES; when mpirun says 0 and a call has failed, this says 255.

Standard library only, one file: ``python -S -I mpirun.py PATH-OF-THIS-HELPER ARGUMENTS...``
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from types import FrameType

NOT_FOUND = 127
LOST = 255
SIOCGIFADDR = 0x8915
GOOD = "good"
NOTE_SECONDS = 5.0  # how long to wait for calls that are about to note their end
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def find_real(helper: str, path: str) -> str | None:
    """Return the program that this helper stands before: the next one of its name on the path."""
    own, name = os.path.split(os.path.abspath(helper))
    rest = [folder for folder in path.split(os.pathsep) if folder and os.path.abspath(folder) != own]
    return shutil.which(name, path=os.pathsep.join(rest))


def failed_calls(folder: str, seconds: float) -> list[str]:
    """Return what the calls of ssh noted as failures, once each has ended or the time is over."""
    deadline = time.monotonic() + seconds
    failures = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            while not _is_free(file.fileno()) and time.monotonic() < deadline:
                time.sleep(0.02)
            text = file.read().decode("utf-8", "replace").strip()
        if text != GOOD:
            failures.append(text or f"the call to {name.rpartition('-')[0]} was cut off")
    return failures


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def addresses() -> list[str]:
    """Return the IPv4 addresses of this computer's interfaces (Linux; elsewhere empty)."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                found.append(socket.inet_ntoa(answer[20:24]))
    return found


def offline_hint() -> str:
    """Return why hosts cannot be reached on a computer without network; '' when that is not the reason."""
    if sys.platform != "linux" or any(not address.startswith("127.") for address in addresses()):
        return ""
    return "Open MPI's daemons need a network address besides loopback, and this computer has none now: connect it"


def run(command: Sequence[str], notes: str) -> int:
    """Run mpirun, passing signals on; return its exit code as a shell would."""
    environment = {**os.environ, "TRAINUI_RSH_NOTES": notes, "TMPDIR": tempfile.mkdtemp(prefix="m")}
    process = subprocess.Popen(command, env=environment)

    def pass_on(signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            process.send_signal(signum)

    for signum in FORWARDED:
        signal.signal(signum, pass_on)
    code = process.wait()
    return code if code >= 0 else 128 - code


def main(arguments: Sequence[str]) -> int:
    """Run the real program; return its exit code, or 255 when it overlooked the loss of a host."""
    helper, *rest = arguments
    real = find_real(helper, os.environ.get("PATH", os.defpath))
    if real is None:
        print(f"{os.path.basename(helper)}: not found", file=sys.stderr, flush=True)
        return NOT_FOUND
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    notes = tempfile.mkdtemp(prefix="mpi-")
    try:
        code = run([real, *rest], notes)
        failures = failed_calls(notes, NOTE_SECONDS) if code == 0 else []
    finally:
        shutil.rmtree(notes, ignore_errors=True)
    for text in failures:
        print(
            f"trainui: {text}, so this run did not succeed, although {os.path.basename(real)} says so", file=sys.stderr
        )
    if code and (hint := offline_hint()):
        print(f"trainui: {hint}", file=sys.stderr)
    sys.stderr.flush()
    return LOST if failures else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
