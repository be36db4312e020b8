"""The environment of a container, resolved as the kubelet does. Pure."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from trainui.localcluster.agent.expansion import expand
from trainui.localcluster.quantities import parse_quantity

Object = Mapping[str, Any]
Fetch = Callable[[str, str], Object | None]  # ("ConfigMap" or "Secret", name) -> the object, or None when it is missing

LOOPBACK = "127.0.0.1"


class ConfigError(Exception):
    """A container cannot be configured yet; the message is the kubelet's, and the container is tried again."""


def resolve_environment(container: Object, pod: Object, fetch: Fetch, allocatable: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `envFrom` and `env` of a container define, in declaration order.

    A later definition wins; ``$(NAME)`` sees what was defined before it. Raises ConfigError for a ConfigMap, Secret or key
    that is missing and not optional. Rule: kubelet's makeEnvironment.
    """
    namespace = pod["metadata"]["namespace"]
    values: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        prefix = source.get("prefix") or ""
        for kind, reference in (("ConfigMap", source.get("configMapRef")), ("Secret", source.get("secretRef"))):
            if reference is None:
                continue
            for key, value in _all_keys(kind, reference, fetch).items():
                if key and "=" not in prefix + key:
                    values[prefix + key] = value
    for variable in container.get("env") or []:
        name = variable["name"]
        origin = variable.get("valueFrom")
        if origin is None:
            values[name] = expand(variable.get("value") or "", values)
            continue
        found = _value_from(origin, container, pod, namespace, fetch, allocatable)
        if found is not None:
            values[name] = found
    return values


def _all_keys(kind: str, reference: Object, fetch: Fetch) -> dict[str, str]:
    found = fetch(kind, reference.get("name") or "")
    if found is None:
        if reference.get("optional"):
            return {}
        raise ConfigError(missing_object(kind, reference.get("name") or ""))
    return {
        key: data.decode("utf-8", "surrogateescape") for key, data in sorted(object_data(found, texts=True).items())
    }


def missing_object(kind: str, name: str) -> str:
    """Return the kubelet's words for an object that is not there."""
    return f'{kind.lower()} "{name}" not found'


def object_data(found: Object, texts: bool = False) -> dict[str, bytes]:
    """Return the contents of a ConfigMap or Secret by key, as bytes; with `texts` without a ConfigMap's binaryData."""
    if found.get("kind") == "Secret" or ("kind" not in found and "type" in found):
        return {key: _decode(value) for key, value in (found.get("data") or {}).items()}
    content = {key: str(value).encode("utf-8", "surrogateescape") for key, value in (found.get("data") or {}).items()}
    if not texts:
        content |= {key: _decode(value) for key, value in (found.get("binaryData") or {}).items()}
    return content


def _decode(value: str) -> bytes:
    try:
        return base64.b64decode(value or "")
    except (binascii.Error, ValueError):
        return b""


def _value_from(
    origin: Object, container: Object, pod: Object, namespace: str, fetch: Fetch, allocatable: Mapping[str, str]
) -> str | None:
    if reference := origin.get("fieldRef"):
        return field_value(pod, reference["fieldPath"])
    if reference := origin.get("resourceFieldRef"):
        return resource_value(_named_container(pod, reference, container), reference, allocatable)
    for kind, key in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if reference := origin.get(key):
            return _key_value(kind, reference, namespace, fetch)
    raise ConfigError(f"unsupported source of an environment variable: {', '.join(origin) or 'none'}")


def _key_value(kind: str, reference: Object, namespace: str, fetch: Fetch) -> str | None:
    name, key, optional = reference.get("name") or "", reference["key"], bool(reference.get("optional"))
    found = fetch(kind, name)
    if found is None:
        if optional:
            return None
        raise ConfigError(missing_object(kind, name))
    data = object_data(found, texts=True)
    if key not in data:
        if optional:
            return None
        raise ConfigError(f"couldn't find key {key} in {kind} {namespace}/{name}")
    return data[key].decode("utf-8", "surrogateescape")


def _named_container(pod: Object, reference: Object, default: Object) -> Object:
    name = reference.get("containerName")
    if not name:
        return default
    everyone: Sequence[Object] = [*(pod["spec"].get("containers") or []), *(pod["spec"].get("initContainers") or [])]
    for container in everyone:
        if container["name"] == name:
            return container
    raise ConfigError(f"container {name} not found")


def field_value(pod: Object, path: str) -> str:
    """Return what a fieldRef means for this pod. Raises ConfigError for a path that Kubernetes does not offer."""
    metadata, spec = pod["metadata"], pod["spec"]
    fixed: dict[str, str] = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "default",
        "status.podIP": LOOPBACK,
        "status.podIPs": LOOPBACK,
        "status.hostIP": LOOPBACK,
        "status.hostIPs": LOOPBACK,
    }
    if path in fixed:
        return fixed[path]
    for group in ("labels", "annotations"):
        entries: Mapping[str, str] = metadata.get(group) or {}
        if path == f"metadata.{group}":
            return "\n".join(f'{key}="{_quoted(value)}"' for key, value in sorted(entries.items()))
        if path.startswith(f"metadata.{group}['") and path.endswith("']"):
            return entries.get(path[len(f"metadata.{group}['") : -2], "")
    raise ConfigError(f"unsupported fieldPath: {path}")


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resource_value(container: Object, reference: Object, allocatable: Mapping[str, str]) -> str:
    """Return what a resourceFieldRef means: the limit or request, else what the machine can give, by the divisor.

    Raises ConfigError for a resource it does not offer. Rule: kubelet's ExtractContainerResourceValue.
    """
    resource: str = reference["resource"]
    group, _, name = resource.partition(".")
    if group not in ("limits", "requests") or not name:
        raise ConfigError(f"unsupported container resource: {resource}")
    resources = container.get("resources") or {}
    amount = (resources.get(group) or {}).get(name)
    if amount is None and group == "limits":
        amount = allocatable.get(name)
    try:
        quantity = parse_quantity(str(amount if amount is not None else 0))
        divisor = parse_quantity(str(reference.get("divisor") or "1"))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return str(int((quantity / (divisor or Decimal(1))).to_integral_value(rounding=ROUND_CEILING)))
