"""Events as the kubelet writes them: best effort, repeated ones counted, never in the way of the pods."""

import contextlib
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from trainui.localcluster.agent.api import Api, ApiError, Unavailable
from trainui.localcluster.agent.model import stamp

REMEMBERED = 2000
WAITING = 1000


class Recorder:
    """Writes events from a thread of its own."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(WAITING)
        self._known: OrderedDict[tuple[str, ...], tuple[str, int]] = OrderedDict()  # event -> its name and count
        self._serial = time.time_ns()
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)
        self._thread.start()

    def record(self, pod: Mapping[str, Any], kind: str, reason: str, message: str, container: str = "") -> None:
        """Note an event of a pod ("Normal" or "Warning"); it is dropped when the API server is away for long."""
        meta = pod["metadata"]
        involved: dict[str, str] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        }
        if container:
            involved["fieldPath"] = f"spec.containers{{{container}}}"
        now = stamp(time.time())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": meta["namespace"]},
            "involvedObject": involved,
            "type": kind,
            "reason": reason,
            "message": message[:1024],
            "source": {"component": "kubelet", "host": pod["spec"].get("nodeName") or ""},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "reportingComponent": "kubelet",
            "reportingInstance": pod["spec"].get("nodeName") or "",
        }
        with contextlib.suppress(queue.Full):  # an event is news, not state
            self._queue.put_nowait(event)

    def close(self, timeout: float) -> None:
        """Write what is left, for at most `timeout` seconds."""
        try:
            self._queue.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            try:
                self._write(event)
            except (ApiError, Unavailable):
                continue

    def _write(self, event: dict[str, Any]) -> None:
        involved = event["involvedObject"]
        key = (involved["uid"], involved.get("fieldPath", ""), event["type"], event["reason"], event["message"])
        path = f"/api/v1/namespaces/{involved['namespace']}/events"
        name, count = self._known.get(key, ("", 0))
        if name:
            try:
                again = {"count": count + 1, "lastTimestamp": event["lastTimestamp"]}
                self._api.merge_patch(f"{path}/{name}", again)
                self._known[key] = (name, count + 1)
                self._known.move_to_end(key)
                return
            except ApiError as error:
                if error.code != 404:
                    raise
        self._serial += 1
        event["metadata"]["name"] = f"{involved['name']}.{self._serial:x}"
        self._api.request("POST", path, event)
        self._known[key] = (event["metadata"]["name"], 1)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
