"""Logs: reading records, and the endpoint of pods."""

import io
import shutil
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from tests.unit.localcluster_api.rig import DEADLINE, Client, Json, RunningServer, pod, wait_for
from trainui.localcluster.podlogs import (
    CHUNK,
    Renderer,
    comparable_stamp,
    nanosecond_stamp,
    offset_since,
    offset_tail,
    restarts,
)

MERGE = "application/merge-patch+json"


def stamp(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}.000000000Z"


def record(second: int, text: str, tag: str = "F", stream: str = "stdout") -> bytes:
    return f"{stamp(second)} {stream} {tag} {text}\n".encode()


LOG = b"".join(record(second, f"line {second}") for second in range(100))


@pytest.mark.parametrize(
    ("second", "first"),
    [(0, 0), (1, 1), (50, 50), (99, 99), (100, None)],
    ids=["all", "second", "middle", "last", "none"],
)
def test_offset_since(second: int, first: int | None) -> None:
    offset = offset_since(io.BytesIO(LOG), stamp(second).encode(), len(LOG))
    assert LOG[offset:].split(b"\n")[0] == (record(first, f"line {first}")[:-1] if first is not None else b"")


@pytest.mark.parametrize("long", [0, CHUNK + 10, 3 * CHUNK])
def test_offset_since_among_long_records(long: int) -> None:
    log = b"".join(record(second, "x" * long if second % 2 else "y") for second in range(9))
    for second in range(9):
        offset = offset_since(io.BytesIO(log), stamp(second).encode(), len(log))
        assert log[offset:].startswith(stamp(second).encode())


def test_offset_since_between_stamps() -> None:
    log = record(10, "a") + record(20, "b") + record(20, "c") + record(30, "d")
    assert log[offset_since(io.BytesIO(log), stamp(11).encode(), len(log)) :].startswith(record(20, "b"))
    assert offset_since(io.BytesIO(b""), b"x", 0) == 0


@pytest.mark.parametrize("count", [0, 1, 3, 100, 500])
@pytest.mark.parametrize("unfinished", [b"", b"2026-01-01T00:02:00.000000000Z stdout F cut"])
def test_offset_tail(count: int, unfinished: bytes) -> None:
    log = LOG + unfinished
    expected = log.splitlines(keepends=True)[-count:] if count else []
    assert log[offset_tail(io.BytesIO(log), count, len(log)) :] == b"".join(expected)


def test_offset_tail_over_many_chunks() -> None:
    log = b"".join(record(second, "x" * (CHUNK // 2)) for second in range(8))
    assert log[offset_tail(io.BytesIO(log), 5, len(log)) :] == b"".join(log.splitlines(keepends=True)[-5:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", b"2026-01-01T00:00:00.000000000Z"),
        ("2026-01-01T00:00:00.5Z", b"2026-01-01T00:00:00.500000000Z"),
        ("2026-01-01T00:00:00.123456789Z", b"2026-01-01T00:00:00.123456789Z"),
        ("2026-01-01T02:00:00.1+02:00", b"2026-01-01T00:00:00.100000000Z"),
    ],
)
def test_stamps(text: str, expected: bytes) -> None:
    assert comparable_stamp(text) == expected


@pytest.mark.parametrize("text", ["yesterday", "2026-01-01T00:00:00", "", "2026-13-01T00:00:00Z"])
def test_bad_stamps(text: str) -> None:
    with pytest.raises(ValueError):
        comparable_stamp(text)


def test_stamp_of_a_time() -> None:
    assert nanosecond_stamp(1767225600.25) == b"2026-01-01T00:00:00.250000000Z"


@pytest.mark.parametrize(
    ("records", "options", "expected"),
    [
        ([record(1, "a"), record(2, "")], {}, b"a\n\n"),
        ([record(1, "a", "P"), record(1, "b")], {}, b"ab\n"),
        (
            [record(1, "a", "P"), record(2, "b"), record(3, "c")],
            {"timestamps": True},
            f"{stamp(1)} ab\n{stamp(3)} c\n".encode(),
        ),
        ([record(1, "a"), record(2, "e", stream="stderr")], {"stream": b"stderr"}, b"e\n"),
        ([record(1, "abc"), record(2, "def")], {"limit": 5}, b"abc\nd"),
        ([record(1, "a b  c ")], {}, b"a b  c \n"),
        ([b"damaged\n", record(1, "a")], {}, b"a\n"),
        ([record(1, "a"), b"2026-01-01T00:00:02.000000000Z stdout F half"], {}, b"a\n"),
        ([record(1, "\r50%\r100%")], {}, b"\r50%\r100%\n"),
    ],
)
def test_rendering(records: list[bytes], options: dict[str, Any], expected: bytes) -> None:
    whole = b"".join(records)
    for size in (1, 7, len(whole)):
        renderer = Renderer(**options)
        assert b"".join(renderer.feed(whole[at : at + size]) for at in range(0, len(whole), size)) == expected


def test_restarts(tmp_path: Path) -> None:
    for name in ("0.log", "2.log", "10.log", "10.exit", "x.log", "1.log.tmp"):
        (tmp_path / name).touch()
    assert [run.count for run in restarts(tmp_path)] == [0, 2, 10]
    assert restarts(tmp_path / "none") == []


class Logs:
    """A pod with log files, as the node agent would keep them."""

    def __init__(self, server: RunningServer, namespace: str, body: Json) -> None:
        self.client = server.client
        self.path = f"/api/v1/namespaces/{namespace}/pods/{body['metadata']['name']}"
        made = self.client.ok("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        self.folder = server.folder.pods / made["metadata"]["uid"]

    def write(self, *records: bytes, container: str = "main", restart: int = 0) -> None:
        path = self.folder / container / f"{restart}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"".join(records))

    def end(self, container: str = "main", restart: int = 0) -> None:
        (self.folder / container / f"{restart}.exit").write_text("{}")

    def read(self, query: str = "") -> bytes:
        answer = self.client("GET", f"{self.path}/log?{query}")
        assert answer.status == 200, answer.data
        assert answer.headers["Content-Type"].startswith("text/plain")
        return answer.data

    def refused(self, query: str = "") -> str:
        answer = self.client("GET", f"{self.path}/log?{query}")
        assert answer.status == 400, answer.data
        return str(answer.json()["message"])

    def status(self, **status: Any) -> None:
        self.client.ok("PATCH", f"{self.path}/status", {"status": status}, MERGE)


class Follower:
    """A log that is followed by a thread."""

    def __init__(self, logs: Logs, query: str = "") -> None:
        self.response = logs.client.raw("GET", f"{logs.path}/log?follow=true&{query}", preload_content=False)
        self.text = b""
        self.ended: Queue[bytes] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for chunk in self.response.stream(65536):
            self.text += chunk
        self.ended.put(self.text)

    def until(self, text: bytes) -> None:
        wait_for(lambda: text in self.text, f"{text!r} in the log")

    def all(self) -> bytes:
        return self.ended.get(timeout=DEADLINE)


@pytest.fixture
def logs(server: RunningServer, namespace: str) -> Logs:
    return Logs(server, namespace, pod("p", nodeName="m"))


class TestReading:
    def test_all_and_parts(self, logs: Logs) -> None:
        logs.write(*(record(second, f"line {second}") for second in range(10)))
        assert logs.read() == b"".join(f"line {second}\n".encode() for second in range(10))
        assert logs.read("tailLines=2") == b"line 8\nline 9\n"
        assert logs.read(f"sinceTime={stamp(8)}&timestamps=true").decode() == f"{stamp(8)} line 8\n{stamp(9)} line 9\n"
        assert logs.read(f"sinceTime={stamp(3)}&tailLines=1") == b"line 9\n"
        assert logs.read("limitBytes=9") == b"line 0\nli"
        assert logs.read("sinceSeconds=60") == b""
        assert logs.read("tailLines=0") == b""

    def test_large(self, logs: Logs) -> None:
        lines = [f"{number} " + "x" * 1000 for number in range(3000)]
        logs.write(*(record(number, line) for number, line in enumerate(lines[:3000])))
        assert logs.read().decode().splitlines() == lines

    def test_binary(self, logs: Logs) -> None:
        logs.write(record(1, "")[:-1] + b"\xff\x00\xfe\n")
        assert logs.read() == b"\xff\x00\xfe\n"

    def test_restarts(self, logs: Logs) -> None:
        logs.write(record(1, "first"))
        assert logs.refused("previous=true") == 'previous terminated container "main" in pod "p" not found'
        logs.end()
        logs.write(record(2, "second"), restart=1)
        assert logs.read() == b"second\n"
        assert logs.read("previous=true") == b"first\n"

    def test_between_restarts_the_last_run_is_the_previous_one(self, logs: Logs) -> None:
        logs.write(record(1, "first"))
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        last = {"terminated": {"exitCode": 1}}
        logs.status(containerStatuses=[{"name": "main", "state": waiting, "lastState": last, "restartCount": 0}])
        assert logs.read() == b"first\n"
        assert logs.read("previous=true") == b"first\n"

    def test_a_container_that_ended_without_a_word(self, logs: Logs) -> None:
        logs.status(phase="Failed")
        assert logs.read() == b""
        assert logs.read("follow=true") == b""

    def test_containers(self, server: RunningServer, namespace: str) -> None:
        two = {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}
        logs = Logs(server, namespace, pod("two", initContainers=[{"name": "i", "image": "i"}], **two))
        logs.write(record(1, "b"), container="b")
        logs.write(record(1, "init"), container="i")
        assert logs.refused() == (
            "a container name must be specified for pod two, choose one of: [a b] or one of the init containers: [i]"
        )
        assert logs.read("container=b") == b"b\n"
        assert logs.read("container=i") == b"init\n"
        assert logs.refused("container=z") == "container z is not valid for pod two"
        assert logs.refused("container=a") == 'container "a" in pod "two" is waiting to start: PodInitializing'

    def test_not_started(self, logs: Logs) -> None:
        assert logs.refused() == 'container "main" in pod "p" is waiting to start: ContainerCreating'
        logs.status(containerStatuses=[{"name": "main", "state": {"waiting": {"reason": "ErrImagePull"}}}])
        assert logs.refused("follow=true") == 'container "main" in pod "p" is waiting to start: ErrImagePull'

    @pytest.mark.parametrize(
        "query",
        [
            "sinceTime=x",
            "sinceSeconds=0",
            "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
            "tailLines=x",
            "limitBytes=0",
            "stream=x",
        ],
    )
    def test_nonsense(self, logs: Logs, query: str) -> None:
        logs.write(record(1, "a"))
        logs.refused(query)

    def test_no_pod(self, client: Client) -> None:
        assert client("GET", "/api/v1/namespaces/default/pods/none/log").status == 404


class TestFollowing:
    def test_until_the_container_ends(self, logs: Logs) -> None:
        logs.write(record(1, "one"))
        follower = Follower(logs)
        follower.until(b"one\n")
        logs.write(record(2, "two", "P"))
        follower.until(b"two")
        logs.write(record(2, "more"))
        logs.end()
        assert follower.all() == b"one\ntwomore\n"

    def test_what_comes_from_now_on(self, logs: Logs) -> None:
        logs.write(record(1, "old"))
        follower = Follower(logs, "tailLines=0")
        logs.write(record(2, "new"))
        logs.end()
        assert follower.all() == b"new\n"

    def test_a_log_that_is_over(self, logs: Logs) -> None:
        logs.write(record(1, "a"))
        logs.end()
        assert Follower(logs).all() == b"a\n"

    def test_nothing_is_missed_when_the_pod_goes(self, logs: Logs) -> None:
        logs.write(record(1, "a"))
        follower = Follower(logs)
        follower.until(b"a\n")
        logs.write(record(2, "last words"))
        logs.client.ok("DELETE", logs.path, {"gracePeriodSeconds": 0})
        shutil.rmtree(logs.folder)
        assert follower.all() == b"a\nlast words\n"

    def test_a_limit_ends_it(self, logs: Logs) -> None:
        logs.write(record(1, "abcdef"))
        assert Follower(logs, "limitBytes=3").all() == b"abc"

    def test_many_at_once(self, logs: Logs) -> None:
        logs.write(record(1, "start"))
        followers = [Follower(logs) for _ in range(8)]
        for number in range(200):
            logs.write(record(2, f"line {number}"))
        logs.end()
        expected = b"start\n" + b"".join(f"line {number}\n".encode() for number in range(200))
        assert [follower.all() for follower in followers] == [expected] * 8
