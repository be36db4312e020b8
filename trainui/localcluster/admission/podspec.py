"""Rules of a pod's spec, wherever it stands: in a Pod or in the template of a Job."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from trainui.localcluster.admission.rules import invalid_value, required, unsupported
from trainui.localcluster.errors import Cause
from trainui.localcluster.objects import LABEL_MESSAGE
from trainui.localcluster.quantities import parse_quantity
from trainui.localcluster.schema.conform import show

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_STANDARD = re.compile(r"cpu|memory|storage|ephemeral-storage|hugepages-.+")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def check_pod_spec(spec: dict[str, Any], path: str) -> list[Cause]:
    """Return what is wrong with a pod's spec that fits its schema."""
    causes = []
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    volumes = spec.get("volumes") or []
    for index, volume in enumerate(volumes):
        causes += _volume(volume, f"{path}.volumes[{index}]")
    names = {volume.get("name") for volume in volumes}
    seen: set[str] = set()
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or []):
            where = f"{path}.{group}[{index}]"
            causes += _container(container, names, where)
            if container.get("name") in seen:
                causes.append(
                    Cause(f"{where}.name", f"Duplicate value: {show(container['name'])}", "FieldValueDuplicate")
                )
            seen.add(container.get("name", ""))
    for name in ("hostname", "subdomain"):
        if spec.get(name) and not _LABEL.fullmatch(spec[name]):
            causes.append(invalid_value(f"{path}.{name}", spec[name], LABEL_MESSAGE))
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        message = "must be greater than or equal to 0"
        causes.append(
            invalid_value(f"{path}.terminationGracePeriodSeconds", spec["terminationGracePeriodSeconds"], message)
        )
    return causes


def _volume(volume: dict[str, Any], path: str) -> list[Cause]:
    causes = []
    if volume.get("name") and not _LABEL.fullmatch(volume["name"]):
        causes.append(invalid_value(f"{path}.name", volume["name"], LABEL_MESSAGE))
    sources = [name for name in volume if name != "name"]
    if not sources:
        causes.append(required(path, "must specify a volume type"))
    for extra in sources[1:]:
        causes.append(
            Cause(f"{path}.{extra}", "Forbidden: may not specify more than 1 volume type", "FieldValueForbidden")
        )
    return causes


def _container(container: dict[str, Any], volumes: set[Any], path: str) -> list[Cause]:
    causes = []
    if container.get("name") and not _LABEL.fullmatch(container["name"]):
        causes.append(invalid_value(f"{path}.name", container["name"], LABEL_MESSAGE))
    if not container.get("image"):
        causes.append(required(f"{path}.image"))
    if container.get("imagePullPolicy") and container["imagePullPolicy"] not in PULL_POLICIES:
        causes.append(unsupported(f"{path}.imagePullPolicy", container["imagePullPolicy"], PULL_POLICIES))
    causes += _environment(container, path)
    for index, mount in enumerate(container.get("volumeMounts") or []):
        if mount.get("name") not in volumes:
            where = f"{path}.volumeMounts[{index}].name"
            causes.append(Cause(where, f"Not found: {show(mount.get('name', ''))}", "FieldValueNotFound"))
    for index, port in enumerate(container.get("ports") or []):
        if not 1 <= port.get("containerPort", 1) <= 65535:
            message = "must be between 1 and 65535, inclusive"
            causes.append(invalid_value(f"{path}.ports[{index}].containerPort", port["containerPort"], message))
    return causes + check_resources(container.get("resources") or {}, f"{path}.resources")


def _environment(container: dict[str, Any], path: str) -> Iterator[Cause]:
    for index, entry in enumerate(container.get("env") or []):
        where = f"{path}.env[{index}]"
        if not entry.get("name"):
            yield required(f"{where}.name")
        elif "=" in entry["name"]:
            message = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            yield invalid_value(f"{where}.name", entry["name"], message)
        source = entry.get("valueFrom")
        if source is None:
            continue
        if entry.get("value"):
            yield invalid_value(f"{where}.valueFrom", "", "may not be specified when `value` is not empty")
        elif len(source) != 1:
            text = (
                "may not have more than one field specified at a time"
                if source
                else "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
            )
            yield invalid_value(f"{where}.valueFrom", "", text)


def check_resources(resources: dict[str, Any], path: str) -> list[Cause]:
    """Return what is wrong with requests and limits: negative, fractions of what cannot be split, requests over limits."""
    causes = []
    amounts: dict[str, dict[str, Decimal]] = {"limits": {}, "requests": {}}
    for group, found in amounts.items():
        for name, value in (resources.get(group) or {}).items():
            where = f"{path}.{group}[{name}]"
            try:
                found[name] = parse_quantity(value)
            except ValueError:
                continue
            if found[name] < 0:
                causes.append(invalid_value(where, str(value), "must be greater than or equal to 0"))
            elif not _STANDARD.fullmatch(name) and found[name] != int(found[name]):
                causes.append(invalid_value(where, str(value), "must be an integer"))
    limits = amounts["limits"]
    for name, amount in amounts["requests"].items():
        causes += _against_limit(name, amount, limits.get(name), resources, path)
    return causes


def _against_limit(
    name: str, amount: Decimal, limit: Decimal | None, resources: dict[str, Any], path: str
) -> Iterator[Cause]:
    where, shown = f"{path}.requests", str(resources["requests"][name])
    extended = not _STANDARD.fullmatch(name)
    if limit is None:
        if extended:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif extended and amount != limit:
        yield invalid_value(where, shown, f"must be equal to {name} limit of {resources['limits'][name]}")
    elif amount > limit:
        yield invalid_value(where, shown, f"must be less than or equal to {name} limit of {resources['limits'][name]}")
