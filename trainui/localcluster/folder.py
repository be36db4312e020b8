"""The folder of a local cluster: its lock, token, port and kubeconfig."""

import base64
import fcntl
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import yaml

from trainui.localcluster.files import write_private


class AlreadyRunning(Exception):
    """Another process serves this folder."""


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """Where a local cluster keeps its things: `DATA/cluster`."""

    path: Path

    @classmethod
    def prepare(cls, data: Path) -> "ClusterFolder":
        """Return the folder below `data`, made if needed, readable by its owner only. Raises OSError."""
        path = data / "cluster"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(0o700)
        return cls(path)

    @property
    def database(self) -> Path:
        """The store's file."""
        return self.path / "objects.db"

    @property
    def pods(self) -> Path:
        """The folder in which the node agent keeps its pods."""
        return self.path / "pods"

    @property
    def kubeconfig(self) -> Path:
        """The file with which clients find the server and prove that they may use it."""
        return self.path / "kubeconfig"

    def lock(self) -> IO[str]:
        """Return the open lock file; it holds the lock until it is closed. Raises AlreadyRunning."""
        file = (self.path / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise AlreadyRunning(f"a local cluster already runs on {self.path}") from None
        return file

    def token(self) -> str:
        """Return the bearer token, made the first time."""
        path = self.path / "token"
        try:
            found = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            found = ""
        if not found:
            found = secrets.token_urlsafe(32)
            write_private(path, found + "\n")
        return found

    def bind(self, port: int | None) -> socket.socket:
        """Return a listening socket on loopback: on `port` (0: any), or where the cluster was last, if that is free.

        Raises OSError when the port that is asked for is taken.
        """
        if port is not None:
            return _listen(port)
        try:
            return _listen(int((self.path / "port").read_text(encoding="ascii")))
        except (OSError, ValueError):
            return _listen(0)

    def announce(self, port: int, token: str, authority: Path) -> None:
        """Write the port and the kubeconfig for clients: whoever finds it finds a server."""
        write_private(self.path / "port", f"{port}\n")
        write_private(self.kubeconfig, make_kubeconfig(port, token, authority.read_bytes()))

    def withdraw(self) -> None:
        """Take the kubeconfig of an earlier run away."""
        self.kubeconfig.unlink(missing_ok=True)


def _listen(port: int) -> socket.socket:
    # With the protocol named, asyncio sets TCP_NODELAY on accepted sockets; without it each answer waits 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OverflowError):
            raise OSError(0, "ports go from 0 to 65535") from error
        raise
    return listener


def make_kubeconfig(port: int, token: str, authority: bytes) -> str:
    """Return a kubeconfig for a server on loopback whose certificate `authority` (PEM) signed."""
    name = "trainui-local"
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }
    return yaml.safe_dump(content, sort_keys=False)
