"""The process's client of the cluster, made at the first use; a forked process makes its own.

A connection that two processes share mixes their answers up, and a fork that copies a held lock of OpenSSL hangs (apache/airflow#71707):
nothing is made at import, and what the parent made is left to the parent.
"""

import os
import threading

from trainui.cluster.client import Cluster

_lock = threading.Lock()
_made: dict[str, Cluster] = {}


def connect(kubeconfig: str) -> Cluster:
    """Return the client for a kubeconfig file, or for "in-cluster". Raises Unavailable while the file is not there."""
    with _lock:
        client = _made.get(kubeconfig)
        if client is None:
            client = _made[kubeconfig] = Cluster.from_kubeconfig(kubeconfig)
        return client


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _made.clear()


os.register_at_fork(after_in_child=_forget)
