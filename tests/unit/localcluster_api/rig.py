"""A real server of the local cluster in a thread, and a small client for it."""

import asyncio
import base64
import contextlib
import http.client
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import urllib3
import yaml

from trainui.localcluster.folder import ClusterFolder
from trainui.localcluster.server import Server

Json = dict[str, Any]
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
KUBECTL = Path(sys.executable).with_name("kubectl")
DEADLINE = 20.0


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Return the first true value of a condition; fail when it stays false."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {DEADLINE:g} s")


class Answer:
    """An HTTP answer."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.data = response.data

    def json(self) -> Any:
        return orjson.loads(self.data)


class Client:
    """Requests with the token of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        self.server = cluster["server"]
        self.context = context
        self.token = config["users"][0]["user"]["token"]
        self.http = urllib3.PoolManager(ssl_context=context, maxsize=8, retries=False, timeout=DEADLINE)

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection of its own."""
        host, _, port = self.server.removeprefix("https://").partition(":")
        return http.client.HTTPSConnection(host, int(port), timeout=DEADLINE, context=self.context)

    def raw(self, method: str, path: str, **options: Any) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}
        return self.http.request(method, self.server + path, headers=headers, **options)

    def __call__(
        self, method: str, path: str, body: Any = None, media: str = "application/json", **headers: str
    ) -> Answer:
        content = body if isinstance(body, bytes | None) else orjson.dumps(body)
        sent = {"Content-Type": media, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return Answer(self.raw(method, path, body=content, headers=sent))

    def ok(self, method: str, path: str, body: Any = None, media: str = "application/json", **headers: str) -> Any:
        answer = self(method, path, body, media, **headers)
        assert answer.status < 300, answer.data.decode()
        return answer.json()

    def apply(self, path: str, body: Json, manager: str, force: bool = False) -> Answer:
        query = f"?fieldManager={manager}&force={str(force).lower()}"
        return self("PATCH", path + query, body, "application/apply-patch+yaml")

    def lines(self, path: str) -> Iterator[Json]:
        """Yield the events of a watch until it ends."""
        response = self.raw("GET", path, preload_content=False)
        rest = b""
        try:
            if response.status != 200:
                raise AssertionError(response.data.decode())
            for chunk in response.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(orjson.loads, lines)
        finally:
            response.close()


@contextlib.contextmanager
def serving(data: Path, *namespaces: str) -> Iterator["RunningServer"]:
    """Run a server that has these namespaces for a block."""
    running = RunningServer(data)
    try:
        for name in namespaces:
            running.client("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield running
    finally:
        running.stop()


class RunningServer:
    """A server in a thread of this process, without controllers."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.folder = ClusterFolder.prepare(data)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(DEADLINE), "the server did not start"
        self.client = Client(self.folder.kubeconfig)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.server = Server(self.folder, self.folder.bind(None), None)
        await self.server.run(self._ready.set)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.server.stop)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the server did not end"

    def call(self, action: Callable[[], Any]) -> Any:
        """Run something in the server's loop."""

        async def run() -> Any:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(DEADLINE)


class Kubectl:
    """The real kubectl, with a home of its own."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str) -> None:
        self.arguments = [str(KUBECTL), "--kubeconfig", str(kubeconfig), "--namespace", namespace]
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.arguments, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=60,
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.arguments, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )


def trainjob(name: str, **spec: Any) -> Json:
    """Return a TrainJob."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": "plain"}, **spec},
    }


def pod(name: str, **spec: Any) -> Json:
    """Return a Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }


def config_map(name: str, **data: str) -> Json:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
