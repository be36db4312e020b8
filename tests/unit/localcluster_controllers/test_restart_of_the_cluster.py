"""The process of the local cluster may end at any moment: nothing is counted twice, lost, or left half done."""

import asyncio
import logging
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, gang, jobset, pod_group, rjob, run
from trainui.localcluster.admission import admit
from trainui.localcluster.controllers import start
from trainui.localcluster.store import Store


async def some_turns(store: Store, turns: int) -> None:
    """Run the controllers for so many turns of the loop, then end them where they are."""
    controllers = asyncio.create_task(start(store, 0.0))
    for _ in range(turns):
        await asyncio.sleep(0)
    controllers.cancel()
    await asyncio.gather(controllers, return_exceptions=True)


def whole_gangs_only(cluster: Cluster, names: list[str]) -> bool:
    placed = {name: [p for p in cluster.pods(f"{name}-node-0") if p["spec"].get("nodeName")] for name in names}
    return all(len(pods) in (0, 3) for pods in placed.values())


@pytest.mark.parametrize("seed", range(8))
def test_jobs_survive_ends_at_random_moments(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311
    names = ["a", "b", "c"]
    store = Store(tmp_path / "db", admit)
    cluster = Cluster(store)
    cluster.machine("m", cpu="4")
    for name in names:
        cluster.create("PodGroup", pod_group(name, 3))
        cluster.create("JobSet", jobset(name, rjob("node", pods=3, pod=gang(name))))
    for _ in range(3000):
        asyncio.run(some_turns(store, chance.randint(1, 12)))
        store.close()
        store = cluster.store = Store(tmp_path / "db", admit)
        assert whole_gangs_only(cluster, names)
        running = [pod for pod in cluster.live() if pod["spec"].get("nodeName")]
        if running:
            cluster.set_phase([chance.choice(running)], "Succeeded")
        if all(cluster.is_true("JobSet", name, "Completed") for name in names):
            break
    for name in names:
        assert cluster.is_true("JobSet", name, "Completed")
        job = cluster.status("Job", f"{name}-node-0")
        assert (job["succeeded"], job["failed"], job["completedIndexes"]) == (3, 0, "0-2")
        assert len(cluster.pods(f"{name}-node-0")) == 3
    store.close()


@pytest.mark.parametrize("seed", range(4))
def test_failures_are_counted_once(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)  # noqa: S311
    store = Store(tmp_path / "db", admit)
    cluster = Cluster(store)
    cluster.machine("m", cpu="4")
    cluster.create("JobSet", jobset("js", rjob("node", pods=2, backoffLimit=4)))
    failed: set[str] = set()
    for _ in range(3000):
        asyncio.run(some_turns(store, chance.randint(1, 10)))
        store.close()
        store = cluster.store = Store(tmp_path / "db", admit)
        assert cluster.status("Job", "js-node-0").get("failed", 0) <= len(failed)
        running = [pod for pod in cluster.live() if pod["spec"].get("nodeName")]
        if running and len(failed) < 4:
            pod = chance.choice(running)
            cluster.set_phase([pod], "Failed", 1)
            failed.add(pod["metadata"]["uid"])
        elif cluster.status("Job", "js-node-0").get("failed", 0) == 4 and len(running) == 2:
            break
    assert cluster.status("Job", "js-node-0")["failed"] == 4
    assert not cluster.is_true("Job", "js-node-0", "Failed")
    assert len(cluster.pods()) == 6
    store.close()


class FailingDisk:
    """Lets some writes of a store fail as a full disk does."""

    def __init__(self, store: Store, seed: int, often: float) -> None:
        self._put, self._chance, self.often = store._storage.put, random.Random(seed), often  # noqa: S311
        store._storage.put = self.put  # type: ignore[method-assign]

    def put(self, *written: Any) -> None:
        if self._chance.random() < self.often:
            raise sqlite3.OperationalError("database or disk is full")
        self._put(*written)


@pytest.mark.parametrize("seed", range(4))
def test_a_full_disk_leaves_nothing_half_done(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    async def scenario(cluster: Cluster) -> None:
        cluster.machine("m", cpu="4")
        disk = FailingDisk(cluster.store, seed, 0.0)
        cluster.create("PodGroup", pod_group("g", 3))
        cluster.create("JobSet", jobset("g", rjob("node", pods=3, pod=gang("g"), backoffLimit=9)))
        disk.often = 0.1
        for failed in range(1, 5):
            await cluster.until(lambda: len([p for p in cluster.live("g-node-0") if p["spec"].get("nodeName")]) == 3)
            disk.often = 0.0
            cluster.set_phase(cluster.live("g-node-0")[:1], "Failed", 1)
            disk.often = 0.1
            await cluster.until(lambda n=failed: cluster.status("Job", "g-node-0").get("failed") == n)
        await cluster.until(lambda: len([p for p in cluster.live("g-node-0") if p["spec"].get("nodeName")]) == 3)
        disk.often = 0.0
        await cluster.settle()
        assert (len(cluster.pods()), cluster.status("Job", "g-node-0")["failed"]) == (7, 4)
        cluster.set_phase(cluster.live("g-node-0"), "Succeeded")
        disk.often = 0.1
        await cluster.until(lambda: cluster.is_true("JobSet", "g", "Completed"))
        assert cluster.status("Job", "g-node-0")["succeeded"] == 3

    run(scenario, backoff=0.0)
