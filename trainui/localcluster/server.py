"""The process of the local cluster: HTTP server, controllers, expiry, and a clean end."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn

from trainui.localcluster.api.app import Api
from trainui.localcluster.certificates import ensure_certificate
from trainui.localcluster.errors import ApiError
from trainui.localcluster.folder import ClusterFolder
from trainui.localcluster.store import Store
from trainui.localcluster.webhooks.gate import gated

log = logging.getLogger(__name__)
EVENT_SECONDS = 3600.0
SWEEP_SECONDS = 60.0
END_SECONDS = 1

Controllers = Callable[[Store], Coroutine[Any, Any, None]]


class Server:
    """A local cluster on its folder."""

    def __init__(self, folder: ClusterFolder, listener: socket.socket, controllers: Controllers | None) -> None:
        """Open the store. `controllers` runs beside the API until it is cancelled. Raises sqlite3.Error, ValueError."""
        self.folder = folder
        folder.withdraw()
        self._authority, certificate, key = ensure_certificate(folder.path)
        self.token = folder.token()
        self.store = Store(folder.database, gated)
        self.api = Api(self.store, self.token, folder.pods)
        self.listener = listener
        self._controllers = controllers
        config = uvicorn.Config(
            self.api,
            log_config=None,
            log_level="critical",  # what fails in a request is logged by the API; the rest is chatter about connections
            access_log=False,
            lifespan="off",
            ssl_certfile=certificate,
            ssl_keyfile=key,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=END_SECONDS,
        )
        self._uvicorn = _Uvicorn(config)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.listener.getsockname()[1])

    def stop(self) -> None:
        """End open streams and the server; may be called from a signal handler of the loop."""
        self.api.close()
        self._uvicorn.should_exit = True

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`; calls `ready` once clients can come. A controller that fails ends the server and raises."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(name, self.stop)
        beside = [loop.create_task(self._expire())]
        if self._controllers is not None:
            beside.append(loop.create_task(self._controllers(self.store)))
        serving = loop.create_task(self._uvicorn.serve([self.listener]))
        try:
            self.folder.announce(self.port, self.token, self._authority)
            ready()
            await asyncio.wait({serving, *beside}, return_when=asyncio.FIRST_COMPLETED)
            self.stop()
            await serving
        finally:
            for task in beside:
                task.cancel()
            ended = await asyncio.gather(*beside, return_exceptions=True)
            self.store.close()
        for result in ended:
            if isinstance(result, Exception):
                raise result

    async def _expire(self) -> None:
        while True:
            try:
                self.store.expire("Event", self.store.clock() - EVENT_SECONDS)
            except ApiError as error:
                log.error("old events stay for now: %s", error.message)
            await asyncio.sleep(SWEEP_SECONDS)


class _Uvicorn(uvicorn.Server):
    """uvicorn without its own signal handlers: ours also end the open streams."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Leave signals alone."""
        yield
