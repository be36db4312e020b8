"""A handle on a running test cluster, for tests and benches of any process."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.rig import kwok, machine, programs
from tests.rig.api import Api, Refused, wait_until
from tests.rig.control_plane import AUDIT_LOG
from tests.rig.keeper import CONTROL, FACTS, FAILURE
from tests.rig.programs import RigError

REPO = Path(__file__).resolve().parents[2]
START_SECONDS = 4 * 3600.0  # with all programs to be built on a slow computer
STOP_SECONDS = 90.0
REFUSED = (401, 403)


def obstacle(*more: programs.Program) -> str:
    """Return in one line why no cluster can be started here, or nothing. more: programs that are needed beside its own."""
    if sys.platform != "linux":
        return "the test cluster needs Linux"
    if os.geteuid() != 0:
        return "the test cluster needs root (containers, a bridge)"
    if packages := machine.lacking():
        return f"the test cluster needs Debian packages: apt install {' '.join(packages)}"
    if programs.missing((*programs.CLUSTER, *more)) and shutil.which("go") is None:
        return "the test cluster needs Go to build its programs"
    return ""


@dataclass(frozen=True)
class Call:
    """One question to the API server, in the words of RBAC, and the code of its answer."""

    verb: str
    group: str
    resource: str  # with its subresource, as in pods/log
    namespace: str
    code: int

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {what}{f' in {self.namespace}' if self.namespace else ''}: {self.code}"

    @classmethod
    def of(cls, event: dict[str, Any]) -> "Call":
        """Read it from an entry of the audit log."""
        target = event["objectRef"]
        resource = "/".join(filter(None, (target.get("resource", ""), target.get("subresource", ""))))
        code = event.get("responseStatus", {}).get("code", 0)
        return cls(event["verb"], target.get("apiGroup", ""), resource, target.get("namespace", ""), code)


class Rig:
    """A running cluster: addresses, users, fake machines, programs to stop and start."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.folder = Path(facts["folder"])
        self.server: str = facts["server"]
        self.bridge_address: str = facts["bridge_address"]  # where pods reach this computer
        self.machine: str = facts["machine"]  # the real one
        self.provoked: set[str] = set()  # namespaces in which tests of this process want refusals
        self.image: str = facts["image"]  # Python, numpy, mpi4py, OpenMPI, sshd; imagePullPolicy IfNotPresent

    @classmethod
    def start(cls, folder: Path, owner: int | None = None, with_machine: bool = True) -> "Rig":
        """Start a cluster that ends with its owner (this process), or join the one that the folder holds."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / FAILURE).exists():
                raise RigError((folder / FAILURE).read_text())
            if not (folder / FACTS).exists():
                _spawn(folder, owner or os.getpid(), with_machine)
            return cls(json.loads((folder / FACTS).read_text()))

    def stop(self) -> None:
        """End the cluster and wait until nothing of it is left."""
        end_keeper(self.facts["keeper"])

    def check(self) -> None:
        """Raise RigError when a program has ended by itself."""
        if (self.folder / FAILURE).exists():
            raise RigError((self.folder / FAILURE).read_text())

    def kubeconfig(self, user: str = "admin") -> Path:
        """Return the kubeconfig of `admin`, `trainui`, `trainui-web` or `trainui-all` (what deploy/ allows), or `stranger` (nothing)."""
        return Path(self.facts["kubeconfigs"][user])

    def token(self, user: str = "admin") -> str:
        """Return the bearer token of a user."""
        return str(self.facts["tokens"][user])

    def api(self, user: str = "admin") -> Api:
        """Return a client that acts as a user."""
        return Api(self.server, Path(self.facts["authority"]), self.token(user))

    @cached_property
    def admin(self) -> Api:
        """The client of the administrator."""
        return self.api()

    def kubectl(self, *arguments: str, user: str = "admin", stdin: str = "") -> str:
        """Run kubectl as a user and return what it printed; raises AssertionError with what it said when it fails."""
        command = [str(Path(sys.executable).parent / "kubectl"), f"--kubeconfig={self.kubeconfig(user)}", *arguments]
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def calls(self, user: str = "trainui") -> list[Call]:
        """Return what a user of deploy/ has asked the API server for so far, in order."""
        found = []
        for line in (self.folder / AUDIT_LOG).read_text().splitlines():
            event = json.loads(line)
            if event["user"]["username"] == user and "objectRef" in event:
                found.append(Call.of(event))
        return found

    def refusals(self, user: str) -> list[str]:
        """Say which calls of a user of deploy/ the API server refused, but for those that tests provoked: `2 × create pods in team-a: 403`."""
        calls = (call for call in self.calls(user) if call.namespace not in self.provoked)
        refused = Counter(call for call in calls if call.code in REFUSED)
        return [f"{times} × {call}" for call, times in refused.items()]

    def add_machines(self, count: int, prefix: str, **shape: Any) -> list[str]:
        """Make fake machines PREFIX-0 ... with 8 GPUs each (`gpus`, `labels`, `taints`, `cpu`, `memory`) and return their names."""
        return kwok.add_machines(self.admin, count, prefix, **shape)

    def remove_machines(self, names: list[str]) -> None:
        """Delete fake machines."""
        kwok.remove_machines(self.admin, names)

    def lose_machine(self, name: str) -> None:
        """Let a fake machine fall silent."""
        kwok.lose_machine(self.admin, name)

    def unready_machine(self, name: str) -> None:
        """Let a fake machine say that it is not ready."""
        kwok.unready_machine(self.admin, name)

    def find_machine(self, name: str) -> None:
        """Let a lost machine come back."""
        kwok.find_machine(self.admin, name)

    def stop_program(self, name: str, number: str = "SIGTERM") -> None:
        """Stop a program, such as kube-apiserver: only on a cluster of one's own, others use the session's."""
        self._ask(do="stop", program=name, signal=number)

    def start_program(self, name: str) -> None:
        """Start a program that was stopped."""
        self._ask(do="start", program=name)

    @contextmanager
    def upstream_trainer(self) -> Iterator[None]:
        """Run Kubeflow's own controller, built first where it is missing; on a cluster of one's own."""
        with self._controller(programs.TRAINER):
            yield

    @contextmanager
    def kueue(self) -> Iterator[None]:
        """Run Kueue's controller, built first where it is missing; on a cluster of one's own, whose jobs with a queue it suspends."""
        with self._controller(programs.KUEUE):
            yield

    @contextmanager
    def _controller(self, program: programs.Program) -> Iterator[None]:
        programs.ensure((program,))  # here, where its progress is seen
        self._ask(do="start-controller", program=program.name)
        try:
            yield
        finally:
            self._ask(do="stop-controller", program=program.name)

    def _ask(self, **request: str) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(60)
            control.connect(str(self.folder / CONTROL))
            with control.makefile("rw") as stream:
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                answer = json.loads(stream.readline())
        if "error" in answer:
            raise RigError(answer["error"])

    @contextmanager
    def namespace(self, name: str) -> Iterator[str]:
        """Make a namespace in which pods can be made, and delete it with all that is in it."""
        self.admin.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        wait_until(lambda: self.admin.get("v1", "ServiceAccount", name, "default"), f"the service account of {name}")
        try:
            yield name
        finally:
            with contextlib.suppress(Refused):
                self.admin.request("DELETE", f"/api/v1/namespaces/{name}")


def _spawn(folder: Path, owner: int, with_machine: bool) -> None:
    """Start a keeper and wait until its cluster is usable; its progress goes to our terminal."""
    command = [sys.executable, "-m", "tests.rig", "--keep", str(folder), "--owner", str(owner)]
    with open(folder / "keeper.log", "ab") as log:
        keeper = subprocess.Popen(
            command + ([] if with_machine else ["--no-machine"]),
            cwd=REPO,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    end = time.monotonic() + START_SECONDS
    shown = 0
    while not (folder / FACTS).exists():
        shown = _show(folder / "keeper.log", shown)
        if keeper.poll() is not None:
            said = (
                (folder / FAILURE).read_text() if (folder / FAILURE).exists() else (folder / "keeper.log").read_text()
            )
            raise RigError(f"the test cluster could not be started: {said[-4000:]}")
        if time.monotonic() > end:
            raise RigError(f"the test cluster did not start within {START_SECONDS:.0f} s; see {folder}/logs")
        time.sleep(0.1)
    _show(folder / "keeper.log", shown)


def _show(log: Path, shown: int) -> int:
    said = log.read_text(errors="replace")
    for line in said[shown:].splitlines():
        if line.startswith("test cluster:"):
            programs.progress(line)
    return len(said)


def end_keeper(pid: int) -> None:
    """Tell a keeper to end its cluster and wait until it has."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(handle, signal.SIGTERM)
        ended, _, _ = select.select([handle], [], [], STOP_SECONDS)
        if not ended:
            raise RigError(f"the test cluster kept by process {pid} did not end within {STOP_SECONDS:.0f} s")
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
