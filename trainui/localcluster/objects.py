"""Pure helpers over API objects: copies, metadata that the server owns, names, merge patch."""

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from trainui.localcluster.errors import Cause, bad_request
from trainui.localcluster.resources import Kind, Obj

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_KINDS = frozenset({"Namespace", "Service"})
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"

LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)

OWNED_BY_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
"""Metadata that a client may send but never set."""


def editable(obj: Obj) -> Obj:
    """Return a deep copy of an object that may be changed."""
    copy: Obj = orjson.loads(orjson.dumps(obj))
    return copy


def timestamp(seconds: float) -> str:
    """Return a Unix time as Kubernetes writes it: `2026-11-01T12:00:00Z`."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> float:
    """Return the Unix time of an RFC 3339 text. Raises ValueError."""
    return datetime.fromisoformat(text).timestamp()


def generated_name(prefix: str) -> str:
    """Return a name made from `generateName`: the prefix, cut to fit 63 characters, and five random characters."""
    return prefix[:58] + "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(5))


def name_causes(kind: Kind, name: str) -> list[Cause]:
    """Return what is wrong with the name of an object."""
    if not name:
        return [Cause("metadata.name", "Required value: name or generateName is required", "FieldValueRequired")]
    label = kind.kind in _LABEL_KINDS
    limit, pattern, message = (63, _LABEL, LABEL_MESSAGE) if label else (253, _SUBDOMAIN, SUBDOMAIN_MESSAGE)
    causes = []
    if not pattern.fullmatch(name):
        causes.append(Cause("metadata.name", f'Invalid value: "{name}": {message}'))
    if len(name) > limit:
        causes.append(Cause("metadata.name", f'Invalid value: "{name}": must be no more than {limit} bytes'))
    return causes


def check_envelope(kind: Kind, obj: Any, namespace: str, name: str | None = None) -> None:
    """Check that a request body is an object of `kind` for the namespace and name of its URL. Raises ApiError 400."""
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
        raise bad_request("the body of the request is not an object with metadata")
    for key, wanted in (("kind", kind.kind), ("apiVersion", kind.api_version)):
        if obj.get(key, wanted) != wanted:
            raise bad_request(f"{key} in the body ({obj[key]}) does not match what the URL asks for ({wanted})")
    metadata = obj.get("metadata", {})
    sent = metadata.get("namespace") or namespace
    if kind.namespaced and sent != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if name is not None and metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` with a JSON merge patch (RFC 7386) applied; neither argument is changed."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def owner_uids(obj: Obj) -> list[str]:
    """Return the uids of the owners that an object names."""
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or () if owner.get("uid")]


def intent(obj: Obj) -> Obj:
    """Return the part of an object whose change counts as a new generation: all but metadata and status."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def unchanged(old: Obj, new: Obj) -> bool:
    """Tell whether a write changes nothing but the times at which managers wrote: then it is none."""
    before, after = old["metadata"].get("managedFields"), new["metadata"].get("managedFields")
    if before == after:
        return new == old
    if _timeless(before) != _timeless(after):
        return False
    return {**new, "metadata": {**new["metadata"], "managedFields": before}} == old


def _timeless(entries: list[Obj] | None) -> list[Obj]:
    return [{**entry, "time": ""} for entry in entries or ()]
