"""What the node agent is told at its start: arguments, environment, kubeconfig."""

import base64
import os
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from trainui.localcluster.agent.machines import Machine


class ConfigurationError(Exception):
    """The agent cannot start as it was asked to; the message says which setting and what to do."""


@dataclass(frozen=True)
class Settings:
    """Everything that the agent's behaviour depends on."""

    data: Path
    job_env: Path
    machines: Sequence[Machine]
    restart_back_off: float = 10.0
    log_max_bytes: int = 256 * 1024**2
    shutdown_grace: float = 10.0
    heartbeat: float = 10.0
    host_paths: Sequence[str] = field(default_factory=tuple)

    @property
    def pods(self) -> Path:
        """The folder of all pods."""
        return self.data / "cluster" / "pods"

    @property
    def claims(self) -> Path:
        """The folder of persistent volume claims."""
        return self.data / "cluster" / "volumes"


def read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that environment variables give. Raises ConfigurationError naming the variable.

    TRAINUI_RESTART_BACKOFF_SECONDS (10): wait before the second restart of a container, doubling to five minutes.
    TRAINUI_POD_LOG_MAX_BYTES (256 MiB): size at which a container's log ends and further output is discarded.
    TRAINUI_SHUTDOWN_GRACE_SECONDS (10): the longest that pods may take to end when the local cluster is stopped.
    TRAINUI_HOST_PATHS (none): folders, separated by colons, within which hostPath volumes are allowed.
    """
    paths = [part for part in environ.get("TRAINUI_HOST_PATHS", "").split(":") if part]
    for path in paths:
        if not path.startswith("/"):
            raise ConfigurationError(f'TRAINUI_HOST_PATHS: "{path}" is no absolute path')
    return {
        "restart_back_off": _number(environ, "TRAINUI_RESTART_BACKOFF_SECONDS", 10.0, 0.0),
        "log_max_bytes": int(_number(environ, "TRAINUI_POD_LOG_MAX_BYTES", 256 * 1024**2, 1024)),
        "shutdown_grace": _number(environ, "TRAINUI_SHUTDOWN_GRACE_SECONDS", 10.0, 0.0),
        "host_paths": tuple(paths),
    }


def _number(environ: Mapping[str, str], name: str, default: float, minimum: float) -> float:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise ConfigurationError(f'{name}: "{text}" is no number') from None
    if not minimum <= value < float("inf"):
        raise ConfigurationError(f"{name}: {text} is too small, the least is {minimum:g}")
    return value


def check_job_env(path: Path) -> Path:
    """Return the job environment's folder. Raises ConfigurationError when it has no Python."""
    if not os.access(path / "bin" / "python", os.X_OK):
        raise ConfigurationError(
            f"--job-env: {path} has no bin/python; name the folder of a virtual environment for the jobs' programs"
        )
    return path.absolute()


@dataclass(frozen=True)
class Access:
    """How to reach the API server."""

    server: str
    token: str
    context: ssl.SSLContext | None


def read_kubeconfig(path: Path) -> Access:
    """Return server, token and TLS context of a kubeconfig's current context. Raises ConfigurationError."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        current = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], current["cluster"])["cluster"]
        user = _named(config["users"], current["user"])["user"]
        server = str(cluster["server"]).rstrip("/")
        token = user.get("token") or ""
        if not token and user.get("tokenFile"):
            token = Path(user["tokenFile"]).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(f"--kubeconfig: {path} cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, KeyError, TypeError, StopIteration) as error:
        raise ConfigurationError(f"--kubeconfig: {path} is no kubeconfig with a current context") from error
    return Access(server, token, _tls(server, cluster, user))


def _named(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(server: str, cluster: Mapping[str, Any], user: Mapping[str, Any]) -> ssl.SSLContext | None:
    if not server.startswith("https://"):
        return None
    authority = cluster.get("certificate-authority-data")
    context = ssl.create_default_context(
        cafile=cluster.get("certificate-authority"), cadata=base64.b64decode(authority).decode() if authority else None
    )
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = user.get("client-certificate-data"), user.get("client-key-data")
    if certificate and key:
        with tempfile.NamedTemporaryFile() as file:  # the ssl module takes files only
            file.write(base64.b64decode(certificate) + b"\n" + base64.b64decode(key))
            file.flush()
            context.load_cert_chain(file.name)
    elif user.get("client-certificate"):
        context.load_cert_chain(user["client-certificate"], user.get("client-key"))
    return context
