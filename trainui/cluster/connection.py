"""The process's client of the cluster, made at the first use and made anew when its kubeconfig changes."""

import threading
from pathlib import Path

from trainui.cluster.client import Cluster

_lock = threading.Lock()
_made: dict[str, tuple[float, Cluster]] = {}


def connect(kubeconfig: str) -> Cluster:
    """Return the client for a kubeconfig file, or for "in-cluster". Raises Unavailable while the file is not there."""
    path = Path(kubeconfig)
    changed = path.stat().st_mtime if path.exists() else 0.0
    with _lock:
        stamp, client = _made.get(kubeconfig, (-1.0, None))
        if client is None or stamp != changed:
            client = Cluster.from_kubeconfig(kubeconfig)
            _made[kubeconfig] = (changed, client)
        return client
