"""The few objects that `kubectl create KIND` sends as protobuf, whatever the server would rather have.

client-go's typed clients do not fall back to JSON, so the bodies of the kinds that kubectl can create by a command of their own are read here.
Field numbers are those of Kubernetes' generated.proto. A field that is not in these tables refuses the body: nothing is lost silently.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainui.localcluster.objects import timestamp

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_LAST_SECOND = 253402300800  # the year 10000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Unreadable(ValueError):
    """A protobuf body that is damaged, or says something that is not known here."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message: its JSON name, what it holds, and whether there may be many."""

    name: str
    type: str
    many: bool = False


Message = Mapping[int, _Field]


def _message(**fields: str) -> Message:
    """Return a message from `name="number type"`; a type ending in * is a list, map:TYPE a map with text keys."""
    found = {}
    for name, text in fields.items():
        place, type_ = text.split()
        found[int(place)] = _Field(name, type_.rstrip("*"), type_.endswith("*"))
    return found


_MESSAGES: dict[str, Message] = {
    "Unknown": _message(typeMeta="1 TypeMeta", raw="2 bytes", contentEncoding="3 string", contentType="4 string"),
    "TypeMeta": _message(apiVersion="1 string", kind="2 string"),
    "Meta": _message(
        name="1 string",
        generateName="2 string",
        namespace="3 string",
        selfLink="4 string",
        uid="5 string",
        resourceVersion="6 string",
        generation="7 ignored",
        creationTimestamp="8 Time",
        labels="11 map:string",
        annotations="12 map:string",
        finalizers="14 string*",
    ),
    "Time": _message(seconds="1 int", nanos="2 int"),
    "Quantity": _message(string="1 string"),
    "IntOrString": _message(type="1 int", intVal="2 int", strVal="3 string"),
    "Namespace": _message(metadata="1 Meta", spec="2 NamespaceSpec", status="3 NamespaceStatus"),
    "NamespaceSpec": _message(finalizers="1 string*"),
    "NamespaceStatus": _message(phase="1 string"),
    "ConfigMap": _message(metadata="1 Meta", data="2 map:string", binaryData="3 map:bytes", immutable="4 bool"),
    "Secret": _message(
        metadata="1 Meta", data="2 map:bytes", type="3 string", stringData="4 map:string", immutable="5 bool"
    ),
    "ServiceAccount": _message(metadata="1 Meta", automountServiceAccountToken="4 bool"),
    "ResourceQuota": _message(metadata="1 Meta", spec="2 QuotaSpec", status="3 QuotaStatus"),
    "QuotaSpec": _message(hard="1 map:Quantity", scopes="2 string*"),
    "QuotaStatus": _message(hard="1 map:Quantity", used="2 map:Quantity"),
    "PriorityClass": _message(
        metadata="1 Meta", value="2 int", globalDefault="3 bool", description="4 string", preemptionPolicy="5 string"
    ),
    "Service": _message(metadata="1 Meta", spec="2 ServiceSpec", status="3 ServiceStatus"),
    "ServiceSpec": _message(
        ports="1 ServicePort*", selector="2 map:string", clusterIP="3 string", type="4 string", externalName="10 string"
    ),
    "ServiceStatus": _message(loadBalancer="1 Nothing"),
    "ServicePort": _message(
        name="1 string",
        protocol="2 string",
        port="3 int",
        targetPort="4 IntOrString",
        nodePort="5 int",
        appProtocol="6 string",
    ),
    "Job": _message(metadata="1 Meta", spec="2 JobSpec", status="3 Nothing"),
    "JobSpec": _message(parallelism="1 int", completions="2 int", template="6 PodTemplate", backoffLimit="7 int"),
    "PodTemplate": _message(metadata="1 Meta", spec="2 PodSpec"),
    "PodSpec": _message(containers="2 Container*", restartPolicy="3 string", securityContext="14 Nothing"),
    "Container": _message(
        name="1 string",
        image="2 string",
        command="3 string*",
        args="4 string*",
        workingDir="5 string",
        resources="8 Nothing",
        terminationMessagePath="13 string",
        imagePullPolicy="14 string",
        stdin="16 bool",
        stdinOnce="17 bool",
        tty="18 bool",
        terminationMessagePolicy="20 string",
    ),
    "DeleteOptions": _message(
        gracePeriodSeconds="1 int", preconditions="2 Preconditions", propagationPolicy="4 string", dryRun="5 string*"
    ),
    "Preconditions": _message(uid="1 string", resourceVersion="2 string"),
    "Nothing": {},
}
_OBJECTS = frozenset({"Namespace", "ConfigMap", "Secret", "ServiceAccount", "ResourceQuota", "PriorityClass"}) | {
    *("Service", "Job", "DeleteOptions")
}


def read_object(body: bytes) -> dict[str, Any]:
    """Return the object in a protobuf body as its JSON form. Raises Unreadable."""
    if not body.startswith(MAGIC):
        raise Unreadable("the body has no protobuf prefix")
    envelope = _decode(body[len(MAGIC) :], "Unknown", "")
    head = envelope.get("typeMeta", {})
    kind = head.get("kind", "")
    if kind not in _OBJECTS:
        raise Unreadable(f"{kind or 'this kind'} is not read from protobuf; send JSON")
    found = _decode(base64.b64decode(envelope.get("raw", "")), kind, kind)
    return {"apiVersion": head.get("apiVersion", ""), "kind": kind, **found}


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: numbers as they are, the rest as bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        wire = tag & 7
        value: int | bytes
        if wire == _VARINT:
            value, position = _varint(data, position)
        elif wire in (_BYTES, _FIXED64, _FIXED32):
            size = {_FIXED64: 8, _FIXED32: 4}.get(wire)
            if size is None:
                size, position = _varint(data, position)
            value = data[position : position + size]
            position += size
        else:
            raise Unreadable(f"wire type {wire} is not known")
        if position > len(data):
            raise Unreadable("the body ends early")
        yield tag >> 3, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
    raise Unreadable("a number ends early")


def _decode(data: bytes, type_: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    message = _MESSAGES[type_]
    for place, value in _fields(data):
        field = message.get(place)
        if field is None:
            if value in (0, b""):
                continue
            raise Unreadable(f"field {place} of {path or type_} is not read from protobuf; send JSON")
        if field.type == "ignored":
            continue
        where = f"{path}.{field.name}"
        if field.type.startswith("map:"):
            key, item = _entry(value, field.type[4:], where)
            found.setdefault(field.name, {})[key] = item
        elif field.many:
            found.setdefault(field.name, []).append(_value(value, field.type, where))
        else:
            item = _value(value, field.type, where)
            if item not in ("", None):
                found[field.name] = item
    return found


def _entry(value: int | bytes, type_: str, path: str) -> tuple[str, Any]:
    parts = dict(_fields(_bytes(value, path)))
    return _text(parts.get(1, b""), path), _value(parts.get(2, b""), type_, path)


def _value(value: int | bytes, type_: str, path: str) -> Any:
    if type_ == "int":
        number = _int(value, path)
        return number - (1 << 64) if number >= 1 << 63 else number
    if type_ == "bool":
        return bool(_int(value, path))
    if type_ == "string":
        return _text(value, path)
    if type_ == "bytes":
        return base64.b64encode(_bytes(value, path)).decode()
    inner = _decode(_bytes(value, path), type_, path)
    if type_ == "Time":
        return timestamp(inner["seconds"]) if 0 < inner.get("seconds", 0) < _LAST_SECOND else None
    if type_ == "Quantity":
        return inner.get("string", "0")
    if type_ == "IntOrString":
        return inner.get("strVal", "") if inner.get("type") else inner.get("intVal", 0)
    return inner or None


def _int(value: int | bytes, path: str) -> int:
    if not isinstance(value, int):
        raise Unreadable(f"{path} is no number")
    return value


def _bytes(value: int | bytes, path: str) -> bytes:
    if not isinstance(value, bytes):
        raise Unreadable(f"{path} is a number")
    return value


def _text(value: int | bytes, path: str) -> str:
    try:
        return _bytes(value, path).decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is no text") from None
