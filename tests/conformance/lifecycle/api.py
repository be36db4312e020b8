"""The API server as kubectl sees it: somebody else than trainui, with verdicts instead of exceptions."""

import base64
import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from trainui.cluster.kinds import Kind, kind_of

Json = dict[str, Any]
logging.getLogger("httpx").setLevel(logging.WARNING)  # a line per request would bury what a failing test says
MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True)
class Answer:
    """What the API server said to one request."""

    code: int
    body: Json
    warnings: list[str]

    @property
    def accepted(self) -> bool:
        """Whether the request was carried out."""
        return self.code < 400

    def verdict(self) -> Json:
        """Return the answer in the shape of the corpus."""
        verdict: Json = {"accepted": self.accepted, "code": self.code, "warnings": self.warnings}
        if not self.accepted:
            causes = (self.body.get("details") or {}).get("causes") or []
            verdict |= {"reason": self.body.get("reason"), "message": self.body.get("message")}
            verdict["causes"] = [{"field": c.get("field", ""), "message": c.get("message", "")} for c in causes]
        return verdict


class Api:
    """A client of one cluster; may be used from many threads."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._http = httpx.Client(
            base_url=cluster["server"],
            verify=ssl.create_default_context(cadata=authority),
            headers={"Authorization": f"Bearer {user['token']}"},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32),
            timeout=60,
        )

    def close(self) -> None:
        """Give up all connections."""
        self._http.close()

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """Return an object, or None."""
        answer = self._call("GET", kind.path(namespace, name))
        return answer.body if answer.accepted else None

    def list(self, kind: Kind, namespace: str) -> list[Json]:
        """Return the objects of a kind in a namespace."""
        answer = self._call("GET", kind.path(namespace))
        assert answer.accepted, answer
        return [{"apiVersion": kind.api_version, "kind": kind.kind} | item for item in answer.body["items"]]

    def create(self, obj: Json) -> Answer:
        """Create an object."""
        return self._call("POST", kind_of(obj).path(obj["metadata"].get("namespace")), obj)

    def patch(self, kind: Kind, namespace: str, name: str, patch: Json, subresource: str = "") -> Answer:
        """Send a JSON merge patch."""
        return self._call("PATCH", kind.path(namespace, name, subresource), patch, MERGE_PATCH)

    def replace(self, obj: Json) -> Answer:
        """Replace an object by another of its name."""
        kind, metadata = kind_of(obj), obj["metadata"]
        live = self.get(kind, metadata.get("namespace", ""), metadata["name"])
        assert live is not None, f"nothing to replace: {metadata['name']}"
        version = {"resourceVersion": live["metadata"]["resourceVersion"]}
        path = kind.path(metadata.get("namespace"), metadata["name"])
        return self._call("PUT", path, obj | {"metadata": metadata | version})

    def delete(self, kind: Kind, namespace: str, name: str) -> Answer:
        """Delete an object as kubectl does."""
        return self._call("DELETE", kind.path(namespace, name), {"propagationPolicy": "Background"})

    def _call(self, method: str, path: str, body: Json | None = None, media: str = "application/json") -> Answer:
        query = {} if method in ("GET", "DELETE") else {"fieldManager": "kubectl"}
        answer = self._http.request(
            method, path, params=query, json=body, headers={"Content-Type": media} if body is not None else {}
        )
        warnings = [text.partition('"')[2].rpartition('"')[0] for text in answer.headers.get_list("Warning")]
        return Answer(answer.status_code, answer.json(), warnings)
