"""The reflector against servers that end watches early, forget versions, lose deletions, and go away.

Pitfall 19 (the official SharedInformer fails with custom objects) cannot come up: nothing of it is used, and objects are plain dicts.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.stack import free_port, wait_for
from tests.unit.cluster.server import (
    Answer,
    ApiServer,
    Asked,
    Json,
    bookmark,
    event,
    in_turn,
    listing,
    pod,
    refusal,
    serving,
    watching,
    write_kubeconfig,
)
from trainui.cluster.client import Cluster, Times
from trainui.cluster.kinds import POD, POD_GROUP, Kind
from trainui.cluster.reflector import EARLY_SECONDS, MAX_PAUSE_SECONDS, MAX_PAUSE_WITH_EVENTS_SECONDS, Reflector

NOTHING = refusal(404, "NotFound", "the server could not find the requested resource")
EXPIRED = refusal(410, "Expired", "too old resource version")


@dataclass
class Memory:
    """A sink that holds what it was told."""

    objects: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)  # of the API, of each list
    problems: list[str] = field(default_factory=list)
    fail_once: bool = False

    def replace(self, kind: Kind, items: list[Json], resource_version: str) -> None:
        self.calls.append(f"replace@{resource_version}")
        self.versions.append(kind.version)
        self.objects = {i["metadata"]["name"]: i["metadata"]["resourceVersion"] for i in items}

    def event(self, kind: Kind, type: str, obj: Json) -> None:
        if self.fail_once:
            self.fail_once = False
            raise RuntimeError("the database is away")
        self.calls.append(f"{type} {obj['metadata']['name']}")
        if type == "DELETED":
            self.objects.pop(obj["metadata"]["name"], None)
        else:
            self.objects[obj["metadata"]["name"]] = obj["metadata"]["resourceVersion"]

    def alive(self, kind: Kind, problem: str = "") -> None:
        self.problems.append(problem)

    def last_problem(self) -> str:
        return self.problems[-1] if self.problems else ""


class Stop(threading.Event):
    """Notes how long a reflector wants to wait, and waits a hundredth of it."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout or 0.0)
        return super().wait(min((timeout or 0.0) / 100, 0.02))


@dataclass
class World:
    server: ApiServer
    sink: Memory
    stop: Stop
    reflector: Reflector

    def watched_from(self) -> list[str]:
        return [a.query["resourceVersion"] for a in list(self.server.asked) if "watch" in a.query]

    def lists(self) -> int:
        return sum("watch" not in a.query for a in list(self.server.asked))


@contextmanager
def reflecting(script: Callable[[Asked], Answer | None], folder: Path, **options: Any) -> Iterator[World]:
    """Run a reflector of pods on a server for the block."""
    with serving(script) as server:
        cluster = Cluster.from_kubeconfig(
            write_kubeconfig(folder / "kubeconfig", server.url), Times(idle=0.3, call=0.5)
        )
        sink, stop = options.pop("sink", Memory()), Stop()
        reflector = Reflector(cluster, options.pop("kind", POD), sink, stop, **options)
        thread = threading.Thread(target=reflector.run, daemon=True)
        thread.start()
        try:
            yield World(server, sink, stop, reflector)
        finally:
            stop.set()
            server.close()
            thread.join(20)
        assert not thread.is_alive()


def serve(
    lists: Callable[[Asked], Answer | None], watches: Callable[[Asked], Answer | None]
) -> Callable[[Asked], Answer | None]:
    return lambda asked: (watches if "watch" in asked.query else lists)(asked)


def quiet() -> Answer:
    """Return a watch that stays open, with a bookmark now and then."""
    gate = threading.Event()
    return Answer(steps=(step for _ in range(10_000) for step in (bookmark(100), lambda: gate.wait(0.05))))


def then_quiet(*answers: Answer | None) -> Callable[[Asked], Answer | None]:
    left = list(answers)
    return lambda asked: left.pop(0) if left else quiet()


def test_a_watch_goes_on_from_the_last_version_also_of_a_bookmark(tmp_path: Path) -> None:
    """Pitfall 14: a naive restart brings everything again as ADDED."""
    ended = watching(event("ADDED", pod("b", 5)), bookmark(30))
    with reflecting(serve(in_turn(listing(pod("a", 1), version=3)), then_quiet(ended)), tmp_path) as world:
        wait_for(lambda: len(world.watched_from()) >= 2, 20, "a second watch")
        assert world.watched_from()[:2] == ["3", "30"]
        assert world.lists() == 1
        assert world.sink.calls == ["replace@3", "ADDED b"]


def test_an_older_version_is_followed_where_the_newest_is_not_served_until_it_is(tmp_path: Path) -> None:
    """Kubernetes 1.36 serves PodGroup as v1alpha2, 1.37 as v1beta1 and no longer the other."""
    served = ["v1alpha2"]

    def script(asked: Asked) -> Answer | None:
        if f"/scheduling.k8s.io/{served[0]}/podgroups" not in asked.path:
            return NOTHING
        return watching(bookmark(4)) if "watch" in asked.query else listing(pod("a", 1), version=3)

    with reflecting(script, tmp_path, kind=POD_GROUP) as world:
        wait_for(lambda: world.watched_from(), 20, "a watch")
        assert world.sink.versions == ["v1alpha2"]
        assert all("v1alpha2" in asked.path for asked in list(world.server.asked) if "watch" in asked.query)
        served[0] = "v1beta1"
        wait_for(lambda: world.sink.versions[-1] == "v1beta1", 20, "the newest version to be followed")
        served[0] = "v9"
        wait_for(lambda: "has no podgroups" in world.sink.last_problem(), 20, "the lack to be told")


@pytest.mark.parametrize(
    "said", [EXPIRED, watching(event("ERROR", {"code": 410, "reason": "Expired", "message": "too old"}))]
)
def test_after_410_what_went_meanwhile_is_found_by_comparing(said: Answer, tmp_path: Path) -> None:
    """Pitfall 15: relist, and what is missing is gone; never the same version again."""
    lists = in_turn(listing(pod("a", 1), pod("gone", 2), version=3), listing(pod("a", 1), version=9))
    with reflecting(serve(lists, then_quiet(said)), tmp_path) as world:
        wait_for(lambda: world.watched_from()[1:] == ["9"], 20, "a watch from the new version")
        assert world.sink.objects == {"a": "1"}
        assert world.watched_from()[0] == "3"


def test_versions_are_opaque_and_never_go_back(tmp_path: Path) -> None:
    """Pitfall 16: the version to go on from is that of the last event, whatever it looks like."""
    ended = watching(event("MODIFIED", pod("a", "zz-9")), event("MODIFIED", pod("a", "10")))
    with reflecting(serve(in_turn(listing(version="abc")), then_quiet(ended)), tmp_path) as world:
        wait_for(lambda: len(world.watched_from()) >= 2, 20, "a second watch")
        assert world.watched_from()[:2] == ["abc", "10"]


def test_a_half_open_watch_is_opened_again_where_it_was(tmp_path: Path) -> None:
    """Pitfall 13: and it is no trouble: perhaps there was nothing to say."""
    gate = threading.Event()
    silent = watching(event("ADDED", pod("b", 5)), lambda: gate.wait(60))
    with reflecting(serve(in_turn(listing(version=3)), then_quiet(silent)), tmp_path) as world:
        wait_for(lambda: world.watched_from()[1:] == ["5"], 20, "a watch in place of the silent one")
        gate.set()
        assert world.lists() == 1
        assert set(world.sink.problems) == {""}


def test_a_deletion_that_no_watch_told_is_found_by_the_next_comparison(tmp_path: Path) -> None:
    """Pitfall 17: missed DELETED without any 410."""
    lists = in_turn(listing(pod("a", 1), pod("phantom", 2), version=3), listing(pod("a", 1), version=4))
    with reflecting(serve(lists, lambda asked: watching(bookmark(4))), tmp_path, relist_seconds=0.2) as world:
        wait_for(lambda: world.sink.objects == {"a": "1"}, 20, "the phantom to go")


def test_a_stream_that_breaks_goes_on_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    """Pitfall 20: the rest of the line that was torn comes with the next watch."""
    torn = Answer(steps=[event("ADDED", pod("b", 5)), event("ADDED", pod("c", 6))[:-9]], reset=True)
    garbled = watching(event("ADDED", pod("c", 6)), b"<html>\n")
    with reflecting(serve(in_turn(listing(version=3)), then_quiet(torn, garbled)), tmp_path) as world:
        wait_for(lambda: len(world.watched_from()) >= 3, 20, "three watches")
        assert world.watched_from()[:3] == ["3", "5", "6"]
        assert world.sink.calls == ["replace@3", "ADDED b", "ADDED c"]


def steady(pauses: list[float], longest: float) -> None:
    """Check that pauses grow to a bound and stay there, and that the first is not none."""
    assert len(pauses) > 12
    assert pauses[0] >= 0.1
    assert all(0.5 * before < after <= longest for before, after in pairwise(pauses))
    assert min(pauses[10:]) >= longest / 2


LISTED = in_turn(listing(version=3))
ONE_EVENT = event("ADDED", pod("a", 5))
STORMS: dict[str, tuple[Callable[[Asked], Answer | None], Callable[[Asked], Answer | None], float]] = {
    "lists fail": (in_turn(refusal(500, "InternalError", 'failed calling webhook "x"')), LISTED, MAX_PAUSE_SECONDS),
    "watches end at once": (LISTED, in_turn(watching()), MAX_PAUSE_SECONDS),
    "watches end after an event": (LISTED, in_turn(watching(ONE_EVENT)), MAX_PAUSE_WITH_EVENTS_SECONDS),
    "watches break at once": (LISTED, in_turn(None), MAX_PAUSE_SECONDS),
    "watches break after an event": (
        LISTED,
        in_turn(Answer(steps=[ONE_EVENT], reset=True)),
        MAX_PAUSE_WITH_EVENTS_SECONDS,
    ),
    "every version is too old": (LISTED, in_turn(EXPIRED), MAX_PAUSE_SECONDS),
    "no such kind": (in_turn(NOTHING), in_turn(NOTHING), MAX_PAUSE_SECONDS),
    "watches are refused": (LISTED, in_turn(refusal(403, "Forbidden", "no")), MAX_PAUSE_SECONDS),
}


@pytest.mark.parametrize("name", STORMS)
def test_whatever_fails_is_asked_for_ever_more_seldom(name: str, tmp_path: Path) -> None:
    """Pitfalls 18 and 20: reconnect storms, also when streams end without an error."""
    lists, watches, longest = STORMS[name]
    with reflecting(serve(lists, watches), tmp_path) as world:
        wait_for(lambda: len(world.stop.pauses) >= 16, 60, "many pauses")
        pauses, asked = world.stop.pauses[:16], len(world.server.asked)
    steady(pauses, longest)
    assert asked <= 4 * (len(world.stop.pauses) + 1), "a request without a pause before it"


def test_a_watch_that_lived_long_makes_the_next_pauses_short_again(tmp_path: Path) -> None:
    now = count(0, EARLY_SECONDS + 1)  # each look at the clock is long after the last
    with reflecting(
        serve(in_turn(listing(version=3)), in_turn(watching())), tmp_path, clock=lambda: next(now)
    ) as world:
        wait_for(lambda: len(world.server.asked) > 10, 20, "many watches")
        assert world.stop.pauses == []
        assert world.reflector.failures == 0


def test_jitter_spreads_those_who_were_cut_together(tmp_path: Path) -> None:
    first = set()
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        with reflecting(serve(LISTED, in_turn(watching())), tmp_path / str(number)) as world:
            pauses = world.stop.pauses
            wait_for(pauses.__len__, 20, "a pause")
            first.add(pauses[0])
    assert len(first) > 1


def test_a_server_that_asks_for_time_gets_it(tmp_path: Path) -> None:
    busy = Answer(429, b"{}", {"Retry-After": "33"})
    with reflecting(serve(in_turn(busy, listing(version=3)), then_quiet()), tmp_path) as world:
        wait_for(lambda: world.sink.calls == ["replace@3"], 20, "the list")
        assert 33.0 in world.stop.pauses


def test_a_kind_that_comes_and_goes_is_waited_for(tmp_path: Path) -> None:
    """A CRD that is installed, removed and installed again while we run; meanwhile that is said."""
    installed = threading.Event()

    def script(asked: Asked) -> Answer | None:
        if not installed.is_set():
            return NOTHING
        return watching(bookmark(4)) if "watch" in asked.query else listing(pod("a", 1), version=3)

    with reflecting(script, tmp_path) as world:
        for times in (1, 2):
            wait_for(lambda: "the cluster has no pods" in world.sink.last_problem(), 20, "the lack to be said")
            world.sink.calls.clear()
            installed.set()
            wait_for(
                lambda: bool(world.sink.calls) and not world.sink.last_problem(), 20, f"the kind to be read, {times}"
            )
            assert world.sink.objects == {"a": "1"}
            installed.clear()


def test_a_kind_that_is_not_served_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    """An API server that starts may answer 404 for a kind it is about to serve: what was known stays until a list says otherwise."""
    lists = in_turn(listing(pod("a", 1), version=3), NOTHING, listing(pod("a", 1), version=3))
    with reflecting(serve(lists, then_quiet(NOTHING)), tmp_path) as world:
        wait_for(lambda: world.sink.calls.count("replace@3") == 2, 20, "the second list")
        assert world.sink.objects == {"a": "1"}


def test_an_api_server_that_restarts_is_found_again_and_compared_with(tmp_path: Path) -> None:
    port = free_port()
    sink, stop = Memory(), Stop()
    path = write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}")
    reflector = Reflector(Cluster.from_kubeconfig(path, Times(call=0.5)), POD, sink, stop)
    thread = threading.Thread(target=reflector.run, daemon=True)
    with serving(serve(in_turn(listing(pod("a", 1), pod("b", 1), version=3)), then_quiet()), port=port):
        thread.start()
        wait_for(lambda: sink.objects == {"a": "1", "b": "1"}, 20, "the first list")
    wait_for(lambda: "does not answer" in sink.last_problem(), 20, "the trouble to be said")
    with serving(serve(in_turn(listing(pod("a", 7), version=8)), then_quiet()), port=port):
        wait_for(lambda: sink.objects == {"a": "7"} and not sink.last_problem(), 20, "the list of the new server")
        stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_sink_that_fails_is_told_everything_again(tmp_path: Path) -> None:
    watches = then_quiet(watching(event("ADDED", pod("b", 5)), event("ADDED", pod("c", 6))))
    lists = in_turn(listing(version=3), listing(pod("b", 5), pod("c", 6), version=6))
    with reflecting(serve(lists, watches), tmp_path, sink=Memory(fail_once=True)) as world:
        wait_for(lambda: world.sink.objects == {"b": "5", "c": "6"}, 20, "everything")
        assert "writing the mirror failed" in world.sink.problems
