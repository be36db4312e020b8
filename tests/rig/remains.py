"""What a killed real machine leaves, also outside of its folder: shims with containers, network namespaces, mounts, the bridge; how it is taken away."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil

from tests.rig.machine import socket_of
from tests.rig.network import Network

# These places are the same for all, whatever the settings of containerd and kubelet.
LOG_LINKS = Path("/var/log/containers")
RUNC = Path("/run/containerd/runc/k8s.io")
CNI_RESULTS = Path("/var/lib/cni/results")
KEPT = ("logs", "lock", "keeper.log", "failure.txt")


def clear(folder: Path, network: Network) -> None:
    """Take away everything but the logs of a cluster whose programs may have been killed."""
    _end_shims(folder)
    for task in folder.glob("containerd-state/io.containerd.runtime.v2.task/k8s.io/*"):
        _remove_container(task)
    for link in LOG_LINKS.glob("*.log"):
        if link.is_symlink() and str(link.readlink()).startswith(f"{folder}/"):
            link.unlink(missing_ok=True)
    _unmount(folder)
    network.down()
    remove_data(folder)


def remove_data(folder: Path) -> None:
    """Remove a cluster's files but its logs."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in KEPT:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _end_shims(folder: Path) -> None:
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or [""]
        if "containerd-shim" in command[0] and str(socket_of(folder)) in command:
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                for one in [*process.children(recursive=True), process]:
                    os.kill(one.pid, signal.SIGKILL)


def _remove_container(task: Path) -> None:
    """Remove a container's state and control groups, the socket of its shim, and its network namespace."""
    subprocess.run(["runc", "--root", str(RUNC), "delete", "--force", task.name], capture_output=True, check=False)
    with contextlib.suppress(OSError):
        Path((task / "address").read_text().removeprefix("unix://")).unlink()
    for result in CNI_RESULTS.glob(f"*-{task.name}-*"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            interfaces = json.loads(result.read_text())["result"]["interfaces"]
            for namespace in {Path(interface["sandbox"]) for interface in interfaces if interface.get("sandbox")}:
                subprocess.run(["umount", str(namespace)], capture_output=True, check=False)
                namespace.unlink(missing_ok=True)
        result.unlink(missing_ok=True)


def _unmount(folder: Path) -> None:
    """Unmount everything below the folder, the innermost first; kubelet mounts its own folder onto itself."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines if line.split()[4].startswith(f"{folder}/")]
    for point in sorted(points, key=len, reverse=True):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)
