"""Rules of the metadata that every object has."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainui.localcluster.admission.rules import forbidden_field, invalid_value, required
from trainui.localcluster.errors import Cause
from trainui.localcluster.schema.conform import show

_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ANNOTATION_BYTES = 256 * 1024
_KEY_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def check_metadata(metadata: Mapping[str, Any], path: str = "metadata") -> list[Cause]:
    """Return what is wrong with labels, annotations, finalizers and owners."""
    causes = list(check_labels(metadata.get("labels") or {}, f"{path}.labels"))
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        causes += _key(key.lower(), f"{path}.annotations", key)
    if sum(len(key) + len(str(value).encode()) for key, value in annotations.items()) > _ANNOTATION_BYTES:
        message = f"Too long: may not be more than {_ANNOTATION_BYTES} bytes"
        causes.append(Cause(f"{path}.annotations", message, "FieldValueTooLong"))
    for name in metadata.get("finalizers") or ():
        causes += _key(name, f"{path}.finalizers", name)
    return causes + _owners(metadata.get("ownerReferences") or [], f"{path}.ownerReferences")


def check_labels(labels: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Yield what is wrong with label keys and values."""
    for key, value in labels.items():
        yield from _key(key, path, key)
        if len(value) > 63:
            yield invalid_value(path, value, "must be no more than 63 bytes")
        if value and not _PART.fullmatch(value):
            yield invalid_value(path, value, _VALUE_MESSAGE)


def _key(key: str, path: str, shown: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and (not _PREFIX.fullmatch(prefix) or len(prefix) > 253):
        yield invalid_value(path, shown, "prefix part must be a lowercase RFC 1123 subdomain")
    if not name:
        yield invalid_value(path, shown, "name part must be non-empty")
    elif len(name) > 63:
        yield invalid_value(path, shown, "name part must be no more than 63 bytes")
    elif not _PART.fullmatch(name):
        yield invalid_value(path, shown, _KEY_MESSAGE)


def _owners(owners: list[dict[str, Any]], path: str) -> list[Cause]:
    causes = []
    for index, owner in enumerate(owners):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                causes.append(required(f"{path}[{index}].{name}"))
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        names = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers)
        message = f"Only one reference can have Controller set to true. Found true in references for {names}"
        causes.append(Cause(path, f"Invalid value: {show(len(owners))} references: {message}"))
    return causes


def check_finalizers(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Cause]:
    """Return a cause when an object that is being deleted gets another finalizer."""
    added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if not added:
        return []
    message = f"no new finalizers can be added if the object is being deleted, found new finalizers {show(added)}"
    return [forbidden_field("metadata.finalizers", message)]
