"""The log endpoint of pods."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from trainui.localcluster.api.columns import at
from trainui.localcluster.api.options import flag, number, text
from trainui.localcluster.api.target import Target
from trainui.localcluster.errors import bad_request
from trainui.localcluster.podlogs import (
    CHUNK,
    Renderer,
    Restart,
    comparable_stamp,
    nanosecond_stamp,
    offset_since,
    offset_tail,
    restarts,
)
from trainui.localcluster.resources import Obj
from trainui.localcluster.store import Store

POLL_SECONDS = (0.05, 0.25)
SMALL = 32 * 1024
_STATUS_FIELDS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_STREAMS = {"": b"", "All": b"", "Stdout": b"stdout", "Stderr": b"stderr"}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a client asks for."""

    follow: bool
    previous: bool
    timestamps: bool
    since: bytes | None
    tail: int | None
    limit: int | None
    stream: bytes


def _wanted(request: Request, now: float) -> _Wanted:
    since_time, seconds = text(request, "sinceTime"), number(request, "sinceSeconds", least=1)
    if since_time and seconds is not None:
        raise bad_request("at most one of `sinceTime` or `sinceSeconds` may be specified")
    since = nanosecond_stamp(now - seconds) if seconds is not None else None
    if since_time:
        try:
            since = comparable_stamp(since_time)
        except ValueError as error:
            raise bad_request(f"sinceTime is not a time as RFC 3339 writes it: {error}") from error
    if text(request, "stream") not in _STREAMS:
        raise bad_request("stream must be All, Stdout or Stderr")
    return _Wanted(
        follow=flag(request, "follow"),
        previous=flag(request, "previous"),
        timestamps=flag(request, "timestamps"),
        since=since,
        tail=number(request, "tailLines"),
        limit=number(request, "limitBytes", least=1),
        stream=_STREAMS[text(request, "stream")],
    )


def pod_log(store: Store, pods: Path, request: Request, target: Target, closing: asyncio.Event) -> StreamingResponse:
    """Answer a GET of a pod's log from the folder of pods.

    Raises ApiError: 404 for a pod that is not there, 400 for a container that is not in it or has no log yet.
    """
    pod = store.read("Pod", target.namespace, target.name or "")
    wanted = _wanted(request, store.clock())
    container = _container(pod, text(request, "container"))
    uid = pod["metadata"]["uid"]
    run = _run(pod, container, restarts(pods / uid / container), wanted.previous)
    file: FileIO | None = None
    if run is not None:
        try:
            file = run.path.open("rb", buffering=0)
        except OSError:
            raise _not_started(pod, container) from None
    reader = _LogReader(store, uid, run, file, wanted, closing)
    return StreamingResponse(reader.chunks(), media_type="text/plain")


def _container(pod: Obj, name: str) -> str:
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    main = [container["name"] for container in spec.get("containers") or []]
    init = [container["name"] for container in spec.get("initContainers") or []]
    if name:
        if name not in main + init:
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    if len(main) == 1:
        return str(main[0])
    default = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if default in main:
        return str(default)
    choices = f"choose one of: [{' '.join(main)}]" + (
        f" or one of the init containers: [{' '.join(init)}]" if init else ""
    )
    raise bad_request(f"a container name must be specified for pod {pod_name}, {choices}")


def _status(pod: Obj, container: str) -> dict[str, Any]:
    for field in _STATUS_FIELDS:
        for status in at(pod, f"status.{field}", []):
            if status.get("name") == container:
                return dict(status)
    return {}


def _not_started(pod: Obj, container: str) -> Exception:
    waiting = at(_status(pod, container), "state.waiting", {})
    init = {status.get("name") for status in pod["spec"].get("initContainers") or []}
    reason = waiting.get("reason") or ("PodInitializing" if init and container not in init else "ContainerCreating")
    return bad_request(f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start: {reason}')


def _run(pod: Obj, container: str, runs: list[Restart], previous: bool) -> Restart | None:
    """Return which run's log is meant; None for a container that ended without one. Raises ApiError 400."""
    status = _status(pod, container)
    name = pod["metadata"]["name"]
    if previous:
        between = at(status, "state.waiting") is not None and at(status, "lastState.terminated") is not None
        count = (runs[-1].count if runs else 0) - (0 if between else 1)
        found = [run for run in runs if run.count == count]
        if not found:
            raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        return found[0]
    if runs:
        return runs[-1]
    if at(status, "state.terminated") is not None or at(pod, "status.phase") in ("Succeeded", "Failed"):
        return None
    raise _not_started(pod, container)


class _LogReader:
    """Reads one log to its end, and on while the container writes, from a file that stays open."""

    def __init__(
        self,
        store: Store,
        uid: str,
        run: Restart | None,
        file: FileIO | None,
        wanted: _Wanted,
        closing: asyncio.Event,
    ) -> None:
        self.store, self.uid, self.run, self.file = store, uid, run, file
        self.wanted, self.closing = wanted, closing
        self.renderer = Renderer(wanted.timestamps, wanted.limit, wanted.stream)
        # "From now on" is settled before the answer begins, so what is written once a client has it is never left out.
        self.size = os.fstat(file.fileno()).st_size if file else 0

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the log's text."""
        if self.file is None:
            return
        try:
            position = await asyncio.to_thread(self._start, self.file)
            async for chunk in self._read(self.file, position):
                yield chunk
        finally:
            self.file.close()

    def _start(self, file: FileIO) -> int:
        """Return where to begin, and go there."""
        buffered = BufferedReader(file)
        size, start = self.size, 0
        if self.wanted.tail is not None:
            start = offset_tail(buffered, self.wanted.tail, size)
        if self.wanted.since is not None:
            start = max(start, offset_since(buffered, self.wanted.since, size))
        buffered.detach()
        return file.seek(start)

    async def _read(self, file: FileIO, position: int) -> AsyncIterator[bytes]:
        pause = POLL_SECONDS[0]
        while not self.renderer.full and not self.closing.is_set():
            over = not self.wanted.follow or self._over()
            left = os.fstat(file.fileno()).st_size - position
            if left > 0:
                pause = POLL_SECONDS[0]
                data, text = await self._take(file, left)
                position += len(data)
                if text:
                    yield text
            elif over:
                return
            else:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, POLL_SECONDS[1])

    async def _take(self, file: FileIO, left: int) -> tuple[bytes, bytes]:
        """Return what is read next, and its text; a large piece is read beside the loop."""
        if left <= SMALL:
            data = file.read(left)
            return data, self.renderer.feed(data)
        data = await asyncio.to_thread(file.read, CHUNK)
        return data, await asyncio.to_thread(self.renderer.feed, data)

    def _over(self) -> bool:
        """Tell whether nothing more will be written. Asked before the size, so that a read to the end after it is the last."""
        run = self.run
        if run is None or run.exit_path.exists():
            return True
        return self.store.by_uid(self.uid) is None and not run.path.exists()
