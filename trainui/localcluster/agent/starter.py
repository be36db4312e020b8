"""Prepares volumes and environment of a pod's containers and starts them."""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trainui.localcluster.agent import launcher
from trainui.localcluster.agent.api import Api, ApiError, Unavailable
from trainui.localcluster.agent.config import Settings
from trainui.localcluster.agent.devices import DeviceBook
from trainui.localcluster.agent.environment import ConfigError, Fetch, resolve_environment
from trainui.localcluster.agent.folders import PodFolder
from trainui.localcluster.agent.mounts import Mount
from trainui.localcluster.agent.plan import Launch, Place, container_tag, plan_launch
from trainui.localcluster.agent.volumes import VolumeError, plan_volume

Object = Mapping[str, Any]
FETCH_SECONDS = 2.0  # how long one look at a ConfigMap or Secret serves
KEYED = frozenset({"configMap", "secret", "projected", "downwardAPI"})
PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets", "PersistentVolumeClaim": "persistentvolumeclaims"}


class Starter:
    """Starts the containers of one pod. Errors of the API server (Unavailable, ApiError) pass through."""

    def __init__(
        self, settings: Settings, api: Api, folder: PodFolder, allocatable: Mapping[str, str], devices: DeviceBook
    ) -> None:
        self._settings = settings
        self._api = api
        self._folder = folder
        self._allocatable = allocatable
        self._devices = devices
        self._fetched: dict[tuple[str, str, str], tuple[float, Object | None]] = {}
        self._volumes: dict[str, Path] | None = None
        self.launches: dict[str, Launch] = {}

    def set_up_volumes(self, pod: Object) -> None:
        """Make all volumes of the pod, once. Raises VolumeError with the kubelet's words."""
        if self._volumes is not None:
            return
        self._folder.create()
        folders: dict[str, Path] = {}
        for volume in pod["spec"].get("volumes") or []:
            try:
                plan = plan_volume(volume, pod, self._fetcher(pod), self._allocatable, self._settings.host_paths)
                if plan.claim is not None and self._fetch(pod, "PersistentVolumeClaim", plan.claim) is None:
                    raise VolumeError(f'persistentvolumeclaim "{plan.claim}" not found')
                folders[volume["name"]] = self._folder.set_up(plan, pod["metadata"]["namespace"])
            except VolumeError as error:
                raise VolumeError(f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}') from error
        self._volumes = folders

    def refresh_volumes(self, pod: Object) -> None:
        """Bring the files of ConfigMaps, Secrets and the pod's own fields up to date; what cannot be had now stays as it is."""
        for volume in pod["spec"].get("volumes") or []:
            if KEYED.isdisjoint(volume):
                continue
            with contextlib.suppress(VolumeError, ApiError, Unavailable):
                plan = plan_volume(volume, pod, self._fetcher(pod), self._allocatable, ())
                self._folder.set_up(plan, pod["metadata"]["namespace"])

    def launch(self, pod: Object, spec: Object, restarts: int) -> Launch:
        """Return how to start a container. Raises VolumeError, ConfigError, NoCommand."""
        self.set_up_volumes(pod)
        devices = self._devices.variables(pod["metadata"]["uid"], pod["spec"].get("nodeName") or "", spec)
        if devices is None:
            raise ConfigError("the machine has fewer free GPUs than the container asks for")
        fetch = self._fetcher(pod)
        mounts: list[Mount] = self._folder.mounts(spec, self._volumes or {}, self._variables(pod, spec))
        place = replace(self.place(pod, spec["name"]), devices=devices)
        launch = plan_launch(pod, spec, restarts, mounts, fetch, place)
        self.launches[spec["name"]] = launch
        return launch

    def _variables(self, pod: Object, spec: Object) -> Mapping[str, str]:
        if not any(mount.get("subPathExpr") for mount in spec.get("volumeMounts") or []):
            return {}
        return resolve_environment(spec, pod, self._fetcher(pod), self._allocatable)

    def start(self, pod: Object, spec: Object, restarts: int, launch: Launch) -> launcher.Started | None:
        """Run an attempt; see `launcher.start`."""
        self._folder.prepare_container(spec["name"])
        tag = container_tag(pod, spec["name"], restarts)
        return launcher.start(self._folder, spec["name"], restarts, launch, tag, self._settings.log_max_bytes)

    def place(self, pod: Object, container: str) -> Place:
        """Return where the pod's programs live."""
        return Place(
            job_env=str(self._settings.job_env),
            helpers=str(self._folder.helpers),
            home=str(self._folder.home),
            temporary=str(self._folder.short),
            termination_log=str(self._folder.termination_log(container)),
            rsh_folder=str(self._folder.rsh / pod["metadata"]["namespace"]),
            rsh_socket=str(self._folder.short / "rsh"),
            allocatable=self._allocatable,
        )

    def _fetcher(self, pod: Object) -> Fetch:
        return lambda kind, name: self._fetch(pod, kind, name)

    def _fetch(self, pod: Object, kind: str, name: str) -> Object | None:
        namespace = pod["metadata"]["namespace"]
        key = (namespace, kind, name)
        when, found = self._fetched.get(key, (0.0, None))
        if found is None or time.monotonic() - when > FETCH_SECONDS:
            found = (
                self._api.get(f"/api/v1/namespaces/{quote(namespace)}/{PLURALS[kind]}/{quote(name)}") if name else None
            )
            self._fetched[key] = (time.monotonic(), found)
        return found
