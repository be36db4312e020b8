"""The network of one test cluster: a bridge with addresses of its own, chosen so that several clusters on one computer do not collide.

A slot is a number whose lock file a keeper holds for its life; it gives the bridge's name and its subnets. What a killed keeper left is taken away by the next
owner of the slot, who finds in the file where it lay.
"""

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.rig.programs import RigError

SLOTS = 16
REGISTRY = Path("/run/trainui-rig")


@dataclass(frozen=True)
class Network:
    """The names and addresses of a slot."""

    slot: int

    @property
    def bridge(self) -> str:
        """Return the name of the bridge."""
        return f"trainui-rig{self.slot}"

    @property
    def address(self) -> str:
        """Return this computer's address on the bridge: what pods reach."""
        return f"10.245.{self.slot}.1"

    @property
    def pods(self) -> str:
        """Return the pods' subnet."""
        return f"10.245.{self.slot}.0/24"

    @property
    def services(self) -> str:
        """Return the range of cluster IPs; nothing serves them but the address of the API server."""
        return f"10.246.{self.slot}.0/24"

    @property
    def api_address(self) -> str:
        """Return the cluster IP of the service `kubernetes`, where pods look for the API server."""
        return f"10.246.{self.slot}.1"

    def up(self) -> None:
        """Make the bridge. It is there before the first pod, since the DNS server listens on its address."""
        self.down()
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
        _ip("addr", "add", f"{self.api_address}/32", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")

    def down(self) -> None:
        """Take the bridge away, if it is there."""
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)


@dataclass
class Slot:
    """A slot that this process holds, and the folder of a cluster that was killed in it."""

    network: Network
    file: IO[str]
    left: Path | None

    def note(self, **facts: Any) -> None:
        """Write who holds the slot and where its data lie."""
        self.file.seek(0)
        self.file.truncate()
        json.dump({"keeper": os.getpid()} | facts, self.file)
        self.file.flush()

    def release(self) -> None:
        """Give the slot back, with nothing left in it."""
        self.file.seek(0)
        self.file.truncate()
        self.file.close()


def take_slot() -> Slot:
    """Take the first slot that nobody holds."""
    REGISTRY.mkdir(parents=True, exist_ok=True)
    for number in range(SLOTS):
        file = open(REGISTRY / f"slot-{number}", "a+")  # noqa: SIM115 - held for the life of the cluster
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            continue
        return Slot(Network(number), file, _left(file))
    raise RigError(f"{SLOTS} test clusters run on this computer already (see {REGISTRY}); stop one")


def holders() -> list[dict[str, Any]]:
    """Return what the holders of slots noted."""
    found = []
    for path in sorted(REGISTRY.glob("slot-*")):
        with contextlib.suppress(ValueError, OSError):
            found.append(dict(json.loads(path.read_text())))
    return found


def _left(file: IO[str]) -> Path | None:
    file.seek(0)
    try:
        return Path(json.load(file)["folder"])
    except (ValueError, KeyError):
        return None


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Forwarder:
    """Passes connections to one address on to a port of loopback: the way from pods to the API server, in place of kube-proxy."""

    def __init__(self, host: str, port: int, target: int) -> None:
        self._target = target
        self._server = socket.create_server((host, port), backlog=256)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        threading.Thread(target=_pump, args=(client, server), daemon=True).start()
        _pump(server, client)

    def close(self) -> None:
        """Accept no more connections."""
        self._server.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RigError(
            f"the bridge of the test cluster cannot be made: ip {' '.join(arguments)}: {done.stderr.strip()}"
        )
