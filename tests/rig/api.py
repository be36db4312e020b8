"""A small client of the API server for building up the test cluster and looking into it: plain dicts, none of the code under test."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import orjson
import yaml

Object = dict[str, Any]
MANAGER = "trainui-rig"
POLL_SECONDS = 0.05


class Refused(Exception):
    """The API server said no; `status` is its code, the text its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One user's view of the cluster."""

    def __init__(self, server: str, authority: Path, token: str) -> None:
        self.http = httpx.Client(
            base_url=server,
            headers={"Authorization": f"Bearer {token}"},
            verify=_trusting(authority),
            trust_env=False,
            timeout=30,
        )
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: Any
    ) -> Any:
        """Ask and return the JSON of the answer; raises Refused for 4xx and 5xx."""
        content = None if body is None else orjson.dumps(body)
        answer = self.http.request(method, path, params=query, content=content, headers={"Content-Type": content_type})
        if answer.status_code >= 400:
            said = answer.json().get("message", "") if "json" in answer.headers.get("content-type", "") else answer.text
            raise Refused(answer.status_code, said)
        return orjson.loads(answer.content) if "json" in answer.headers.get("content-type", "") else answer.text

    def path(self, api_version: str, kind: str, namespace: str = "", name: str = "") -> str:
        """Return the path of a kind, a namespace's objects of it, or one object."""
        base = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        if (api_version, kind) not in self._plurals:
            for entry in self.request("GET", base)["resources"]:
                if "/" not in entry["name"]:
                    self._plurals[(api_version, entry["kind"])] = (entry["name"], entry["namespaced"])
        if (api_version, kind) not in self._plurals:
            raise Refused(404, f"the API server does not serve {kind} of {api_version}")
        plural, namespaced = self._plurals[(api_version, kind)]
        within = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{base}{within}/{plural}" + (f"/{name}" if name else "")

    def of(self, obj: Object, namespace: str = "") -> str:
        """Return the path of an object that is given in full."""
        metadata = obj["metadata"]
        return self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", namespace), metadata["name"])

    def create(self, obj: Object, namespace: str = "") -> Object:
        """Create one object."""
        path = self.path(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", namespace))
        return dict(self.request("POST", path, obj))

    def apply(self, obj: Object, namespace: str = "", **query: Any) -> Object:
        """Server-side apply one object by force."""
        query = {"fieldManager": MANAGER, "force": "true"} | query
        return dict(self.request("PATCH", self.of(obj, namespace), obj, "application/apply-patch+yaml", **query))

    def patch(self, obj: Object, change: Object, subresource: str = "") -> Object:
        """Merge-patch one object, or a subresource of it."""
        path = self.of(obj) + (f"/{subresource}" if subresource else "")
        return dict(self.request("PATCH", path, change, "application/merge-patch+json"))

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Return one object, or None if there is none of that name."""
        try:
            return dict(self.request("GET", self.path(api_version, kind, namespace, name)))
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str = "", **query: Any) -> list[Object]:
        """Return the objects of a kind, of one namespace or of all."""
        return list(self.request("GET", self.path(api_version, kind, namespace), **query)["items"])

    def delete(self, obj: Object, **query: Any) -> None:
        """Delete one object; that it is gone already is fine."""
        try:
            self.request("DELETE", self.of(obj), **query)
        except Refused as refused:
            if refused.status != 404:
                raise


def documents(path: Path) -> list[Object]:
    """Return the objects of a manifest; those of large files are kept as JSON beside it, which is read ten times faster."""
    kept = path.with_suffix(".json")
    if not kept.exists():
        loaded = [doc for doc in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if isinstance(doc, dict)]
        unfinished = kept.with_suffix(f".{time.monotonic_ns()}")
        unfinished.write_bytes(orjson.dumps(loaded, default=str))
        unfinished.rename(kept)
    return list(orjson.loads(kept.read_bytes()))


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60) -> Any:
    """Wait until a condition holds and return what it gave; a refusal counts as not yet."""
    end = time.monotonic() + seconds
    last: Exception | None = None
    while True:
        try:
            if found := condition():
                return found
        except (Refused, httpx.TransportError) as error:
            last = error
        assert time.monotonic() < end, f"waited {seconds:.0f} s for {what}" + (f" ({last})" if last else "")
        time.sleep(POLL_SECONDS)


def _trusting(authority: Path) -> Any:
    return ssl.create_default_context(cafile=str(authority))
