"""What the parts of one test cluster share: its folder, ports, certificates, users, processes and network."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rig import certificates
from tests.rig.api import Api
from tests.rig.network import Network, free_port
from tests.rig.processes import Processes

# name -> user name and group of the API server's token file
USERS = {
    "admin": ("admin", "system:masters"),
    "trainui": ("trainui", "trainui"),  # named as the service accounts of deploy/: access.py
    "trainui-web": ("trainui-web", "trainui"),
    "trainui-all": (
        "trainui-all",
        "trainui",
    ),  # both, for an instance of `make up`, whose processes share one kubeconfig
    "kubeflow-trainer": ("kubeflow-trainer", "system:masters"),
    "stranger": ("stranger", "strangers"),
}


@dataclass
class Site:
    """One cluster's place on this computer."""

    folder: Path
    network: Network
    processes: Processes = field(init=False)
    authority: certificates.Authority = field(init=False)
    tokens: dict[str, str] = field(init=False)
    _ports: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.processes = Processes(self.folder / "logs")
        self.authority = certificates.Authority(self.folder / "certificates")
        self.tokens = {name: secrets.token_hex(16) for name in USERS}
        rows = [f'{self.tokens[name]},{user},{user},"{group}"' for name, (user, group) in USERS.items()]
        self.write("tokens.csv", "\n".join(rows) + "\n")

    def port(self, name: str) -> int:
        """Return the port of a listener, the same at every question."""
        return self._ports.setdefault(name, free_port())

    @property
    def server(self) -> str:
        """Return the address of the API server for everybody on this computer."""
        return f"https://127.0.0.1:{self.port('kube-apiserver')}"

    def api(self, user: str = "admin") -> Api:
        """Return a client that acts as a user."""
        return Api(self.server, self.authority.file, self.tokens[user])

    def write(self, name: str, content: str | dict[str, Any]) -> str:
        """Write a file that only we can read and return its path; a dict is written as JSON, which is YAML too."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.touch(mode=0o600)
        unfinished.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        unfinished.rename(path)  # a program may be reading it
        return str(path)

    def kubeconfig(self, user: str = "admin") -> str:
        """Write a user's kubeconfig and return its path."""
        cluster = {"server": self.server, "certificate-authority": str(self.authority.file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "rig",
            "clusters": [{"name": "rig", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": user}}],
        }
        return self.write(f"kubeconfig-{user}", config)
