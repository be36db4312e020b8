"""One client for every cluster: the official client's configuration, auth and transport, raw JSON as plain dicts.

Typed objects of the official client cost four times as much and its watch and log readers lose data (kubernetes-client/python#2118,
#2426); both time-outs are set on every call because a half-open connection would hang for ever (kubernetes-client/python#1148).
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes import client as official
from kubernetes import config as official_config

from trainui.cluster.errors import Unavailable, from_response
from trainui.cluster.kinds import Kind, kind_of

FIELD_MANAGER = "trainui"
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
WATCH_SECONDS = 240
LOG_IDLE_SECONDS = (
    300.0  # a silent log is opened again, since a half-open connection looks the same (kubernetes-client/python#1546)
)
LIST_LIMIT = 500
POOL_SIZE = 1024  # every followed container holds a connection; fewer would throw connections away (kubernetes-client/python#290)
CHUNK_BYTES = 65536

Object = dict[str, Any]


class Cluster:
    """Calls the API server; may be used from many threads. Every method raises ClusterError."""

    def __init__(self, configuration: official.Configuration) -> None:
        configuration.connection_pool_maxsize = POOL_SIZE
        configuration.retries = False
        self._api = official.ApiClient(configuration)
        self._host = configuration.host.rstrip("/")

    @classmethod
    def from_kubeconfig(cls, path: str) -> "Cluster":
        """Return a client for the current context of a kubeconfig file, or of the pod we run in when `path` is "in-cluster".

        Raises Unavailable when the file is not there (yet) or names no usable context.
        """
        configuration = official.Configuration()
        loaders: Any = official_config  # without types
        try:
            if path == "in-cluster":
                loaders.load_incluster_config(client_configuration=configuration)
            else:
                loaders.load_kube_config(config_file=path, client_configuration=configuration, persist_config=False)
        except (official_config.ConfigException, OSError) as error:
            raise Unavailable(f"the kubeconfig cannot be used: {error}", verb="read", what=path) from error
        return cls(configuration)

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        """Return one object. Raises NotFound."""
        return self._json("GET", kind.path(namespace, name), what=f"{kind.kind} {name}")

    def list(
        self, kind: Kind, namespace: str | None = None, label_selector: str = "", field_selector: str = ""
    ) -> tuple[list[Object], str]:
        """Return all objects of a kind and the resource version to watch from; large lists are fetched in pages."""
        items: list[Object] = []
        query = (
            {"limit": str(LIST_LIMIT)}
            | ({"labelSelector": label_selector} if label_selector else {})
            | ({"fieldSelector": field_selector} if field_selector else {})
        )
        while True:
            page = self._json("GET", kind.path(namespace), query=query, what=kind.plural)
            for item in page.get("items") or []:
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
                items.append(item)
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                return items, metadata.get("resourceVersion", "")
            query = query | {"continue": metadata["continue"]}

    def create(self, obj: Object, dry_run: bool = False) -> Object:
        """Create an object and return it as stored. Raises AlreadyExists, Invalid, Forbidden."""
        kind = kind_of(obj)
        query = {"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"} | ({"dryRun": "All"} if dry_run else {})
        return self._json("POST", kind.path(obj["metadata"].get("namespace")), query=query, body=obj, what=_what(obj))

    def apply(self, obj: Object, force: bool = True, dry_run: bool = False) -> Object:
        """Apply an object server-side as field manager `trainui`. Raises Conflict (when not forced), Invalid, Forbidden."""
        kind, meta = kind_of(obj), obj["metadata"]
        query = {"fieldManager": FIELD_MANAGER, "force": str(force).lower()} | ({"dryRun": "All"} if dry_run else {})
        return self._json(
            "PATCH",
            kind.path(meta.get("namespace"), meta["name"]),
            query=query,
            body=obj,
            content_type="application/apply-patch+yaml",
            what=_what(obj),
        )

    def merge_patch(self, kind: Kind, namespace: str | None, name: str, patch: Object, subresource: str = "") -> Object:
        """Change the named fields of an object and nothing else. Raises NotFound, Invalid, Conflict."""
        path = kind.path(namespace, name, subresource)
        return self._json(
            "PATCH",
            path,
            query={"fieldManager": FIELD_MANAGER},
            body=patch,
            content_type="application/merge-patch+json",
            what=f"{kind.kind} {name}",
        )

    def delete(
        self, kind: Kind, namespace: str | None, name: str, propagation: str = "Background", uid: str | None = None
    ) -> None:
        """Delete an object, only the one with `uid` if that is given. Raises NotFound, Conflict (another uid)."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        self._json("DELETE", kind.path(namespace, name), body=body, what=f"{kind.kind} {name}")

    def watch(self, kind: Kind, resource_version: str, label_selector: str = "") -> Iterator[Object]:
        """Yield watch events ({type, object}), bookmarks too, until the server ends the watch.

        Raises Gone when the version is too old, whether the server says so by status or by an ERROR event.
        """
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        if label_selector:
            query["labelSelector"] = label_selector
        for line in self._lines(kind.path(), query, read_seconds=WATCH_SECONDS + 30, what=kind.plural):
            event = orjson.loads(line)
            if event.get("type") == "ERROR":
                status = event.get("object") or {}
                raise from_response(
                    int(status.get("code") or 500), orjson.dumps(status), verb="watch", what=kind.plural
                )
            yield event

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
        yield from self._chunks(
            path, query, read_seconds=LOG_IDLE_SECONDS if follow else READ_SECONDS, what=f"log of {pod}/{container}"
        )

    def version(self) -> Object:
        """Return the server's version: the cheapest call that shows it is there and knows us."""
        return self._json("GET", "/version", what="version")

    def close(self) -> None:
        """Give up all connections."""
        self._api.rest_client.pool_manager.clear()

    def _lines(self, path: str, query: dict[str, str], read_seconds: float, what: str) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks(path, query, read_seconds=read_seconds, what=what, verb="watch"):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line.strip())

    def _chunks(
        self, path: str, query: dict[str, str], read_seconds: float | None, what: str, verb: str = "read"
    ) -> Iterator[bytes]:
        response = self._request("GET", path, query, None, "application/json", read_seconds, verb, what)
        try:
            if response.status >= 400:
                raise from_response(response.status, response.read(CHUNK_BYTES), verb=verb, what=what)
            while chunk := response.read1(CHUNK_BYTES):
                yield chunk
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"the connection broke ({type(error).__name__})", verb=verb, what=what) from error
        finally:
            response.close()

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        what: str,
    ) -> Object:
        verb = {"GET": "read", "POST": "create", "PATCH": "change", "DELETE": "delete"}[method]
        response = self._request(method, path, query or {}, body, content_type, READ_SECONDS, verb, what)
        try:
            data = response.read()
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"the connection broke ({type(error).__name__})", verb=verb, what=what) from error
        finally:
            response.release_conn()
        if response.status >= 400:
            raise from_response(
                response.status, data, verb=verb, what=what, retry_after=response.headers.get("Retry-After")
            )
        parsed: Object = orjson.loads(data)
        return parsed

    def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Object | None,
        content_type: str,
        read_seconds: float | None,
        verb: str,
        what: str,
    ) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "trainui"} | (
            {"Content-Type": content_type} if body is not None else {}
        )
        self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        url = f"{self._host}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            return self._api.rest_client.pool_manager.request(
                method, url, headers=headers, body=orjson.dumps(body) if body is not None else None, preload_content=False, retries=False,
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(
                f"the API server does not answer ({type(error).__name__})", verb=verb, what=what
            ) from error


def _what(obj: Object) -> str:
    return f"{obj['kind']} {obj['metadata'].get('name', '')}"
