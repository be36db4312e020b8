"""Watches over HTTP."""

import contextlib
import threading
from queue import Queue
from typing import Any

import orjson
import pytest
import urllib3

from tests.unit.localcluster_api.rig import DEADLINE, Client, RunningServer, config_map, pod, wait_for
from trainui.localcluster.api import watching
from trainui.localcluster.changes import KEPT_CHANGES

MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Watch:
    """A watch that is read by a thread."""

    def __init__(self, client: Client, path: str, **headers: str) -> None:
        self.response = client.raw("GET", path, preload_content=False, headers=headers)
        self.events: Queue[Any] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError):
            for chunk in self.response.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self.events.put(orjson.loads(line))
        self.events.put(None)

    def next(self) -> Any:
        """Return the next event, None at the end."""
        return self.events.get(timeout=DEADLINE)

    def names(self, count: int) -> list[tuple[str, str]]:
        found = [self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in found]


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def quick_bookmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_SECONDS", 0.05)


def version(client: Client, path: str) -> str:
    return client.ok("GET", path)["metadata"]["resourceVersion"]


def test_changes_after_a_list(client: Client, maps: str) -> None:
    client.ok("POST", maps, config_map("a"))
    since = version(client, maps)
    client.ok("POST", maps, config_map("b"))
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={since}")
    client.ok("PATCH", f"{maps}/a", {"data": {"x": "1"}}, MERGE)
    client.ok("DELETE", f"{maps}/b")
    assert watch.names(3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


@pytest.mark.parametrize("query", ["watch=1", "watch=true&resourceVersion=0"])
def test_without_a_version_what_is_there_comes_first(client: Client, maps: str, query: str) -> None:
    client.ok("POST", maps, config_map("a"))
    watch = Watch(client, f"{maps}?{query}")
    assert watch.names(1) == [("ADDED", "a")]
    client.ok("POST", maps, config_map("b"))
    assert watch.names(1) == [("ADDED", "b")]


def test_a_deletion_carries_the_last_state_and_a_new_version(client: Client, maps: str) -> None:
    made = client.ok("POST", maps, config_map("a", x="1"))
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={made['metadata']['resourceVersion']}")
    client.ok("DELETE", f"{maps}/a")
    event = watch.next()
    assert event["object"]["data"] == {"x": "1"}
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_entering_and_leaving_a_selection(client: Client, maps: str) -> None:
    since = version(client, maps)
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={since}&labelSelector=on")
    client.ok("POST", maps, config_map("a"))
    for labels in ({"on": "1"}, {"on": "2"}, {"on": None}, {"off": "1"}):
        client.ok("PATCH", f"{maps}/a", {"metadata": {"labels": labels}}, MERGE)
    client.ok("DELETE", f"{maps}/a")
    client.ok("POST", maps, {"metadata": {"name": "end", "labels": {"on": "1"}}})
    assert watch.names(4) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "end")]


def test_one_object_by_name(client: Client, maps: str) -> None:
    client.ok("POST", maps, config_map("a"))
    client.ok("POST", maps, config_map("b"))
    for path in (f"{maps}?watch=true&fieldSelector=metadata.name%3Db", f"{maps}/b?watch=true"):
        assert Watch(client, path).names(1) == [("ADDED", "b")]


def test_pods_of_a_machine(client: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    since = version(client, path)
    watch = Watch(client, f"/api/v1/pods?watch=true&resourceVersion={since}&fieldSelector=spec.nodeName%3D{namespace}")
    client.ok("POST", path, pod("a"))
    client.ok("PATCH", f"{path}/a", {"spec": {"nodeName": namespace}}, MERGE)
    assert watch.names(1) == [("ADDED", "a")]


def test_other_namespaces_are_not_seen(client: Client, maps: str) -> None:
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={version(client, maps)}")
    client.ok("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "x"}})
    client.ok("POST", maps, config_map("mine"))
    assert watch.names(1) == [("ADDED", "mine")]


def test_it_ends_after_its_time(client: Client, maps: str) -> None:
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={version(client, maps)}&timeoutSeconds=1")
    assert watch.next() is None


def test_bookmarks(client: Client, maps: str, quick_bookmarks: None) -> None:
    query = f"{maps}?watch=true&resourceVersion={version(client, maps)}"
    watch = Watch(client, f"{query}&allowWatchBookmarks=true")
    client.ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"generateName": "x"}})
    now = int(version(client, maps))
    event = watch.next()
    while int(event["object"]["metadata"]["resourceVersion"]) < now:
        event = watch.next()
    assert event["type"] == "BOOKMARK"
    assert event["object"]["kind"] == "ConfigMap"


def test_a_watched_list(client: Client, maps: str) -> None:
    client.ok("POST", maps, config_map("a"))
    query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    watch = Watch(client, f"{maps}?{query}")
    assert watch.names(1) == [("ADDED", "a")]
    end = watch.next()
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    client.ok("POST", maps, config_map("b"))
    assert watch.names(1) == [("ADDED", "b")]


def test_tables(client: Client, maps: str) -> None:
    client.ok("POST", maps, config_map("a", x="1"))
    watch = Watch(client, f"{maps}?watch=true", Accept=TABLE)
    first = watch.next()["object"]
    assert (first["kind"], first["rows"][0]["cells"][:2]) == ("Table", ["a", 1])
    assert first["columnDefinitions"]
    client.ok("POST", maps, config_map("b"))
    assert watch.next()["object"]["columnDefinitions"] == []


def test_a_forgotten_version(client: Client, maps: str, server: RunningServer, namespace: str) -> None:
    since = version(client, maps)
    client.ok("POST", maps, config_map("a"))

    def churn() -> None:
        for count in range(KEPT_CHANGES + 1):
            server.server.store.patch("ConfigMap", namespace, "a", {"data": {"n": str(count)}})

    server.call(churn)
    answer = client("GET", f"{maps}?watch=true&resourceVersion={since}")
    assert answer.status == 410
    assert answer.json()["reason"] == "Expired"


def test_a_reader_that_falls_behind(
    client: Client, maps: str, server: RunningServer, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MAX_BEHIND", 5)
    client.ok("POST", maps, config_map("a"))
    watch = Watch(client, f"{maps}?watch=true&resourceVersion={version(client, maps)}")

    def burst() -> None:
        for count in range(6):
            server.server.store.patch("ConfigMap", namespace, "a", {"data": {"n": str(count)}})

    server.call(burst)
    event = watch.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert watch.next() is None


@pytest.mark.parametrize("since", ["99999999", "x", "-1"])
def test_versions_that_cannot_be(client: Client, maps: str, since: str) -> None:
    answer = client("GET", f"{maps}?watch=true&resourceVersion={since}")
    assert answer.status == (410 if since.isdigit() else 400)


def test_a_reader_that_leaves_is_forgotten(client: Client, maps: str, server: RunningServer) -> None:
    def count() -> int:
        return server.call(lambda: len(server.server.store._feed._open))

    client.ok("POST", maps, config_map("a"))
    connection = client.connect()
    connection.request("GET", f"{maps}?watch=true", headers={"Authorization": f"Bearer {client.token}"})
    response = connection.getresponse()
    assert orjson.loads(response.readline())["type"] == "ADDED"
    opened = count()
    response.close()
    connection.close()
    wait_for(lambda: count() < opened, "the watch is closed")
