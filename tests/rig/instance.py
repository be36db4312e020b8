"""trainui on a test cluster: an instance of `make up` as a restricted user, with its admission webhook, reachable for pods."""

import base64
import contextlib
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.rig.certificates import Authority
from tests.rig.rig import Rig
from tests.stack import REPO, Stack, free_port, wait_for
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE

USER = "trainui-all"
_WEBHOOKS = """
import json
import ssl
from jobs.admission.configuration import configurations
print(json.dumps(configurations({url!r}, {authority!r})))
"""


class ClusterStack(Stack):
    """An instance whose cluster is a real Kubernetes. kubectl acts as the administrator there."""

    kubernetes = True

    def __init__(self, rig: Rig, data: Path, **environment: str) -> None:
        settings = {
            "TRAINUI_KUBECONFIG": str(rig.kubeconfig(USER)),
            "TRAINUI_POD_DNS": "1",
            "TRAINUI_HOST": rig.bridge_address,
            "TRAINUI_ALLOWED_HOSTS": f"{rig.bridge_address},127.0.0.1,localhost",
        }
        super().__init__(data, **(settings | environment))
        self.rig = rig
        self.url = f"http://{rig.bridge_address}:{self.port}"
        self._hooks: subprocess.Popen[bytes] | None = None
        self._configurations: list[dict[str, Any]] = []

    def start(self) -> "ClusterStack":
        """Start everything, then have the API server ask our webhook."""
        super().start()
        authority = Authority(self.data.parent / "hooks")
        certificate, key = authority.issue("hooks", "trainui-hooks", ("127.0.0.1",))
        port = free_port()
        address = f"https://127.0.0.1:{port}"
        self._serve_hooks(port, certificate, key)
        wait_for(lambda: self._answers(address, authority), 60, "the admission webhook to answer")
        bundle = base64.b64encode(authority.pem).decode()
        self._configurations = json.loads(self.shell(_WEBHOOKS.format(url=address, authority=bundle)))
        for configuration in self._configurations:
            self.rig.admin.apply(configuration)
        return self

    def stop(self, *arguments: Any) -> str:
        """End it, and leave the cluster to the next installation."""
        for configuration in self._configurations:
            self.rig.admin.delete(configuration)
        if self._hooks is not None:
            self._hooks.terminate()
            self._hooks.wait(30)
        said = super().stop(*arguments)
        metadata = {"name": LEASE_NAME, "namespace": LEASE_NAMESPACE}
        self.rig.admin.delete({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})
        return said

    def kube_environment(self) -> dict[str, str]:
        """Return the environment in which kubectl is the administrator of the cluster."""
        return super().kube_environment() | {"KUBECONFIG": str(self.rig.kubeconfig("admin"))}

    def _serve_hooks(self, port: int, certificate: Path, key: Path) -> None:
        """Run the application once more, with TLS, as deploy/web.yaml does: an API server asks over https only."""
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "trainui.asgi:application",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        command += [
            "--lifespan",
            "off",
            "--log-level",
            "warning",
            "--ssl-certfile",
            str(certificate),
            "--ssl-keyfile",
            str(key),
        ]
        environment = self.environment | self.addresses()
        self._hooks = subprocess.Popen(command, cwd=REPO, env=environment, stdin=subprocess.DEVNULL)

    def _answers(self, address: str, authority: Authority) -> bool:
        assert self._hooks is not None
        assert self._hooks.poll() is None, "the admission webhook did not start"
        with contextlib.suppress(httpx.TransportError):
            return (
                httpx.get(
                    f"{address}/livez", verify=ssl.create_default_context(cafile=str(authority.file)), trust_env=False
                ).status_code
                == 200
            )
        return False


@contextlib.contextmanager
def instance_on(rig: Rig, data: Path, **environment: str) -> Iterator[ClusterStack]:
    """Run an instance on a cluster for a block; its project's namespace and its webhook go with it."""
    stack = ClusterStack(rig, data, **environment)
    try:
        yield stack.start()
    finally:
        stack.stop()
        rig.admin.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stack.project}})
