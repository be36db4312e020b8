"""What a URL means: which kind, namespace, name and subresource."""

from dataclasses import dataclass
from urllib.parse import unquote

from trainui.localcluster.errors import ApiError
from trainui.localcluster.resources import Kind, find


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about. `namespace` is None for a list over all namespaces, and empty for cluster-wide kinds."""

    kind: Kind
    namespace: str | None
    name: str | None = None
    subresource: str = ""


def page_not_found() -> ApiError:
    """Return the 404 of a URL that means nothing."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def parse_target(path: str) -> Target:
    """Return what a path below /api or /apis means. Raises ApiError 404."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2 and parts[1] == "v1":
        group, version, rest = "", "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise page_not_found()
    if rest[0] == "namespaces" and len(rest) > 2 and find(group, version, rest[2]):
        return _target(find(group, version, rest[2]), rest[1], rest[3:])
    if group and rest[0] == "namespaces" and len(rest) > 2:
        raise page_not_found()
    return _target(find(group, version, rest[0]), None, rest[1:])


def _target(kind: Kind | None, namespace: str | None, rest: list[str]) -> Target:
    if kind is None or len(rest) > 2 or (namespace is not None and not kind.namespaced) or "" in rest:
        raise page_not_found()
    if rest and kind.namespaced and namespace is None:
        raise page_not_found()
    subresource = rest[1] if len(rest) == 2 else ""
    known = {"status": kind.status, "log": kind.kind == "Pod"}
    if subresource and not known.get(subresource):
        raise page_not_found()
    return Target(kind, namespace if kind.namespaced else "", rest[0] if rest else None, subresource)
