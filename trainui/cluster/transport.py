"""HTTP to the API server with the official client's configuration, auth and pools: time-outs always, credentials read anew when they change.

Calls and streams have pools of their own, so that a thousand followed logs leave the connections of calls alone
(kubernetes-client/python#290). Both time-outs are set on every request, because a half-open connection would hang for ever
(kubernetes-client/python#1148), and keep-alive probes find a dead peer below an idle stream.
"""

import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
import urllib3
from kubernetes import client as official

from trainui.cluster import credentials
from trainui.cluster.errors import Unavailable

CALL_CONNECTIONS = 64  # more are opened when needed and closed after use
STREAM_CONNECTIONS = 4096  # none is kept when its stream has ended
CONNECT_SECONDS = 5.0
RENEW_SECONDS = (
    10.0  # between two readings of credentials that the API server refused: plugins are slow, and may have a quota
)
HEADER_SECONDS = 10.0  # how long a token is used before the official client is asked whether it has expired

Response = Any  # urllib3's


@dataclass(frozen=True)
class Request:
    """One HTTP request. verb and what: for messages."""

    method: str
    path: str
    verb: str
    what: str
    query: dict[str, str]
    body: object | None = None
    content_type: str = "application/json"

    def target(self) -> str:
        """Return path and query."""
        return self.path + (f"?{urlencode(self.query)}" if self.query else "")


class Login:
    """Connections with one set of credentials."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.files = credentials.files(path)
        self.stamp = credentials.stamp(self.files)  # before they are read: what changes meanwhile is read again
        configuration = credentials.load(path)
        configuration.retries, configuration.keep_alive = False, True
        configuration.connection_pool_maxsize = CALL_CONNECTIONS
        self.host = configuration.host.rstrip("/")
        self.calls = official.ApiClient(configuration)
        configuration.connection_pool_maxsize = STREAM_CONNECTIONS
        self.streams = official.ApiClient(configuration)
        self.made = time.monotonic()
        self._lock = threading.Lock()
        self._header: dict[str, str] = {}
        self._header_until = 0.0

    def header(self) -> dict[str, str]:
        """Return the authorization header; the official client runs the credential plugin again when its token has expired."""
        with self._lock:
            if time.monotonic() >= self._header_until:
                header: dict[str, str] = {}
                ask = self.calls.update_params_for_auth
                credentials.guarded(self.path, lambda: ask(header, [], ["BearerToken"], "", "", None))
                self._header = {name: value.strip() for name, value in header.items()}
                self._header_until = time.monotonic() + HEADER_SECONDS
            return self._header

    def changed(self) -> bool:
        """Whether a file that the credentials came from is another now."""
        return credentials.stamp(self.files) != self.stamp

    def close(self) -> None:
        """Give up idle connections; those in use end with their use."""
        self.calls.rest_client.pool_manager.clear()
        self.streams.rest_client.pool_manager.clear()


class Transport:
    """Sends requests; may be used from many threads. Credentials are read when they are first needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._login: Login | None = None
        self._renewed_at = -RENEW_SECONDS

    def send(
        self, request: Request, read_seconds: float, connect_seconds: float = CONNECT_SECONDS, stream: bool = False
    ) -> Response:
        """Return the answer, its body unread. When the API server does not know us (401), credentials are read anew, once.

        Raises Unavailable when there is no answer or there are no credentials.
        """
        timeout = urllib3.Timeout(connect=connect_seconds, read=read_seconds)
        login = self.login()
        response = _send(login, request, timeout, stream)
        if response.status == 401 and (renewed := self._renewed(login)):
            response.drain_conn()
            response = _send(renewed, request, timeout, stream)
        return response

    def login(self) -> Login:
        """Return the present connections, made anew when a file of the credentials has changed."""
        with self._lock:
            if self._login is None or self._login.changed():
                self._replace()
            assert self._login is not None
            return self._login

    def close(self) -> None:
        """Give up all idle connections."""
        with self._lock:
            if self._login:
                self._login.close()

    def _renewed(self, refused: Login) -> Login | None:
        """Return a login that is newer than the refused one, or None when the last renewal is only a moment ago and was of no use."""
        with self._lock:
            if self._login is refused:
                if time.monotonic() - self._renewed_at < RENEW_SECONDS:
                    return None
                self._renewed_at = time.monotonic()
                self._replace()
            return self._login

    def _replace(self) -> None:
        before, self._login = self._login, Login(self.path)
        if before:
            before.close()


def _send(login: Login, request: Request, timeout: urllib3.Timeout, stream: bool) -> Response:
    headers = {"Accept": "application/json", "User-Agent": "trainui", **login.header()}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    if stream:
        headers["Connection"] = "close"
    client = login.streams if stream else login.calls
    try:
        return client.rest_client.pool_manager.request(
            request.method,
            login.host + request.target(),
            headers=headers,
            body=orjson.dumps(request.body) if request.body is not None else None,
            preload_content=False,
            retries=False,
            timeout=timeout,
        )
    except (urllib3.exceptions.HTTPError, OSError) as error:  # OSError: a certificate file that is gone
        raise no_answer(error, request, login.host) from error


def no_answer(error: Exception, request: Request, host: str = "") -> Unavailable:
    """Return what a failure of the connection means, in words without addresses that may hold a password."""
    server = f"the API server {urlsplit(host).netloc.rpartition('@')[2]}".strip()
    if isinstance(error, urllib3.exceptions.SSLError):
        said = f"{server} cannot be trusted ({_cause(error)}): the kubeconfig's certificate-authority or client certificate does not fit"
    elif isinstance(error, urllib3.exceptions.ProxyError):
        said = f"the proxy to {server} does not answer ({_cause(error.original_error)})"
    elif isinstance(error, urllib3.exceptions.NameResolutionError):
        said = f"{server} does not answer: its name cannot be resolved"
    else:
        said = f"{server} does not answer ({_cause(error)})"
    return Unavailable(said, verb=request.verb, what=request.what, carried_out=not _never_sent(error))


def _never_sent(error: Exception) -> bool:
    unconnected = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        urllib3.exceptions.SSLError,
        urllib3.exceptions.ProxyError,
    )
    return isinstance(error, unconnected)


def _cause(error: BaseException) -> str:
    """Return the innermost reason in a few words."""
    refused = isinstance(error, urllib3.exceptions.NewConnectionError)  # counts as a time-out with urllib3
    if isinstance(error, urllib3.exceptions.TimeoutError) and not refused:
        return "timed out"
    seen = next((arg for arg in error.args if isinstance(arg, BaseException)), error.__cause__)
    if seen is not None and seen is not error:
        return _cause(seen)
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError):
        return (error.reason or type(error).__name__).lower().replace("_", " ")
    if isinstance(error, OSError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return type(error).__name__
