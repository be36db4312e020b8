"""Watches and logs as the client reads them. What becomes of log bytes afterwards (pitfalls 2 to 12) is tested in tests/unit/logs."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack import wait_for
from tests.unit.cluster.server import (
    Answer,
    ApiServer,
    Asked,
    answer,
    bookmark,
    event,
    pod,
    refusal,
    serving,
    watching,
    write_kubeconfig,
)
from trainui.cluster.client import Cluster, Times
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError, Forbidden, Gone, Idle, Invalid, NotFound, Unavailable
from trainui.cluster.kinds import POD

QUICK = Times(idle=0.3, log_idle=0.3)


def cluster_of(server: ApiServer, folder: Path, times: Times | None = None) -> Cluster:
    return Cluster.from_kubeconfig(write_kubeconfig(folder / "kubeconfig", server.url), times)


def read_watch(
    said: Answer, folder: Path, times: Times | None = None
) -> tuple[list[tuple[str, str]], ClusterError | None, Asked]:
    """Return the (type, version) of what a watch yields, how it ends, and the request."""
    seen = []
    with serving(lambda asked: said) as server:
        try:
            for found in cluster_of(server, folder, times).watch(POD, "7", "a=b"):
                seen.append((found["type"], found["object"]["metadata"]["resourceVersion"]))
        except ClusterError as error:
            return seen, error, server.asked[0]
        return seen, None, server.asked[0]


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_events_are_lines_however_they_are_cut(size: int, tmp_path: Path) -> None:
    """Pitfall 4: chunks of the transport are no lines."""
    data = event("ADDED", pod("a", 8)) + b"\n" + event("MODIFIED", pod("ü", 9)) + bookmark(12)
    seen, error, asked = read_watch(watching(*pieces(data, size)), tmp_path)
    assert seen == [("ADDED", "8"), ("MODIFIED", "9"), ("BOOKMARK", "12")]
    assert error is None
    wanted = {"watch": "true", "resourceVersion": "7", "allowWatchBookmarks": "true", "labelSelector": "a=b"}
    assert wanted.items() <= asked.query.items()


def test_both_ends_have_a_time_out(tmp_path: Path) -> None:
    """Pitfall 13: `timeoutSeconds` is the server's; a half-open connection never sees it."""
    with serving(lambda asked: watching(event("ADDED", pod("a", 8)), server.hold)) as server:
        watch = cluster_of(server, tmp_path, QUICK).watch(POD, "7")
        assert next(watch)["type"] == "ADDED"
        with pytest.raises(Idle, match="nothing came for"):
            next(watch)
        assert int(server.asked[0].query["timeoutSeconds"]) > 0


def test_a_server_that_never_begins_to_answer_is_given_up(tmp_path: Path) -> None:
    """Pitfall 13, before the first byte."""
    with serving(lambda asked: server.hold()) as server, pytest.raises(Unavailable, match="timed out"):
        next(cluster_of(server, tmp_path, QUICK).watch(POD, "7"))


def test_bookmarks_keep_a_quiet_watch_open(tmp_path: Path) -> None:
    """Pitfall 13: the read time-out runs between two bookmarks, not over the watch."""
    gate = threading.Event()
    marks = [step for version in range(8, 28) for step in (bookmark(version), lambda: gate.wait(0.05))]
    seen, error, _ = read_watch(watching(*marks), tmp_path, Times(idle=0.8))  # 1 s in all
    assert error is None
    assert seen[-1] == ("BOOKMARK", "27")


GONE_EVENT = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 7 (900)"}


GONE = [
    refusal(410, "Expired", "too old resource version"),
    watching(event("ERROR", GONE_EVENT)),
    watching(event("ADDED", pod("a", 8)), event("ERROR", GONE_EVENT)),
]


@pytest.mark.parametrize("said", GONE)
def test_too_old_a_version_is_told_in_either_form(said: Answer, tmp_path: Path) -> None:
    """Pitfall 15: 410 as status, or as an ERROR event in a stream that began with 200."""
    _, error, _ = read_watch(said, tmp_path)
    assert isinstance(error, Gone)
    assert "too old" in error.message


ERRORS: list[tuple[dict[str, Any], type[ClusterError]]] = [
    ({"code": 500, "message": "etcd is away"}, Unavailable),
    ({"code": 429, "message": "slow"}, Unavailable),
    ({}, Unavailable),
    ({"code": 403, "message": "no"}, Forbidden),
]


@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_other_error_events_say_what_they_say(status: dict[str, Any], kind: type[ClusterError], tmp_path: Path) -> None:
    _, error, _ = read_watch(watching(event("ERROR", status)), tmp_path)
    assert isinstance(error, kind)
    assert str(status.get("message", "")) in error.message


NO_EVENTS = [
    b"not json\n",
    b"[1]\n",
    b'{"type": "ADDED"}\n',
    b'{"type": "ADDED", "object": {"metadata": {}}}\n',
    b"\xff\xfe\n",
    b"42\n",
]


@pytest.mark.parametrize("line", NO_EVENTS)
def test_a_line_that_is_no_event_breaks_the_watch_after_what_came_before(line: bytes, tmp_path: Path) -> None:
    """Pitfalls 2, 6 and 20."""
    seen, error, _ = read_watch(watching(event("ADDED", pod("a", 8)), line), tmp_path)
    assert seen == [("ADDED", "8")]
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize("reset", [True, False])
def test_a_torn_event_is_never_handed_over(reset: bool, tmp_path: Path) -> None:
    """Pitfall 3 for watches: half an event says nothing; it comes again from the last version."""
    torn = event("MODIFIED", pod("b", 9))[:-20]
    seen, error, _ = read_watch(Answer(steps=[event("ADDED", pod("a", 8)), torn], reset=reset), tmp_path)
    assert seen == [("ADDED", "8")]
    assert isinstance(error, Unavailable) == reset


def test_a_kind_that_is_not_served_is_not_found(tmp_path: Path) -> None:
    _, error, _ = read_watch(Answer(404, b"404 page not found\n"), tmp_path)
    assert isinstance(error, NotFound)
    assert error.message == "404 page not found"


def log_of(said: Answer, folder: Path, **options: Any) -> tuple[bytes, ClusterError | None, Asked]:
    data = b""
    with serving(lambda asked: said) as server:
        try:
            for chunk in cluster_of(server, folder, QUICK).logs("ns", "a", "main", **options):
                data += chunk
        except ClusterError as error:
            return data, error, server.asked[0]
        return data, None, server.asked[0]


ODD = b"42\n\n{\"a\": 1}\nb'text'\nbad \xff\xfe\n\r10%\r20%\r\nno end"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_log_is_bytes_and_nothing_is_made_of_them(size: int, tmp_path: Path) -> None:
    """Pitfalls 1, 2, 3, 5 and 6: no `watch=True`, no decoding, no blank line and no last line lost, nothing parsed."""
    data, error, asked = log_of(
        Answer(steps=pieces(ODD, size)), tmp_path, since_time="2026-01-01T00:00:00.5Z", previous=True
    )
    assert (data, error) == (ODD, None)
    wanted = {
        "container": "main",
        "timestamps": "true",
        "follow": "true",
        "sinceTime": "2026-01-01T00:00:00.5Z",
        "previous": "true",
    }
    assert asked.query == wanted  # pitfall 9: exact time, not whole seconds


def test_a_log_that_breaks_gives_what_came_and_says_so(tmp_path: Path) -> None:
    """Pitfall 10: IncompleteRead; capture goes on from its cursor (tests/unit/logs/test_logs_capture.py)."""
    data, error, _ = log_of(Answer(steps=[b"one\n", b"tw"], reset=True), tmp_path)
    assert data == b"one\ntw"
    assert isinstance(error, Unavailable)


def test_a_silent_log_is_given_up(tmp_path: Path) -> None:
    """Pitfalls 11 and 12: silent after rotation, or half-open."""
    with serving(lambda asked: Answer(steps=[b"one\n", server.hold])) as server:
        lines = cluster_of(server, tmp_path, QUICK).logs("ns", "a", "main")
        assert next(lines) == b"one\n"
        with pytest.raises(Idle):
            next(lines)


def test_a_followed_log_yields_before_it_ends(tmp_path: Path) -> None:
    """Pitfall 8: `follow` with a preloaded body never returns."""
    with serving(lambda asked: Answer(steps=[b"one\n", server.hold])) as server:
        lines = cluster_of(server, tmp_path).logs("ns", "a", "main")
        assert next(lines) == b"one\n"


def test_a_container_that_waits_is_told_in_the_servers_words(tmp_path: Path) -> None:
    said = 'container "main" in pod "a" is waiting to start: ContainerCreating'
    _, error, _ = log_of(refusal(400, "BadRequest", said), tmp_path)
    assert isinstance(error, Invalid)
    assert error.message == said


STREAMS = 80  # more than a pool for calls holds


def test_followed_logs_leave_the_connections_of_calls_alone(tmp_path: Path) -> None:
    """Pitfall 25: every stream holds a connection; a call finds its own, and keeps it."""

    def script(asked: Asked) -> Answer:
        return Answer(steps=[b"line\n", server.hold]) if asked.path.endswith("/log") else answer(200, pod("a", 5))

    with serving(script) as server:
        cluster = cluster_of(server, tmp_path)
        streams = [cluster.logs("ns", f"pod-{n}", "main") for n in range(STREAMS)]
        assert [next(stream) for stream in streams] == [b"line\n"] * STREAMS
        for _ in range(10):
            cluster.get(POD, "ns", "a")
        by_calls = {a.connection for a in server.asked if not a.path.endswith("/log")}
        assert len(by_calls) == 1
        assert server.accepted == STREAMS + 1


def test_streams_that_ended_leave_no_connection(tmp_path: Path) -> None:
    with serving(lambda asked: Answer(steps=[b"line\n"])) as server:
        cluster = cluster_of(server, tmp_path)
        for _ in range(5):
            assert list(cluster.logs("ns", "a", "main")) == [b"line\n"]
        wait_for(lambda: not server.open, 20, "all connections to be closed")


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if "Thread-" not in thread.name}


def test_a_client_has_no_threads(tmp_path: Path) -> None:
    """Pitfall 24: the official client once made a thread pool for each ApiClient and Watch."""
    before = threads()
    with serving(lambda asked: watching(bookmark(8))) as server:
        cluster = cluster_of(server, tmp_path)
        list(cluster.watch(POD, "7"))
        assert threads() == before
        cluster.close()


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with serving(lambda asked: answer(200, pod("a", asked.connection))) as server:
        yield server


def test_no_client_is_made_at_import() -> None:
    """Pitfall 28: no client, thread or connection in what a forking parent has imported."""
    program = """
import sys, threading, os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "trainui.settings"
django.setup()
import jobs.reconcile.tasks, jobs.reconcile.watch, runtimes.tasks, trainui.cluster.connection as connection
print(len(connection._made), threading.active_count())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, env=os.environ
    )
    assert done.stdout.split() == ["0", "1"]


def test_a_forked_process_has_a_client_of_its_own(server: ApiServer, tmp_path: Path) -> None:
    """Pitfall 28: a connection shared by two processes mixes their answers up."""
    path = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    assert connect(path) is connect(path)
    connect(path).get(POD, "ns", "a")
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writing, json.dumps(connect(path).get(POD, "ns", "a")["metadata"]["resourceVersion"]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as said:
        assert json.loads(said.read()) == "2"
    os.waitpid(pid, 0)
    assert connect(path).get(POD, "ns", "a")["metadata"]["resourceVersion"] == "1"
