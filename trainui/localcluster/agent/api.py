"""A small HTTP client of the Kubernetes API: JSON in, JSON out, kept connections, time-outs on every call."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from trainui.localcluster.agent.config import Access

Object = dict[str, Any]
CALL_SECONDS = 15.0
WATCH_SECONDS = 300
KEPT_CONNECTIONS = 8
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message


class Unavailable(Exception):
    """The API server could not be reached or did not answer; the request may be tried again."""


def pod_path(pod: Mapping[str, Any], part: str = "") -> str:
    """Return the path of a pod, or of one of its parts such as "status"."""
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{quote(meta['namespace'])}/pods/{quote(meta['name'])}" + (f"/{part}" if part else "")


class Api:
    """Requests to one API server; may be used from many threads."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._url = urlsplit(access.server)
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "127.0.0.1", self._url.port
        if self._access.context is not None:
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._access.context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _headers(self, content_type: str | None) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "trainui-node-agent"}
        if self._access.token:
            headers["Authorization"] = f"Bearer {self._access.token}"
        if content_type:
            headers["Content-Type"] = content_type
        return headers

    def _target(self, path: str, query: Mapping[str, Any] | None) -> str:
        return self._url.path + path + (f"?{urlencode(query)}" if query else "")

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Return the JSON answer. Raises ApiError for a refusal and Unavailable when no answer came.

        A request on a kept connection that the server had closed is sent once more on a new one; every request of the agent
        is safe to repeat.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers(content_type if data is not None else None)
        target = self._target(path, query)
        while True:
            connection, kept = self._take()
            try:
                connection.request(method, target, data, headers)
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if kept and not isinstance(error, TimeoutError):
                    self._drop_idle()
                    continue
                raise Unavailable(f"{method} {path}: {error or type(error).__name__}") from error
            self._give_back(connection, bool(answer.will_close))
            return _result(answer.status, content)

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection, and whether it was kept from an earlier request."""
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        return self._connect(CALL_SECONDS), False

    def _give_back(self, connection: http.client.HTTPConnection, ended: bool) -> None:
        with self._lock:
            if not ended and len(self._idle) < KEPT_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_idle(self) -> None:
        """Close the kept connections: the server has closed one of them, so it has probably closed them all."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def get(self, path: str) -> Object | None:
        """Return an object, or None when there is none."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def merge_patch(self, path: str, patch: Object) -> Object:
        """Merge a patch into an object and return the result."""
        return self.request("PATCH", path, patch, content_type=MERGE_PATCH)

    def list_all(self, path: str, query: Mapping[str, Any] | None = None) -> tuple[list[Object], str]:
        """Return all pages of a list and the resourceVersion to watch from."""
        items: list[Object] = []
        params = {"limit": 500, **(query or {})}
        while True:
            page = self.request("GET", path, query=params)
            items += page.get("items") or []
            meta = page.get("metadata") or {}
            if not meta.get("continue"):
                return items, str(meta.get("resourceVersion") or "")
            params["continue"] = meta["continue"]

    def watch(self, path: str, version: str, query: Mapping[str, Any] | None = None) -> "Watch":
        """Return an open watch from a resourceVersion on. Raises ApiError and Unavailable."""
        params = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": WATCH_SECONDS,
            **(query or {}),
        }
        connection = self._connect(WATCH_SECONDS + 30)
        try:
            connection.request("GET", self._target(path, params), headers=self._headers(None))
            answer = connection.getresponse()
            if answer.status != 200:
                _result(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unavailable(f"watch {path}: {error or type(error).__name__}") from error
        except ApiError:
            connection.close()
            raise
        return Watch(connection, answer)


class Watch:
    """One open watch."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._socket = connection.sock
        self._answer = answer

    def events(self) -> Iterator[tuple[str, Object]]:
        """Yield (type, object) until the server ends the watch. Raises Unavailable when the connection breaks."""
        try:
            while line := self._answer.readline():
                if line.strip():
                    event = json.loads(line)
                    yield event["type"], event["object"]
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            raise Unavailable(f"watch: {error or type(error).__name__}") from error
        finally:
            self.close()

    def close(self) -> None:
        """End the watch, also from another thread."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _result(code: int, content: bytes) -> Object:
    try:
        answer = json.loads(content) if content else {}
    except ValueError:
        answer = {"message": content[:200].decode("utf-8", "replace")}
    if not isinstance(answer, dict):
        answer = {}
    if code in (429, 502, 503, 504):
        raise Unavailable(f"{code}: {answer.get('message') or ''}")
    if code >= 400:
        raise ApiError(code, str(answer.get("reason") or ""), str(answer.get("message") or ""))
    return answer
