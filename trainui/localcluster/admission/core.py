"""Defaults and rules of the small built-in kinds."""

import base64
import binascii
import re

from trainui.localcluster.admission.rules import (
    IMMUTABLE,
    Write,
    changed,
    forbidden_field,
    invalid_value,
    required,
    spec_of,
)
from trainui.localcluster.errors import Cause, bad_request
from trainui.localcluster.objects import editable

_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_DATA_KEY_MESSAGE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
MAX_DATA = 1024 * 1024
_SECRET_KEYS = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


def default_namespace(write: Write) -> None:
    """Name a namespace by a label and make it active."""
    metadata = write.new["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name", "")}
    if write.old is None:
        write.new["status"] = {"phase": "Active"}


def default_secret(write: Write) -> None:
    """Move stringData into data, as base64. Raises ApiError 400 for data that is no base64."""
    texts = write.new.pop("stringData", None) or {}
    data = write.new.get("data") or {}
    if not isinstance(texts, dict) or not isinstance(data, dict):
        raise bad_request("data and stringData of a Secret are maps of text")
    data = {**data, **{key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}}
    for key, value in data.items():
        try:
            base64.b64decode(str(value if value is not None else ""), validate=True)
        except binascii.Error as error:
            raise bad_request(f"data.{key} of the Secret is not base64: {error}") from error
    if data:
        write.new["data"] = data


def default_claim(write: Write) -> None:
    """Bind a claim at once: on the local cluster it is a folder that is made when first mounted."""
    if write.old is not None:
        return
    spec = write.new.setdefault("spec", {})
    if not isinstance(spec, dict):
        return
    spec["volumeName"] = f"pvc-{write.new['metadata'].get('uid', '')}"
    requests = (spec.get("resources") or {}).get("requests") or {}
    write.new["status"] = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": editable(requests)}


def default_pod_group(write: Write) -> None:
    """Let members of a group be disrupted one by one, unless said otherwise."""
    spec = write.new.get("spec")
    if isinstance(spec, dict) and not spec.get("disruptionMode"):
        spec["disruptionMode"] = {"single": {}}


def default_quota(write: Write) -> None:
    """Show the limits of a quota in its status; usage is counted when a pod is created."""
    if write.old is None and spec_of(write.new).get("hard"):
        write.new["status"] = {"hard": editable(write.new["spec"]["hard"]), "used": {}}


def check_config_map(write: Write) -> list[Cause]:
    """Check names of entries, that none is given twice, the size, and `immutable`."""
    data, binary = write.new.get("data") or {}, write.new.get("binaryData") or {}
    causes = _data_keys("data", data) + _data_keys("binaryData", binary)
    causes += [
        invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData") for key in data if key in binary
    ]
    return causes + _size({**data, **binary}) + _frozen(write, "data", "binaryData")


def check_secret(write: Write) -> list[Cause]:
    """Check names of entries, the size, the entries that the type needs, and what may not change."""
    data = write.new.get("data") or {}
    causes = _data_keys("data", data) + _size(data) + _frozen(write, "data")
    causes += [required(f"data[{key}]") for key in _SECRET_KEYS.get(write.new.get("type", ""), ()) if key not in data]
    if write.old is not None and write.old.get("type") != write.new.get("type"):
        causes.append(invalid_value("type", write.new.get("type"), IMMUTABLE))
    return causes


def _data_keys(path: str, data: dict[str, str]) -> list[Cause]:
    return [invalid_value(f"{path}[{key}]", key, _DATA_KEY_MESSAGE) for key in data if not _DATA_KEY.fullmatch(key)]


def _size(data: dict[str, str]) -> list[Cause]:
    if sum(len(value.encode()) for value in data.values()) <= MAX_DATA:
        return []
    return [Cause("", f"Too long: may not be more than {MAX_DATA} bytes", "FieldValueTooLong")]


def _frozen(write: Write, *names: str) -> list[Cause]:
    old, new = write.old, write.new
    if old is None or not old.get("immutable"):
        return []
    message = "field is immutable when `immutable` is set"
    causes = [forbidden_field(name, message) for name in names if (old.get(name) or {}) != (new.get(name) or {})]
    if not new.get("immutable"):
        causes.append(forbidden_field("immutable", message))
    return causes


def check_service(write: Write) -> list[Cause]:
    """Check that a Service that needs ports has some, with numbers that exist."""
    spec = spec_of(write.new)
    ports = spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        return [required("spec.ports")]
    message = "must be between 1 and 65535, inclusive"
    return [
        invalid_value(f"spec.ports[{index}].port", port["port"], message)
        for index, port in enumerate(ports)
        if not 1 <= port.get("port", 1) <= 65535
    ]


def check_claim(write: Write) -> list[Cause]:
    """Check that a claim says how it is used and how much it wants; afterwards only the request may change."""
    spec = spec_of(write.new)
    causes = []
    if not spec.get("accessModes"):
        causes.append(required("spec.accessModes", "at least 1 access mode is required"))
    if not ((spec.get("resources") or {}).get("requests") or {}).get("storage"):
        causes.append(required("spec.resources[storage]"))
    if write.old is not None:
        names = [name for name in {*spec, *spec_of(write.old)} if name != "resources"]
        if changed(spec_of(write.old), spec, "spec", *names):
            message = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
            causes.append(forbidden_field("spec", message))
    return causes


def check_priority_class(write: Write) -> list[Cause]:
    """Check that the value of a class stays what it is."""
    if write.old is None:
        return []
    message = "may not be changed in an update."
    return [
        forbidden_field(name, message)
        for name in ("value", "preemptionPolicy")
        if write.old.get(name) != write.new.get(name)
    ]


def check_event(write: Write) -> list[Cause]:
    """Check that an event lies in the namespace of what it is about."""
    about = write.new.get("involvedObject") or {}
    namespace = about.get("namespace") or "default"
    if namespace == write.new["metadata"].get("namespace"):
        return []
    return [invalid_value("involvedObject.namespace", namespace, "does not match event.namespace")]


def check_pod_group(write: Write) -> list[Cause]:
    """Check that a group has one scheduling policy, and that only a gang's size changes."""
    spec = spec_of(write.new)
    policy = spec.get("schedulingPolicy")
    causes = []
    if isinstance(policy, dict) and len(policy) != 1:
        causes.append(invalid_value("spec.schedulingPolicy", None, "exactly one of `basic`, `gang` is required"))
    if write.old is None:
        return causes
    old = spec_of(write.old)
    if set(old.get("schedulingPolicy") or {}) != set(policy or {}):
        causes.append(invalid_value("spec.schedulingPolicy", policy, IMMUTABLE))
    return causes + changed(old, spec, "spec", "disruptionMode", "priorityClassName", "workloadRef")
