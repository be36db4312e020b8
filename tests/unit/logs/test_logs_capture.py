"""Following one container: broken connections, refusals, restarts, with a clock and pauses of our own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs.logs import capture as capture_module
from jobs.logs.archive import Archive, read_meta
from jobs.logs.capture import LONGEST_PAUSE, State, capture
from jobs.logs.reader import LogReader
from tests.unit.logs.log_tools import BASE, served
from trainui.cluster.errors import Forbidden, Invalid, NotFound, Unavailable

Step = bytes | Exception
SECOND = 1_000_000_000
EARLY = served([b"one", b"two"])
ALL = served([b"one", b"two", b"three"])


class World:
    """A cluster that answers each log request from a script, and a clock that only moves while somebody waits."""

    def __init__(self, connections: list[list[Step]], states: Callable[["World"], State]) -> None:
        self.connections = connections
        self.asked: list[str | None] = []
        self.now = 0.0
        self.pauses: list[float] = []
        self.stopped = False
        self._states = states

    def open(self, since: str | None) -> Iterator[bytes]:
        self.asked.append(since)
        if not self.connections:
            self.stopped = True
            raise Unavailable("the script is over")
        for step in self.connections.pop(0):
            if isinstance(step, Exception):
                raise step
            yield step

    def state(self) -> State:
        return self._states(self)

    def clock(self) -> float:
        return self.now

    def is_set(self) -> bool:
        return self.stopped

    def wait(self, timeout: float) -> bool:
        self.pauses.append(timeout)
        self.now += timeout
        return self.stopped


def always(state: State) -> Callable[[World], State]:
    return lambda world: state


def once_all_was_read(world: World) -> State:
    return "running" if world.connections else "ended"


def run(folder: Path, world: World, max_bytes: int = 1 << 40) -> str:
    archive = Archive(folder, max_bytes)
    try:
        return capture(world.open, archive, world.clock, world, world.state)
    finally:
        archive.close()


def texts(folder: Path) -> list[str]:
    with LogReader(folder) as reader:
        return [line.data.decode() for line in reader.read(0, 1000)]


def test_a_container_that_has_ended(tmp_path: Path) -> None:
    world = World([[ALL[:50], ALL[50:]]], always("ended"))
    assert run(tmp_path, world) == "ended"
    assert (world.asked, world.pauses) == ([None], [])
    assert texts(tmp_path) == ["one", "two", "three"]
    assert read_meta(tmp_path)["reason"] == "ended"


@pytest.mark.parametrize("trouble", [Unavailable("broken"), Forbidden("no"), ValueError("bug in a proxy")])
@pytest.mark.parametrize("cut", [0, 10, 37, 40, len(EARLY), len(ALL) - 1])
def test_a_broken_connection_is_resumed(tmp_path: Path, trouble: Exception, cut: int) -> None:
    world = World([[ALL[:cut], trouble], [ALL]], once_all_was_read)
    assert run(tmp_path, world) == "ended"
    assert texts(tmp_path) == ["one", "two", "three"]
    assert len(world.pauses) == 1


def test_a_stream_that_ends_while_the_container_runs_is_opened_again(tmp_path: Path) -> None:
    world = World([[EARLY], [EARLY[35:], ], [ALL]], once_all_was_read)  # fmt: skip
    assert run(tmp_path, world) == "ended"
    assert texts(tmp_path) == ["one", "two", "three"]
    assert world.asked == [None, "2026-03-01T10:00:01Z", "2026-03-01T10:00:01Z"]


def test_the_end_of_the_container_may_be_seen_a_little_later(tmp_path: Path) -> None:
    """Asking again at once could return the log of the next attempt."""
    world = World(
        [[ALL], [b"2026-03-01T10:00:09.000000000Z next attempt\n"]],
        lambda world: "ended" if world.now > 2 else "running",
    )
    assert run(tmp_path, world) == "ended"
    assert world.asked == [None]


def test_waiting_to_start(tmp_path: Path) -> None:
    waiting = Invalid('container "node" in pod "x" is waiting to start: ContainerCreating')
    world = World([[waiting], [waiting], [ALL]], once_all_was_read)
    assert run(tmp_path, world) == "ended"
    assert texts(tmp_path) == ["one", "two", "three"]
    assert 0.3 < world.pauses[0] < world.pauses[1]


@pytest.mark.parametrize(("state", "reason"), [("gone", "gone"), ("ended", "gone"), ("previous", "replaced")])
def test_a_pod_that_is_gone(tmp_path: Path, state: State, reason: str) -> None:
    world = World(
        [[EARLY, Unavailable("x")], [NotFound("pods x not found")]],
        lambda world: state if not world.connections else "running",
    )
    assert run(tmp_path, world) == reason
    *kept, note = texts(tmp_path)
    assert kept == ["one", "two"]
    assert note.startswith("[trainui] ")


def test_404_is_not_believed_at_once(tmp_path: Path) -> None:
    missing = NotFound("the server could not find the requested resource")
    world = World([[missing], [missing], [ALL]], once_all_was_read)
    assert run(tmp_path, world) == "ended"
    world = World([[missing]] * 3, always("running"))
    assert run(tmp_path / "b", world) == "gone"


def test_an_attempt_that_was_replaced_is_not_asked_for(tmp_path: Path) -> None:
    world = World([[ALL]], always("replaced"))
    assert run(tmp_path, world) == "replaced"
    assert world.asked == []


def test_rotation_is_told(tmp_path: Path) -> None:
    world = World([[EARLY, Unavailable("x")], [served([b"nine"], start=BASE + 9 * SECOND)]], once_all_was_read)
    assert run(tmp_path, world) == "ended"
    kept = texts(tmp_path)
    assert (kept[:2], kept[3:]) == (["one", "two"], ["nine"])
    assert kept[2] == (
        "[trainui] the log was rotated while nobody read it: lines between 2026-03-01T10:00:01.000000000Z"
        " and 2026-03-01T10:00:09.000000000Z may be missing"
    )


def test_pauses_grow_and_start_small_again(tmp_path: Path) -> None:
    world = World([[Unavailable("x")] for _ in range(9)], always("running"))
    assert run(tmp_path, world) == ""
    assert max(world.pauses) <= LONGEST_PAUSE * 1.25
    assert all(later > 1.1 * sooner for sooner, later in zip(world.pauses[:5], world.pauses[1:6], strict=True))

    def steady(since: str | None) -> Iterator[bytes]:
        world.now += capture_module.STEADY_SECONDS
        yield from World.open(world, since)

    world = World([[Unavailable("x")] for _ in range(9)], always("running"))
    archive = Archive(tmp_path / "b")
    capture(steady, archive, world.clock, world, world.state)
    archive.close()
    assert max(world.pauses) <= 2 * 1.25


def test_retry_after_is_kept(tmp_path: Path) -> None:
    world = World([[Unavailable("busy", retry_after=17.0)], [ALL]], once_all_was_read)
    run(tmp_path, world)
    assert world.pauses == [17.0]


def test_the_limit_does_not_end_the_following(tmp_path: Path) -> None:
    data = served(b"line %03d" % number for number in range(100))
    world = World([[data[:2000], Unavailable("x")], [data]], once_all_was_read)
    assert run(tmp_path, world, max_bytes=200) == "ended"
    assert world.asked[1] != world.asked[0]
    with LogReader(tmp_path) as reader:
        assert reader.truncated
        assert reader.dropped_bytes == (100 - 22) * 9


def test_pieces_are_told_once(tmp_path: Path) -> None:
    told: list[bytes] = []
    world = World([[EARLY, Unavailable("x")], [ALL]], once_all_was_read)
    archive = Archive(tmp_path)
    capture(
        world.open, archive, world.clock, world, world.state, lambda pieces: told.extend(piece.data for piece in pieces)
    )
    archive.close()
    assert told == [b"one", b"two", b"three"]


def test_a_bar_is_seen_before_its_line_ends(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    data = served([b"one", b"\r10%\r20%"])

    def look(world: World) -> State:
        with LogReader(tmp_path) as reader:
            seen.append([row.row.text for row in reader.render(0, 10)])
        return once_all_was_read(world)

    world = World([[data[:-1], Unavailable("x")], [data]], look)
    assert run(tmp_path, world) == "ended"
    assert seen[1] == ["one", "20%"]
    assert texts(tmp_path) == ["one", "\r10%\r20%"]


def test_pieces_in_parts_make_whole_lines(tmp_path: Path) -> None:
    world = World([[ALL[at : at + 1] for at in range(len(ALL))]], always("ended"))
    assert run(tmp_path, world) == "ended"
    assert texts(tmp_path) == ["one", "two", "three"]
