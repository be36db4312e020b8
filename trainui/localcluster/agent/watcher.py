"""Follows the pods of one machine: list, watch, and list again when the watch is too old or broken."""

import logging
import threading
from typing import Any, Protocol

from trainui.localcluster.agent.api import Api, ApiError, Unavailable, Watch

log = logging.getLogger(__name__)
PAUSES = (0.2, 0.5, 1.0, 2.0)
PODS = "/api/v1/pods"


class Taker(Protocol):
    """Who is told about the pods."""

    def replace_pods(self, machine: str, pods: list[dict[str, Any]]) -> None:
        """Take the complete list."""

    def take_pod(self, pod: dict[str, Any]) -> None:
        """Take a new or changed pod."""

    def lose_pod(self, pod: dict[str, Any]) -> None:
        """Learn that a pod is gone."""


class Watcher(threading.Thread):
    """The thread that follows one machine."""

    def __init__(self, api: Api, machine: str, taker: Taker) -> None:
        super().__init__(name=f"watch {machine}", daemon=True)
        self._api = api
        self._machine = machine
        self._taker = taker
        self._query = {"fieldSelector": f"spec.nodeName={machine}"}
        self._stopped = threading.Event()
        self._watch: Watch | None = None

    def run(self) -> None:
        """Follow until stopped."""
        failures = 0
        while not self._stopped.is_set():
            try:
                pods, version = self._api.list_all(PODS, self._query)
                self._taker.replace_pods(self._machine, pods)
                failures = 0
                while not self._stopped.is_set():
                    version = self._follow(version)
            except (Unavailable, ApiError) as error:
                if self._stopped.is_set():
                    return
                if failures == 0:
                    log.info("%s: %s", self.name, error)
                self._stopped.wait(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1

    def _follow(self, version: str) -> str:
        """Watch from a version until the server ends the watch; return the version reached. Raises when it broke."""
        self._watch = self._api.watch(PODS, version, self._query)
        if self._stopped.is_set():
            self._watch.close()
        for kind, found in self._watch.events():
            if kind == "ERROR":
                raise ApiError(int(found.get("code") or 500), str(found.get("reason")), str(found.get("message")))
            version = str(found["metadata"]["resourceVersion"])
            if kind == "DELETED":
                self._taker.lose_pod(found)
            elif kind in ("ADDED", "MODIFIED"):
                self._taker.take_pod(found)
        return version

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._watch is not None:
            self._watch.close()
