"""Probes of containers: when they are due and what their answers mean (pure), and how one is made."""

import contextlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from trainui.localcluster.agent.mounts import rewrite_all
from trainui.localcluster.agent.plan import Launch

Object = Mapping[str, Any]
KINDS = ("startup", "readiness", "liveness")


@dataclass(frozen=True)
class ProbeState:
    """Where one probe of a running container stands."""

    due: float
    successes: int = 0
    failures: int = 0
    passed: bool | None = None  # the answer that counts, None before there is one
    busy: bool = False


def first_due(probe: Object, started: float) -> ProbeState:
    """Return the state of a probe whose container has just started."""
    return ProbeState(due=started + float(probe.get("initialDelaySeconds") or 0))


def answered(state: ProbeState, probe: Object, good: bool, now: float) -> ProbeState:
    """Return the state after one answer: it counts once it has come as often in a row as the thresholds say."""
    successes = state.successes + 1 if good else 0
    failures = 0 if good else state.failures + 1
    passed = state.passed
    if good and successes >= int(probe.get("successThreshold") or 1):
        passed = True
    if not good and failures >= int(probe.get("failureThreshold") or 3):
        passed = False
    return replace(
        state,
        due=now + float(probe.get("periodSeconds") or 10),
        successes=successes,
        failures=failures,
        passed=passed,
        busy=False,
    )


def is_due(kind: str, state: ProbeState, started: bool, now: float) -> bool:
    """Tell whether a probe is to be made now: the startup probe until it has passed, the others after that."""
    wanted = not started if kind == "startup" else started
    return wanted and not state.busy and now >= state.due


def probe_of(spec: Object, kind: str) -> Object | None:
    """Return a container's probe of a kind, or None."""
    probe: Object | None = spec.get(f"{kind}Probe")
    return probe


def make_probe(probe: Object, spec: Object, launch: Launch, sshd_socket: str) -> tuple[bool, str]:
    """Make one probe and return whether the answer was good, with the words for the event.

    A TCP probe of a container that runs our stand-in for sshd asks the stand-in's own socket: it listens on no port.
    """
    timeout = float(probe.get("timeoutSeconds") or 1)
    try:
        if (wanted := probe.get("exec")) is not None:
            return _run(list(wanted.get("command") or []), launch, timeout)
        if (wanted := probe.get("tcpSocket")) is not None:
            if any(word.endswith("/sshd") or "/sshd " in word for word in launch.argv):
                return _connect_unix(sshd_socket, timeout)
            return _connect(wanted.get("host") or "127.0.0.1", _port(wanted["port"], spec), timeout)
        if (wanted := probe.get("httpGet")) is not None:
            return _get(wanted, _port(wanted["port"], spec), timeout)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return False, str(error) or type(error).__name__
    return False, "probes of this type do not exist on the local cluster"


def _port(port: int | str, spec: Object) -> int:
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    for entry in spec.get("ports") or []:
        if entry.get("name") == port:
            return int(entry["containerPort"])
    raise ValueError(f"the container has no port named {port}")


def _run(command: list[str], launch: Launch, timeout: float) -> tuple[bool, str]:
    process = subprocess.Popen(
        rewrite_all(command, launch.folders),
        env=dict(launch.env),
        cwd=launch.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return False, f"command timed out after {timeout:g}s"
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode == 0, output[:1024].decode("utf-8", "replace").strip()


def _connect(host: str, port: int, timeout: float) -> tuple[bool, str]:
    with socket.create_connection((host, port), timeout):
        return True, ""


def _connect_unix(path: str, timeout: float) -> tuple[bool, str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conn:
        conn.settimeout(timeout)
        conn.connect(path)
        return True, ""


def _get(wanted: Object, port: int, timeout: float) -> tuple[bool, str]:
    host = wanted.get("host") or "127.0.0.1"
    connection: http.client.HTTPConnection
    if wanted.get("scheme") == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # as the kubelet: probes do not check certificates
        connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    with contextlib.closing(connection):
        headers = {entry["name"]: entry["value"] for entry in wanted.get("httpHeaders") or []}
        connection.request("GET", wanted.get("path") or "/", headers=headers)
        code = connection.getresponse().status
    return 200 <= code < 400, "" if 200 <= code < 400 else f"HTTP probe failed with statuscode: {code}"
