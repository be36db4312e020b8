"""An API server of a test's own: real HTTP or HTTPS on loopback, whose answers a test writes, down to the bytes and the broken connections."""

import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Json = dict[str, Any]
Step = bytes | Callable[[], Any]


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int
    peer: str = ""  # the common name in the client's certificate

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """What is sent back. steps: pieces of a chunked body, and things to do between them; reset: break the connection instead of ending it."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    steps: Iterable[Step] | None = None
    reset: bool = False


def answer(status: int, body: Json | None = None, **headers: str) -> Answer:
    """Return a JSON answer."""
    return Answer(status, json.dumps(body or {}).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


def refusal(status: int, reason: str, message: str, causes: list[Json] | None = None, **details: Any) -> Answer:
    """Return a Status as API servers send it."""
    return answer(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": message,
                           "details": {"causes": causes or [], **details}})  # fmt: skip


def pod(name: str, version: int | str, **more: Any) -> Json:
    """Return a small Pod."""
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | more}


def listing(*items: Json, version: int | str = 1, more: str = "") -> Answer:
    """Return one page of a list."""
    return answer(
        200, {"kind": "PodList", "items": list(items), "metadata": {"resourceVersion": str(version), "continue": more}}
    )


def event(type: str, obj: Json) -> bytes:
    """Return a line of a watch."""
    return json.dumps({"type": type, "object": obj}).encode() + b"\n"


def bookmark(version: int | str) -> bytes:
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


def watching(*steps: Step) -> Answer:
    """Return a watch that ends after its last step."""
    return Answer(steps=steps)


Script = Callable[[Asked], Answer | None]


class ApiServer:
    """Serves until closed. `script` answers a request; None breaks the connection without a word. `asked` has all requests in order."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.script = script
        self.tls = tls
        self.asked: list[Asked] = []
        self.released = threading.Event()  # what `hold` waits for
        self.open: set[socket.socket] = set()
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def hold(self) -> None:
        """A step: say nothing, and keep the connection open until the test ends."""
        self.released.wait(60)

    def close(self) -> None:
        """Refuse new connections and break the open ones."""
        self.released.set()
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in list(self.open):
            _break(connection)

    def count(self, **wanted: str) -> int:
        """Return how many requests had these attributes."""
        return sum(all(getattr(a, k) == v for k, v in wanted.items()) for a in list(self.asked))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(connection, self.accepted), daemon=True).start()

    def _serve(self, plain: socket.socket, number: int) -> None:
        connection = plain
        try:
            if self.tls:
                connection = self.tls.wrap_socket(plain, server_side=True)
            self.open.add(connection)
            with connection, connection.makefile("rb") as reader:
                while asked := _read(reader, number, _peer(connection)):
                    self.asked.append(asked)
                    last = asked.headers.get("connection") == "close"
                    if not self._answer(connection, self.script(asked), last):
                        _break(connection)
                        return
                    if last:
                        return
        except (OSError, ValueError):
            plain.close()
        finally:
            self.open.discard(connection)

    def _answer(self, connection: socket.socket, said: Answer | None, last: bool) -> bool:
        if said is None:
            return False
        ending = "Connection: close\r\n" if last else ""
        how = "Transfer-Encoding: chunked" if said.steps is not None else f"Content-Length: {len(said.body)}"
        headers = "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
        connection.sendall(f"HTTP/1.1 {said.status} X\r\n{how}\r\n{ending}{headers}\r\n".encode() + said.body)
        if said.steps is None:
            return not said.reset
        for step in said.steps:
            if isinstance(step, bytes):
                connection.sendall(f"{len(step):x}\r\n".encode() + step + b"\r\n")
            else:
                step()
        if said.reset:
            return False
        connection.sendall(b"0\r\n\r\n")
        return True


def _read(reader: Any, number: int, peer: str) -> Asked | None:
    first = reader.readline().decode()
    if not first.strip():
        return None
    method, target, _ = first.split(" ", 2)
    headers = {}
    while line := reader.readline().decode().strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    parts = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    body = reader.read(int(headers.get("content-length", 0)))
    return Asked(method, parts.path, query, headers, body, number, peer)


def _peer(connection: socket.socket) -> str:
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    return next((value for name in (shown or {}).get("subject", ()) for key, value in name if key == "commonName"), "")


def _break(connection: socket.socket) -> None:
    """End a connection with a reset, as a process that dies does."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    except OSError:
        connection.close()


@contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[ApiServer]:
    """Run a server for the block."""
    server = ApiServer(script, tls, port)
    try:
        yield server
    finally:
        server.close()


def in_turn(*answers: Answer | None, then: Answer | None = None) -> Script:
    """Return a script that gives these answers one after the other, and then always the last one (or `then`)."""
    left, last = list(answers), then or answers[-1]
    lock = threading.Lock()

    def script(asked: Asked) -> Answer | None:
        with lock:
            return left.pop(0) if left else last

    return script


def write_kubeconfig(file: Path, server: str, user: Json | None = None, **cluster: Any) -> str:
    """Write a kubeconfig with one context; return its path."""
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
        "clusters": [{"name": "it", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "me", "user": user if user is not None else {"token": "secret-token"}}],
    }  # fmt: skip
    file.write_text(yaml.safe_dump(config))
    return str(file)


class Authority:
    """A certificate authority that writes its files into a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder, self.key = folder, ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.cert = self._signed(self.name, self.key.public_key(), authority=True)
        self.file = folder / f"{name}.crt"
        self.file.write_bytes(self.cert.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[str, str]:
        """Write a certificate for 127.0.0.1 and its key; return their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        cert, secret = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        cert.write_bytes(self._signed(subject, key.public_key()).public_bytes(serialization.Encoding.PEM))
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        secret.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
        return str(cert), str(secret)

    def context(self, clients: "Authority | None" = None) -> ssl.SSLContext:
        """Return a server's context; with `clients` it asks for certificates of that authority."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self.issue("server"))
        if clients:
            context.load_verify_locations(clients.file)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _signed(self, subject: x509.Name, key: Any, authority: bool = False) -> x509.Certificate:
        now = datetime.now(UTC)
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        known = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        else:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self.key, hashes.SHA256())
