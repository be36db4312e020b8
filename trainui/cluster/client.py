"""One client for every cluster: the official client's configuration, auth and transport, raw JSON as plain dicts.

Typed objects of the official client cost four times as much (kubernetes-client/python#1867), its watch and log readers lose data
(kubernetes-client/python#2118, #2426), and its patches guess their content type (kubernetes-client/python#866).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
import urllib3

from trainui.cluster.errors import ClusterError, Gone, Idle, Unavailable, from_response
from trainui.cluster.kinds import TRAIN_JOB, Kind, kind_of
from trainui.cluster.patience import CALL_SECONDS, Patience
from trainui.cluster.transport import CONNECT_SECONDS, Request, Response, Transport

FIELD_MANAGER = "trainui"
LIST_LIMIT = 500
LIST_RESTARTS = 2  # then the list is asked for in one piece
CHUNK_BYTES = 65536
CLOCK_SECONDS = 10.0
ERROR_BYTES = 1 << 20

Object = dict[str, Any]
Names = list[str]  # here, since `list` is a method below
Listed = tuple[list[Object], str]  # the objects, and the resource version to watch from


@dataclass(frozen=True)
class Times:
    """Time-outs in seconds.

    connect: of every connection. call: of one call with its repetitions. page: of one page of a list. watch: after which the server ends a
    watch. idle: after which a silent watch is opened again; servers send bookmarks about every minute. log_idle: the same for a followed log
    (kubernetes-client/python#1546: a silent log and a dead connection look the same).
    """

    connect: float = CONNECT_SECONDS
    call: float = CALL_SECONDS
    page: float = 60.0
    watch: int = 240
    idle: float = 100.0
    log_idle: float = 300.0


class Cluster:
    """Calls the API server; may be used from many threads. Every method raises ClusterError.

    What can be repeated without harm is, a few times, when the API server does not answer or is busy (see `patience`).
    """

    def __init__(self, transport: Transport, times: Times | None = None) -> None:
        self._transport = transport
        self._times = times or Times()

    @classmethod
    def from_kubeconfig(cls, path: str, times: Times | None = None) -> "Cluster":
        """Return a client for the current context of a kubeconfig file, or of the pod we run in when `path` is "in-cluster".

        Raises Unavailable when the file is not there (yet) or names no usable context.
        """
        transport = Transport(path)
        transport.login()
        return cls(transport, times)

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """Return one object. Raises NotFound."""
        return self._json(Request("GET", kind.path(namespace, name), "read", f"{kind.kind} {name}", {}))

    def list(
        self, kind: Kind, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> Listed:
        """Return all objects of a kind and the resource version to watch from; large lists are fetched in pages.

        A list whose pages outlive the server's memory (410 in the middle) begins again, at last in one piece.
        """
        selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
        query = {name: value for name, value in selectors.items() if value}
        for _ in range(LIST_RESTARTS):
            try:
                return self._pages(kind, namespace, query | {"limit": str(LIST_LIMIT)})
            except Gone:
                continue
        return self._pages(kind, namespace, query)

    def create(self, obj: Object, dry_run: bool = False) -> Object:
        """Create an object and return it as stored. Raises AlreadyExists, Invalid, Forbidden.

        Repeated only where it certainly had no effect; after an answer that was lost the caller finds out whether its object is there.
        """
        kind = kind_of(obj)
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        path = kind.path(obj["metadata"].get("namespace"))
        return self._json(Request("POST", path, "create", _what(obj), query, obj), idempotent=dry_run)

    def apply(self, obj: Object, force: bool = False, dry_run: bool = False) -> Object:
        """Apply an object server-side as field manager `trainui`.

        force: take fields away from other managers; only for objects that are ours, never for a TrainJob. Raises Conflict (whose
        `managers` are the fields and whose they are), Invalid, Forbidden.
        """
        kind, meta = kind_of(obj), obj["metadata"]
        if force and kind == TRAIN_JOB:
            raise ValueError("a TrainJob may be somebody else's: it is never taken over")
        query = {"fieldManager": FIELD_MANAGER, "force": str(force).lower()} | ({"dryRun": "All"} if dry_run else {})
        path = kind.path(meta.get("namespace"), meta["name"])
        return self._json(Request("PATCH", path, "change", _what(obj), query, obj, "application/apply-patch+yaml"))

    def merge_patch(self, kind: Kind, namespace: str | None, name: str, patch: Object, subresource: str = "") -> Object:
        """Change the named fields of an object and nothing else. Raises NotFound, Invalid, Conflict."""
        path, query = kind.path(namespace, name, subresource), {"fieldManager": FIELD_MANAGER}
        request = Request("PATCH", path, "change", f"{kind.kind} {name}", query, patch, "application/merge-patch+json")
        # A patch of one version would meet its own effect as a conflict.
        return self._json(request, idempotent="resourceVersion" not in (patch.get("metadata") or {}))

    def delete(
        self, kind: Kind, namespace: str | None, name: str, propagation: str = "Background", uid: str | None = None
    ) -> None:
        """Delete an object, only the one with `uid` if that is given. Raises NotFound, Conflict (another uid).

        Without a uid it is not repeated: by then the name may be another object's.
        """
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        request = Request("DELETE", kind.path(namespace, name), "delete", f"{kind.kind} {name}", {}, body)
        self._json(request, idempotent=uid is not None)

    def watch(self, kind: Kind, resource_version: str, label_selector: str = "") -> Iterator[Object]:
        """Yield watch events ({type, object}), bookmarks too, until the server ends the watch.

        Raises Gone when the version is too old, whether the server says so by status or by an ERROR event, NotFound when the kind is not
        served, Idle when nothing comes any more.
        """
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._times.watch),
        }
        if label_selector:
            query["labelSelector"] = label_selector
        request = Request("GET", kind.path(), "watch", kind.plural, query)
        for line in _lines(self._stream(request, self._times.idle)):
            yield _event(line, request)

    def logs(
        self,
        namespace: str,
        pod: str,
        container: str,
        since_time: str | None = None,
        follow: bool = True,
        previous: bool = False,
    ) -> Iterator[bytes]:
        """Yield the bytes of a container's log as they come, each line behind its time stamp; ends when the container has ended.

        Raises Invalid while the container has not started, NotFound when the pod is gone. Chunks are no lines.
        """
        query = (
            {"container": container, "follow": str(follow).lower(), "timestamps": "true"}
            | ({"sinceTime": since_time} if since_time else {})
            | ({"previous": "true"} if previous else {})
        )
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        request = Request("GET", path, "read", f"log of {pod}/{container}", query)
        yield from self._stream(request, self._times.log_idle if follow else self._times.call)

    def version(self) -> Object:
        """Return the server's version: the cheapest call that shows it is there and knows us."""
        return self._json(Request("GET", "/version", "read", "version", {}))

    def groups(self) -> Names:
        """Return `group/version` of everything that the cluster serves beside the core group."""
        found = self._json(Request("GET", "/apis", "read", "API groups", {})).get("groups") or []
        return sorted(version["groupVersion"] for group in found for version in group.get("versions") or [])

    def server_time(self) -> datetime | None:
        """Return the API server's clock, to the second; None when it does not tell."""
        response = self._transport.send(Request("GET", "/version", "read", "clock", {}), CLOCK_SECONDS)
        response.drain_conn()
        told = response.headers.get("Date")
        return parsedate_to_datetime(told) if told else None

    def close(self) -> None:
        """Give up all connections."""
        self._transport.close()

    def _pages(self, kind: Kind, namespace: str | None, query: dict[str, str]) -> Listed:
        items = []
        while True:
            request = Request("GET", kind.path(namespace), "read", kind.plural, query)
            page = self._json(request, seconds=self._times.page)
            for item in page.get("items") or []:
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
                items.append(item)
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                return items, metadata.get("resourceVersion", "")
            query = query | {"continue": metadata["continue"]}

    def _json(self, request: Request, idempotent: bool = True, seconds: float | None = None) -> Object:
        patience = Patience.of_a_call(seconds or self._times.call)
        while True:
            try:
                return self._once(request, patience)
            except ClusterError as error:
                pause = patience.pause(error, idempotent)
                if pause is None:
                    raise
            time.sleep(pause)

    def _once(self, request: Request, patience: Patience) -> Object:
        if not patience.left():
            raise Unavailable("no time was left to ask the API server", verb=request.verb, what=request.what)
        connect = min(self._times.connect, patience.left())
        response = self._transport.send(request, patience.left(), connect)
        try:
            data = _whole(response, request, patience)
        finally:
            response.release_conn()
        if response.status >= 400:
            raise _refusal(response, data, request)
        return _parsed(data, request)

    def _stream(self, request: Request, idle_seconds: float) -> Iterator[bytes]:
        response = self._transport.send(request, idle_seconds, self._times.connect, stream=True)
        try:
            if response.status >= 400:
                raise _refusal(response, response.read(ERROR_BYTES), request)
            while chunk := response.read1(CHUNK_BYTES):
                yield chunk
        except urllib3.exceptions.ReadTimeoutError as error:
            said = f"nothing came for {idle_seconds:g} s"
            raise Idle(said, verb=request.verb, what=request.what) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _broken(error, request) from error
        finally:
            response.close()


def _whole(response: Response, request: Request, patience: Patience) -> bytes:
    """Return the body, read within the time of the call however slowly it drips."""
    chunks = []
    try:
        while chunk := response.read1(CHUNK_BYTES):
            chunks.append(chunk)
            if not patience.left():
                response.close()
                raise Unavailable("the answer took too long", verb=request.verb, what=request.what, carried_out=True)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        response.close()
        raise _broken(error, request) from error
    return b"".join(chunks)


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield whole lines; what has no end when the stream ends was torn, and comes again with the next watch."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line for line in lines if line.strip())


def _event(line: bytes, request: Request) -> Object:
    """Return a watch event. Raises what an ERROR event says, and Unavailable for what is none."""
    event = _parsed(line, request)
    obj = event.get("object")
    if event.get("type") == "ERROR":
        status = obj if isinstance(obj, dict) else {}
        code = status.get("code")
        raise from_response(
            code if isinstance(code, int) else 500, orjson.dumps(status), verb=request.verb, what=request.what
        )
    if not isinstance(obj, dict) or not (obj.get("metadata") or {}).get("resourceVersion"):
        raise Unavailable("the watch sent something that is no event", verb=request.verb, what=request.what)
    return event


def _parsed(data: bytes, request: Request) -> Object:
    try:
        parsed = orjson.loads(data)
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict):  # a page of a proxy, or a torn line
        said = "the answer is not from an API server: it is no JSON object"
        raise Unavailable(said, verb=request.verb, what=request.what, carried_out=True)
    return parsed


def _refusal(response: Response, data: bytes, request: Request) -> ClusterError:
    asked = {"verb": request.verb, "what": request.what, "path": request.path}
    return from_response(response.status, data, retry_after=response.headers.get("Retry-After"), **asked)


def _broken(error: Exception, request: Request) -> Unavailable:
    said = f"the connection broke ({type(error).__name__})"
    return Unavailable(said, verb=request.verb, what=request.what, carried_out=True)


def _what(obj: Object) -> str:
    return f"{obj['kind']} {obj['metadata'].get('name', '')}"
