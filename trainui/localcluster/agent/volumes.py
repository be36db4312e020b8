"""What a pod's volumes hold: plans of files and folders, before anything is written. Pure."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from trainui.localcluster.agent.environment import ConfigError, Fetch, field_value, object_data, resource_value

Object = Mapping[str, Any]
HOST_PATHS_VARIABLE = "TRAINUI_HOST_PATHS"
DEFAULT_MODE = 0o644


class VolumeError(Exception):
    """A volume cannot be set up yet; the message is the kubelet's, and the pod waits in ContainerCreating."""


@dataclass(frozen=True)
class File:
    """One file of a volume: path within it, content, permission bits."""

    path: str
    content: bytes
    mode: int


@dataclass(frozen=True)
class VolumePlan:
    """A volume to set up: files to write into a folder of its own, or a folder elsewhere to use as it is."""

    name: str
    files: Sequence[File] = field(default_factory=tuple)
    claim: str | None = None  # use the claim's folder
    host_path: str | None = None  # use this folder or file of the computer
    create: bool = True  # make the host folder when it is missing
    read_only: bool = False


def plan_volume(
    volume: Object, pod: Object, fetch: Fetch, allocatable: Mapping[str, str], host_paths: Sequence[str]
) -> VolumePlan:
    """Return the plan of one volume of a pod's spec. Raises VolumeError when it cannot be set up (yet)."""
    name = volume["name"]
    if "emptyDir" in volume:
        return VolumePlan(name)
    if (source := volume.get("persistentVolumeClaim")) is not None:
        return VolumePlan(name, claim=source["claimName"])
    if (source := volume.get("hostPath")) is not None:
        return _host_path(name, source, host_paths)
    try:
        files = _files(volume, pod, fetch, allocatable)
    except ConfigError as error:
        raise VolumeError(str(error)) from error
    return VolumePlan(name, tuple(files), read_only=True)


def _files(volume: Object, pod: Object, fetch: Fetch, allocatable: Mapping[str, str]) -> list[File]:
    for key in ("configMap", "secret", "downwardAPI"):
        if (source := volume.get(key)) is not None:
            mode = _mode(source.get("defaultMode"), DEFAULT_MODE)
            return _source_files(key, source, mode, pod, fetch, allocatable)
    if (projected := volume.get("projected")) is not None:
        mode = _mode(projected.get("defaultMode"), DEFAULT_MODE)
        files: dict[str, File] = {}
        for sources in projected.get("sources") or []:
            for key, source in sources.items():
                files |= {file.path: file for file in _source_files(key, source, mode, pod, fetch, allocatable)}
        return list(files.values())
    kind = next((key for key in volume if key != "name"), "none")
    raise VolumeError(
        f"volumes of type {kind} do not exist on the local cluster; use a persistentVolumeClaim or emptyDir"
    )


def _mode(value: int | None, default: int) -> int:
    return default if value is None else int(value)


def _source_files(
    key: str, source: Object, mode: int, pod: Object, fetch: Fetch, allocatable: Mapping[str, str]
) -> list[File]:
    if key in ("configMap", "secret"):
        kind = "ConfigMap" if key == "configMap" else "Secret"
        name = source.get("secretName") or source.get("name") or ""
        return _keyed_files(kind, name, source, mode, fetch)
    if key == "downwardAPI":
        return [_downward_file(item, mode, pod, allocatable) for item in source.get("items") or []]
    raise VolumeError(f"the local cluster offers no {key} for a projected volume")


def _keyed_files(kind: str, name: str, source: Object, mode: int, fetch: Fetch) -> list[File]:
    optional = bool(source.get("optional"))
    found = fetch(kind, name)
    if found is None:
        if optional:
            return []
        raise VolumeError(f'{kind.lower()} "{name}" not found')
    data = object_data(found)
    items = source.get("items")
    if not items:
        return [File(key, content, mode) for key, content in sorted(data.items())]
    files = []
    for item in items:
        if item["key"] not in data:
            if optional:
                continue
            wording = (
                "configmap references non-existent config key"
                if kind == "ConfigMap"
                else "references non-existent secret key"
            )
            raise VolumeError(f"{wording}: {item['key']}")
        files.append(File(_inside(item["path"]), data[item["key"]], _mode(item.get("mode"), mode)))
    return files


def _inside(path: str) -> str:
    normal = posixpath.normpath(path)
    if path.startswith("/") or ".." in PurePosixPath(path).parts or normal == ".":
        raise VolumeError(f'the path "{path}" leaves its volume')
    return normal


def _downward_file(item: Object, mode: int, pod: Object, allocatable: Mapping[str, str]) -> File:
    if reference := item.get("fieldRef"):
        text = field_value(pod, reference["fieldPath"])
    else:
        reference = item.get("resourceFieldRef") or {}
        names = [reference.get("containerName")]
        container = next((each for each in pod["spec"]["containers"] if each["name"] in names), None)
        if container is None:
            raise VolumeError(f"container {names[0]} not found")
        text = resource_value(container, reference, allocatable)
    return File(_inside(item["path"]), text.encode(), _mode(item.get("mode"), mode))


def _host_path(name: str, source: Object, allowed: Sequence[str]) -> VolumePlan:
    path = posixpath.normpath(source["path"])
    if not path.startswith("/") or not any(_is_within(path, posixpath.normpath(folder)) for folder in allowed):
        raise VolumeError(
            f"hostPath {path} is not allowed: name its folder in {HOST_PATHS_VARIABLE} (several are separated by colons)"
        )
    kind = source.get("type") or ""
    return VolumePlan(name, host_path=path, create=kind in ("", "DirectoryOrCreate"))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or folder == "/" or path.startswith(folder + "/")


def sub_path(path: str) -> str:
    """Return a mount's subPath, checked to stay inside its volume. Raises VolumeError."""
    return _inside(path) if path else ""
