"""The real machine: containerd and kubelet with folders, sockets, bridge and ports of their own, so that others on this computer are left alone."""

import contextlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.rig import image, programs
from tests.rig.processes import Processes, listens
from tests.rig.programs import RigError
from tests.rig.site import Site

NAME = "machine-0"
MAX_PODS = 200
UNUSED_PLUGINS = (*(f"snapshotter.v1.{name}" for name in ("aufs", "btrfs", "devmapper", "zfs")), "internal.v1.opt")
CNI_PLUGINS = "/usr/lib/cni"
# Debian package -> a program that shows whether it is there
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "iproute2": "ip",
    "mmdebstrap": "mmdebstrap",
    "iptables": "iptables",  # kubelet looks for it
    "containernetworking-plugins": f"{CNI_PLUGINS}/bridge",
}


def lacking() -> list[str]:
    """Return the Debian packages that are not installed."""
    return [package for package, program in PACKAGES.items() if shutil.which(program) is None]


def start_runtime(site: Site) -> None:
    """Start containerd on a copy of the cached store that holds the image."""
    cached = image.store(_import)
    image.copy_store(cached / "store", site.folder / "containerd")
    network = {
        "cniVersion": "0.4.0",
        "name": "rig",
        "plugins": [
            {
                "type": "bridge",
                "bridge": site.network.bridge,
                "isGateway": False,  # the bridge has its addresses already; as gateway the plugin would switch the computer's forwarding on
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": str(site.folder / "cni-addresses"),
                    "ranges": [[{"subnet": site.network.pods, "gateway": site.network.address}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }
    site.write("cni/10-rig.conflist", network)
    _run_containerd(site.processes, site.folder)


def _import(archive: Path, store: Path) -> None:
    """Make a container store with the images of an archive."""
    folder = store.parent / "making"
    processes = Processes(folder / "logs")
    _run_containerd(processes, folder, root=store)
    try:
        processes.wait_for(lambda: _answers(folder), "containerd to answer", "containerd")
        said = _ctr(folder, "images", "import", str(archive))
        if said.returncode:
            raise RigError(f"the image of the pods cannot be imported: {said.stderr.strip()}")
    finally:
        processes.stop("containerd")
        shutil.rmtree(folder, ignore_errors=True)


def _run_containerd(processes: Processes, folder: Path, root: Path | None = None) -> None:
    config = f"""\
version = 2
root = "{root or folder / "containerd"}"
state = "{folder / "containerd-state"}"
disabled_plugins = [{", ".join(f'"io.containerd.{plugin}"' for plugin in UNUSED_PLUGINS)}]
[grpc]
  address = "{socket_of(folder)}"
[debug]
  level = "warn"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/{image.PAUSE}"
  restrict_oom_score_adj = true # without: "can't get final child's PID from pipe: EOF"
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{folder / "cni"}"
"""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "containerd.toml"
    path.write_text(config)
    processes.run("containerd", ["containerd", "--config", str(path)])


def socket_of(folder: Path) -> Path:
    return folder / "containerd.sock"


def _ctr(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["ctr", "--address", str(socket_of(folder)), "--namespace", "k8s.io", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _answers(folder: Path) -> bool:
    return socket_of(folder).exists() and _ctr(folder, "version").returncode == 0


def start_kubelet(site: Site) -> None:
    """Wait for containerd, then start the kubelet; the API server is there already."""
    site.processes.wait_for(lambda: _answers(site.folder), "containerd to answer", "containerd")
    command = [programs.binary(programs.KUBELET), f"--config={site.write('kubelet.yaml', _kubelet(site))}"]
    command += [f"--kubeconfig={site.kubeconfig()}", f"--root-dir={site.folder / 'kubelet'}"]
    command += [f"--hostname-override={NAME}", f"--node-ip={site.network.address}"]
    command += ["--node-labels=trainui.dev/machine=real"]
    site.processes.run("kubelet", command)


def _kubelet(site: Site) -> dict[str, Any]:
    certificate, key = site.authority.issue("kubelet", NAME, (NAME, site.network.address))
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": site.network.address,
        "port": site.port("kubelet"),
        "healthzPort": 0,
        "readOnlyPort": 0,
        "tlsCertFile": str(certificate),
        "tlsPrivateKeyFile": str(key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(site.authority.file)},
        },
        "authorization": {"mode": "AlwaysAllow"},  # for those whose certificate is of this cluster's authority
        "containerRuntimeEndpoint": f"unix://{socket_of(site.folder)}",
        "clusterDNS": [site.network.address],
        "clusterDomain": "cluster.local",
        "resolvConf": site.write("resolv.conf", "nameserver 127.0.0.1\n"),
        "podLogsDir": str(site.folder / "pod-logs"),  # kubelets that share a folder delete each other's logs
        "maxPods": MAX_PODS,
        "nodeStatusUpdateFrequency": "10s",
        "kubeAPIQPS": 300,
        "kubeAPIBurst": 600,
        "imageGCHighThresholdPercent": 100,  # the image cannot be pulled again
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        **_WITHOUT_SYSTEMD,
    }


_WITHOUT_SYSTEMD = {
    "failCgroupV1": False,
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "localStorageCapacityIsolation": False,
}


def wait_until_ready(site: Site) -> None:
    """Wait until the kubelet has said that pods may come."""
    api = site.api()

    def ready() -> bool:
        node = api.get("v1", "Node", "", NAME) or {}
        conditions = node.get("status", {}).get("conditions", [])
        tainted = any(taint["key"].endswith("not-ready") for taint in node.get("spec", {}).get("taints", []))
        return not tainted and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    site.processes.wait_for(ready, "the real machine to be ready", "kubelet")
    site.processes.wait_for(
        lambda: listens(site.port("kubelet"), site.network.address), "the kubelet to listen", "kubelet"
    )


def remove_pods(site: Site) -> None:
    """Delete the pods of the real machine and wait until the kubelet has ended them: nothing of them may outlive it."""
    api = site.api()

    def left() -> list[dict[str, Any]]:
        return api.list("v1", "Pod", fieldSelector=f"spec.nodeName={NAME}")

    # Whoever makes pods anew is stopped already; the finalizer of a Job would wait for it.
    for pod in left():
        with contextlib.suppress(Exception):
            api.patch({"apiVersion": "v1", "kind": "Pod"} | pod, {"metadata": {"finalizers": None}})
            api.delete({"apiVersion": "v1", "kind": "Pod"} | pod, gracePeriodSeconds=1)
    site.processes.wait_for(lambda: not left(), "the pods of the real machine to end", "kubelet", 30)
