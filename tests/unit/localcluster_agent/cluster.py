"""A real local cluster for the tests of this folder: API server, controllers and node agent as processes of their own."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from trainui.localcluster.agent.api import Api, ApiError, Unavailable
from trainui.localcluster.agent.config import read_kubeconfig
from trainui.localcluster.agent.model import from_json

from .conditions import carriers, eventually

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
REPOSITORY = Path(__file__).resolve().parents[3]
MACHINES = "local-0:cpu=8,memory=8Gi;local-1:cpu=8,memory=8Gi;sim-0:cpu=8,kind=status"


class Cluster:
    """One cluster in one folder."""

    def __init__(self, data: Path, job_env: Path, environment: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.job_env = job_env
        self.environment = {
            "TRAINUI_RESTART_BACKOFF_SECONDS": "0.2",
            "TRAINUI_SHUTDOWN_GRACE_SECONDS": "3",
            **(environment or {}),
        }
        self.server: subprocess.Popen[bytes] | None = None
        self.agent: subprocess.Popen[bytes] | None = None
        self._api: Api | None = None

    # Processes

    def _spawn(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.data / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=REPOSITORY,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def start_server(self) -> None:
        self.server = self._spawn("server", "trainui.localcluster", "--data", str(self.data))
        eventually(self._answers, "the API server")

    def _answers(self) -> bool:
        try:
            self.api.request("GET", "/api/v1/namespaces")
        except (Unavailable, ApiError, OSError, AssertionError):
            return False
        return True

    def start_agent(self, machines: str = MACHINES) -> subprocess.Popen[bytes]:
        kubeconfig = str(self.data / "cluster" / "kubeconfig")
        self.agent = self._spawn(
            "agent",
            "trainui.localcluster.agent",
            *(
                "--kubeconfig",
                kubeconfig,
                "--data",
                str(self.data),
                "--machines",
                machines,
                "--job-env",
                str(self.job_env),
            ),
        )
        return self.agent

    def start(self) -> None:
        self.start_server()
        self.start_agent()
        self.wait_ready()

    def wait_ready(self) -> None:
        try:
            eventually(lambda: self.machine_ready("sim-0"), "the machines")
        except AssertionError as error:
            logs = [(self.data / f"{name}.log").read_text()[-3000:] for name in ("server", "agent")]
            raise AssertionError(f"{error}\nserver: {logs[0]}\nagent: {logs[1]}") from error

    def machine_ready(self, name: str) -> bool:
        node = self.api.get(f"/api/v1/nodes/{name}") or {}
        found = [c["status"] for c in (node.get("status") or {}).get("conditions") or [] if c["type"] == "Ready"]
        return found == ["True"]

    def kill_agent(self) -> None:
        assert self.agent
        self.agent.send_signal(signal.SIGKILL)
        self.agent.wait()

    def stop_agent(self) -> int:
        assert self.agent
        self.agent.send_signal(signal.SIGTERM)
        return self.agent.wait(90)

    def close(self) -> None:
        """End everything, also what a failing test left behind."""
        for process in (self.agent, self.server):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for process in self.survivors():
            process.kill()

    def survivors(self) -> list[psutil.Process]:
        """Return the living processes of any pod of this cluster."""
        pods = self.data / "cluster" / "pods"
        uids = [entry.name for entry in pods.iterdir()] if pods.exists() else []
        return [process for uid in uids for process in self.processes(uid)]

    def processes(self, uid: str) -> list[psutil.Process]:
        """Return the living processes of a pod, its shims among them."""
        found = carriers("TRAINUI_POD_UID", uid)
        for process in psutil.process_iter():
            try:
                tag = process.environ().get("TRAINUI_CONTAINER_ID", "")
                if tag.startswith(uid) and process not in found and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    # Objects

    @property
    def api(self) -> Api:
        """The cluster's API; the port is in the kubeconfig that the server wrote."""
        if self._api is None:
            path = self.data / "cluster" / "kubeconfig"
            assert path.exists()
            self._api = Api(read_kubeconfig(path))
        return self._api

    def create(self, kind: str, name: str, **content: Any) -> Object:
        plural = {"ConfigMap": "configmaps", "Secret": "secrets", "PersistentVolumeClaim": "persistentvolumeclaims"}[
            kind
        ]
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **content}
        return self.api.request("POST", f"/api/v1/namespaces/default/{plural}", body)

    def run(self, name: str, command: list[str] | None, machine: str = "local-0", **spec: Any) -> str:
        """Create a pod on a machine and return its uid. `container` has more for its container "main"."""
        container = {
            "name": "main",
            "image": "none",
            **({"command": command} if command else {}),
            **spec.pop("container", {}),
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"nodeName": machine, "restartPolicy": "Never", "containers": [container], **spec},
        }
        return str(self.api.request("POST", PODS, pod)["metadata"]["uid"])

    def pod(self, name: str) -> Object | None:
        return self.api.get(f"{PODS}/{name}")

    def status(self, name: str) -> Object:
        return (self.pod(name) or {}).get("status") or {}

    def container(self, name: str, which: str = "containerStatuses") -> Object:
        entries = self.status(name).get(which) or [{}]
        return entries[0]

    def wait_phase(self, name: str, *phases: str) -> Object:
        return eventually(lambda: self._in_phase(name, phases), f"{name} to be {' or '.join(phases)}")

    def _in_phase(self, name: str, phases: tuple[str, ...]) -> Object | None:
        status = self.status(name)
        return status if status.get("phase") in phases else None

    def delete(self, name: str, grace: int | None = None) -> None:
        self.api.request("DELETE", f"{PODS}/{name}", {} if grace is None else {"gracePeriodSeconds": grace})

    def wait_gone(self, name: str) -> None:
        eventually(lambda: self.pod(name) is None, f"{name} to be gone")

    def log(self, name: str, container: str = "main") -> str:
        access = self.api._access
        request = urllib.request.Request(f"{access.server}{PODS}/{name}/log?container={container}")
        request.add_header("Authorization", f"Bearer {access.token}")
        with urllib.request.urlopen(request, timeout=30, context=access.context) as answer:
            return answer.read().decode("utf-8", "replace")

    def wait_log(self, name: str, text: str) -> str:
        path = self.data / "cluster" / "pods" / str((self.pod(name) or {})["metadata"]["uid"]) / "main" / "0.log"
        return eventually(
            lambda: text if path.exists() and text in path.read_text("utf-8", "replace") else "", f"{text!r} in the log"
        )

    def shim(self, uid: str) -> psutil.Process:
        """Return the shim of a pod's container "main"."""
        state = json.loads((self.data / "cluster" / "pods" / uid / "_state.json").read_text())
        process = next(from_json(record) for record in state["containers"] if record["name"] == "main").process
        assert process
        return psutil.Process(process.pid)

    def events(self, name: str) -> list[tuple[str, str]]:
        """Return reason and message of each event of a pod."""
        items, _ = self.api.list_all("/api/v1/namespaces/default/events")
        return [(item["reason"], item["message"]) for item in items if item["involvedObject"]["name"] == name]

    def agent_log(self) -> str:
        return (self.data / "agent.log").read_text()
