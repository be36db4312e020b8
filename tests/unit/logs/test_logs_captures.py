"""The manager of followers with real threads; the cluster is a set of queues."""

import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.logs.archive import Archive, read_meta
from jobs.logs.captures import Captures, Container, LogProgress, containers_of
from jobs.logs.progress import Sample
from jobs.logs.reader import LogReader
from tests.unit.logs.log_tools import BASE, served, write
from trainui.cluster.errors import NotFound

PATIENCE = 20.0
RUNNING = {"running": {"startedAt": "2026-03-01T10:00:00Z"}}
ENDED = {"terminated": {"exitCode": 0}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def pod(
    name: str, state: dict[str, Any], restarts: int = 0, last: dict[str, Any] | None = None, **init: Any
) -> dict[str, Any]:
    status: dict[str, Any] = {
        "containerStatuses": [{"name": "node", "restartCount": restarts, "state": state, "lastState": last or {}}]
    }
    if init:
        status["initContainerStatuses"] = [
            {"name": key, "restartCount": 0, "state": value} for key, value in init.items()
        ]
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"}, "status": status}


class Fake:
    """Log streams that a test feeds, and a listener that records and can be waited for."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.streams: dict[tuple[str, str, bool], queue.Queue[bytes | None]] = {}
        self.asked: list[tuple[str, str, str | None, bool]] = []
        self.told: list[tuple[str, LogProgress]] = []
        self.done: dict[Container, str] = {}
        self.metrics: list[tuple[str, float]] = []

    def queue_of(self, pod_name: str, container: str = "node", previous: bool = False) -> "queue.Queue[bytes | None]":
        with self.changed:
            return self.streams.setdefault((pod_name, container, previous), queue.Queue())

    def open(
        self, namespace: str, pod_name: str, container: str, since: str | None, *, previous: bool
    ) -> Iterator[bytes]:
        source = self.queue_of(pod_name, container, previous)
        with self.changed:
            self.asked.append((pod_name, container, since, previous))
            self.changed.notify_all()
        while (chunk := source.get(timeout=PATIENCE)) is not None:
            yield chunk

    def progress(self, container: Container, progress: LogProgress) -> None:
        with self.changed:
            self.told.append((container.pod, progress))
            self.changed.notify_all()

    def samples(self, container: Container, samples: list[Sample]) -> None:
        with self.changed:
            self.metrics += [(sample.name, sample.value) for sample in samples]

    def finished(self, container: Container, progress: LogProgress, reason: str) -> None:
        with self.changed:
            self.done[container] = reason
            self.changed.notify_all()

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE)


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def captures(fake: Fake, tmp_path: Path) -> Iterator[Captures]:
    manager = Captures(tmp_path, fake.open, fake, max_bytes=1 << 30)
    yield manager
    for stream in list(fake.streams.values()):
        stream.put(None)
    manager.stop()


def join(pod_name: str) -> None:
    """Wait until the followers of a pod are over."""
    for thread in [thread for thread in threading.enumerate() if thread.name == f"log-{pod_name}"]:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def texts(folder: Path) -> list[str]:
    with LogReader(folder) as reader:
        return [line.data.decode() for line in reader.read(0, 1000)]


def test_follows_and_tells(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    captures.update("job", [pod("p0", RUNNING, prepare=ENDED), pod("p1", {"waiting": {"reason": "ContainerCreating"}})])
    fake.queue_of("p0", "prepare").put(None)
    fake.queue_of("p0").put(served([b"step 1 loss=2.5"]))
    fake.wait(lambda: any(name == "p0" and progress.lines == 1 for name, progress in fake.told))
    assert fake.told[-1][1] == LogProgress(16, 1, BASE, BASE, False)
    assert texts(tmp_path / "job" / "p0--node--0") == ["step 1 loss=2.5"]
    captures.update("job", [pod("p0", ENDED, prepare=ENDED)])
    fake.queue_of("p0").put(None)
    fake.wait(lambda: len(fake.done) == 2)
    assert {(c.name, reason) for c, reason in fake.done.items()} == {("node", "ended"), ("prepare", "ended")}
    assert fake.metrics == [("loss", 2.5)]
    assert {asked[0] for asked in fake.asked} == {"p0"}
    captures.update("job", [pod("p0", ENDED, prepare=ENDED)])
    assert captures.active() == []


def test_a_burst_is_told_at_most_every_100_ms_but_to_its_end(captures: Captures, fake: Fake) -> None:
    captures.update("job", [pod("p0", RUNNING)])
    for number in range(500):
        fake.queue_of("p0").put(served([b"x"], start=BASE + number))
    fake.wait(lambda: any(progress.lines == 500 for _, progress in fake.told))
    assert len(fake.told) < 500


def test_goes_on_after_a_restart_of_the_process(fake: Fake, tmp_path: Path) -> None:
    first = Captures(tmp_path, fake.open, fake, max_bytes=1 << 30)
    first.update("job", [pod("p0", RUNNING)])
    fake.queue_of("p0").put(served([b"one", b"two"]))
    fake.wait(lambda: any(progress.lines == 2 for _, progress in fake.told))
    first.stop(seconds=0)
    fake.queue_of("p0").put(None)
    join("p0")
    assert first.active() == []
    second = Captures(tmp_path, fake.open, fake, max_bytes=1 << 30)
    second.update("job", [pod("p0", ENDED)])
    fake.queue_of("p0").put(served([b"one", b"two", b"three"]))
    fake.queue_of("p0").put(None)
    fake.wait(lambda: "ended" in fake.done.values())
    second.stop()
    assert [asked[2] for asked in fake.asked] == [None, "2026-03-01T10:00:01Z"]
    assert texts(tmp_path / "job" / "p0--node--0") == ["one", "two", "three"]


def test_a_finished_log_is_not_read_again(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    write(tmp_path / "job" / "p0--node--0", served([b"one"]))
    captures.update("job", [pod("p0", ENDED)])
    fake.wait(lambda: bool(fake.done))
    assert fake.asked == []


def test_each_attempt_has_its_log(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    captures.update("job", [pod("p0", RUNNING)])
    fake.wait(lambda: len(fake.asked) == 1)
    captures.update("job", [pod("p0", RUNNING, restarts=1, last=ENDED)])
    fake.queue_of("p0").put(None)  # the stream of attempt 0 ends, whoever reads it
    fake.wait(lambda: len(fake.asked) >= 2)
    fake.queue_of("p0").put(None)
    captures.update("job", [pod("p0", ENDED, restarts=1, last=ENDED)])
    fake.wait(lambda: len(fake.done) == 2)
    assert {(c.attempt, reason) for c, reason in fake.done.items()} == {(0, "ended"), (1, "ended")}


def test_an_attempt_that_nobody_saw_is_read_as_the_previous_one(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    fake.queue_of("p0", previous=True).put(served([b"crashed"]))
    fake.queue_of("p0", previous=True).put(None)
    captures.update("job", [pod("p0", RUNNING, restarts=1, last=ENDED)])
    fake.wait(lambda: bool(fake.done))
    assert texts(tmp_path / "job" / "p0--node--0") == ["crashed"]


def test_logs_that_were_left_over_are_closed(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    write(tmp_path / "job" / "old--node--0", served([b"one"]), complete=False)
    captures.update("job", [])
    assert read_meta(tmp_path / "job" / "old--node--0")["complete"]
    assert texts(tmp_path / "job" / "old--node--0")[1].startswith("[trainui] nobody followed")


def test_the_pod_goes_away(captures: Captures, fake: Fake) -> None:
    captures.update("job", [pod("p0", RUNNING)])
    fake.wait(lambda: bool(fake.asked))
    captures.update("job", [])
    fake.queue_of("p0").put(None)
    fake.wait(lambda: list(fake.done.values()) == ["ended"])


def test_forget_stops_without_an_end(captures: Captures, fake: Fake, tmp_path: Path) -> None:
    captures.update("job", [pod("p0", RUNNING)])
    fake.wait(lambda: bool(fake.asked))
    captures.forget("job")
    fake.queue_of("p0").put(None)
    join("p0")
    assert fake.done == {}


def test_what_a_listener_raises_changes_nothing(fake: Fake, tmp_path: Path) -> None:
    class Broken(Fake):
        def samples(self, container: Container, samples: list[Sample]) -> None:
            raise RuntimeError("the database is away")

    broken = Broken()
    manager = Captures(tmp_path, broken.open, broken, max_bytes=1 << 30)
    manager.update("job", [pod("p0", ENDED)])
    broken.queue_of("p0").put(served([b"loss=1"]))
    broken.queue_of("p0").put(None)
    broken.wait(lambda: bool(broken.done))
    manager.stop()
    assert texts(tmp_path / "job" / "p0--node--0") == ["loss=1"]


def test_another_writer_is_waited_for(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.logs.captures.DISK_PAUSE", 0.01)
    other = Archive(tmp_path / "job" / "p0--node--0")
    manager = Captures(tmp_path, fake.open, fake, max_bytes=1 << 30)
    manager.update("job", [pod("p0", ENDED)])
    fake.queue_of("p0").put(None)
    assert fake.asked == []
    other.close()
    fake.wait(lambda: bool(fake.done))
    manager.stop()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (pod("p", {"waiting": {"reason": "ContainerCreating"}}), {}),
        (pod("p", {}), {}),
        (pod("p", RUNNING), {("node", 0): "running"}),
        (pod("p", ENDED), {("node", 0): "ended"}),
        (pod("p", RUNNING, 2, ENDED), {("node", 2): "running", ("node", 1): "previous"}),
        (pod("p", WAITING, 2, ENDED), {("node", 2): "ended"}),
        (pod("p", {"waiting": {}}, prepare=RUNNING), {("prepare", 0): "running"}),
        ({"metadata": {"name": "p"}}, {}),
    ],
)
def test_containers_that_have_started(given: dict[str, Any], wanted: dict[tuple[str, int], str]) -> None:
    assert {(c.name, c.attempt): state for c, state in containers_of("job", [given]).items()} == wanted


def test_not_found_ends_the_follower(tmp_path: Path) -> None:
    class Gone(Fake):
        def open(
            self, namespace: str, pod_name: str, container: str, since: str | None, *, previous: bool
        ) -> Iterator[bytes]:
            raise NotFound("no such pod")
            yield b""

    gone = Gone()
    manager = Captures(tmp_path, gone.open, gone, max_bytes=1 << 30)
    manager.update("job", [pod("p0", ENDED)])
    gone.wait(lambda: list(gone.done.values()) == ["gone"])
    manager.stop()
