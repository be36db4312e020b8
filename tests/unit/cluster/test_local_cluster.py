"""The client and the reflector against this project's own local cluster."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack import wait_for
from tests.unit.cluster.test_reflector import Memory
from tests.unit.localcluster_api.rig import RunningServer
from trainui.cluster import kinds
from trainui.cluster.client import Cluster, Times
from trainui.cluster.errors import Conflict, NotFound
from trainui.cluster.reflector import Reflector


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningServer]:
    server = RunningServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def cluster(running: RunningServer) -> Cluster:
    return Cluster.from_kubeconfig(str(running.folder.kubeconfig), Times(idle=1.0))


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}, "data": data}


def test_fields_of_others_are_named_and_left_alone_unless_forced(running: RunningServer, cluster: Cluster) -> None:
    """Pitfall 22 against a server with server-side apply."""
    path = "/api/v1/namespaces/default/configmaps/c"
    assert running.client.apply(path, config_map(theirs="1"), "kubectl-edit").status < 300
    cluster.apply(config_map(ours="1"))
    with pytest.raises(Conflict, match="is managed by kubectl-edit") as told:
        cluster.apply(config_map(ours="1", theirs="2"))
    assert [manager for _, manager in told.value.managers] == ["kubectl-edit"]
    assert cluster.get(kinds.CONFIG_MAP, "default", "c")["data"] == {"ours": "1", "theirs": "1"}
    assert cluster.apply(config_map(ours="1", theirs="2"), force=True)["data"]["theirs"] == "2"


def test_delete_spares_another_object_of_that_name(cluster: Cluster) -> None:
    """Pitfall 29."""
    old = cluster.create(config_map(a="1"))["metadata"]["uid"]
    cluster.delete(kinds.CONFIG_MAP, "default", "c", uid=old)
    with pytest.raises(NotFound):
        cluster.delete(kinds.CONFIG_MAP, "default", "c", uid=old)
    cluster.create(config_map(a="2"))
    with pytest.raises(Conflict):
        cluster.delete(kinds.CONFIG_MAP, "default", "c", uid=old)
    assert cluster.get(kinds.CONFIG_MAP, "default", "c")["data"] == {"a": "2"}


def test_a_reflector_follows_over_silent_watches(cluster: Cluster) -> None:
    sink, stop = Memory(), threading.Event()
    thread = threading.Thread(target=Reflector(cluster, kinds.CONFIG_MAP, sink, stop).run, daemon=True)
    thread.start()
    for value in range(3):
        made = cluster.apply(config_map(a=str(value)))["metadata"]["resourceVersion"]
        wait_for(lambda made=made: sink.objects.get("c") == made, 20, "the change")  # type: ignore[misc]
    cluster.delete(kinds.CONFIG_MAP, "default", "c")
    wait_for(lambda: "c" not in sink.objects, 20, "the deletion")
    stop.set()
    thread.join(30)
    assert sink.calls[-1] == "DELETED c"
