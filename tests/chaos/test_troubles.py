"""Troubles of the computer that no process can mend: a full disk, databases that somebody else holds locked."""

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from tests.chaos.instance import archived_logs, member, pod_processes
from tests.chaos.order import Order, order_of
from tests.jobs.tools import act
from tests.stack import Json, Stack, running, wait_for
from trainui.cluster import kinds

pytestmark = pytest.mark.xdist_group("chaos")
DISK_MB = 600  # `make up` asks for 500
LOCK_SECONDS = 10.0
PROJECT, JOBS = "troubles", 3
ORDER_SECONDS = 180.0
TOLD = 'echo "begun $JOB_COMPLETION_INDEX"; while [ ! -e "{told}" ]; do echo "goes on"; sleep 0.1; done; echo "ends"'
LARGE = "# " + "x" * 30_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, in memory."""
    folder = tmp_path / "data"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small file system")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    yield folder
    for log in (folder / "run").glob("*.log"):  # for whoever reads a failure: the rest goes with the file system
        shutil.copy(log, tmp_path)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte free and return the file that takes it all."""
    path = folder / "ballast"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return path


@pytest.fixture
def order(stack: Stack) -> Iterator[Order]:
    with order_of(stack, PROJECT) as found:
        yield found


def test_a_full_disk_loses_nothing(small_disk: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    with running(small_disk, machines="local-0:cpu=4,memory=8Gi") as stack, order_of(stack, Stack.project) as order:
        job = stack.submit(TOLD.format(told=told), name="through", nodes=2)
        stack.wait(job["id"], "Running")
        stack.wait_log(job["id"], "goes on")
        ballast = fill(small_disk)
        accepted = submit_until_refused(stack)
        told.touch()
        wait_for(lambda: not programs(stack), 60, "the programs to end while nothing can be written")
        assert stack.job(job["id"])["name"] == "through"  # reading goes on
        ballast.unlink()
        done = stack.wait(job["id"], seconds=ORDER_SECONDS)
        assert done["phase"] == "Succeeded", done["reason"]
        after = stack.submit("echo after", name="after")
        wanted = {one["id"]: {"Succeeded"} for one in (job, after, *accepted)}
        order.wait(wanted, ORDER_SECONDS)
        assert "after" in stack.wait_log(after["id"], "after")
        begun = sorted(text.splitlines()[0] for _, text in archived_logs(stack, job["id"]))
        assert begun == ["begun 0", "begun 1"]


def programs(stack: Stack) -> list[psutil.Process]:
    """Return the processes of pods but their shims, which wait until they can write how the programs ended."""
    return [process for some in pod_processes(stack).values() for process in some if not is_shim(process)]


def is_shim(process: psutil.Process) -> bool:
    try:
        return "shim.py" in " ".join(process.cmdline())
    except psutil.Error:  # gone
        return True


def submit_until_refused(stack: Stack) -> list[Json]:
    """Submit large jobs until the answer is that the disk is full; return those that were accepted."""
    accepted: list[Json] = []
    with stack.client() as client:
        for number in range(200):
            body = {
                "project": stack.project,
                "blueprint": "plain-command",
                "name": f"large-{number}",
                "parameters": {"script": f"true\n{LARGE}"},
            }
            answer = client.post("/api/v1/trainjobs", json=body)
            if answer.status_code == 503:
                assert "disk" in answer.json()["detail"]
                return accepted
            assert answer.status_code == 201, f"{answer.status_code} {answer.text[:500]}"
            accepted.append(answer.json())
    raise AssertionError("the disk never was full")


def test_a_job_that_comes_and_goes_while_nobody_watches(stack: Stack, order: Order) -> None:
    watch = member(stack, "watch")
    assert watch is not None
    watch.suspend()
    try:
        job = post(stack, "unseen").json()
        wait_for(lambda: bool(order.api.get(kinds.TRAIN_JOB, PROJECT, "unseen")), 60, "the TrainJob to be there")
        act(stack, job["id"], "cancel")
        stack.wait(job["id"], "Cancelled")
    finally:
        watch.resume()
    order.wait({job["id"]: {"Cancelled"}}, ORDER_SECONDS)


@pytest.mark.parametrize("database", ["trainui.sqlite3", "cluster/objects.db"])
def test_a_database_that_is_locked_for_ten_seconds(stack: Stack, order: Order, database: str) -> None:
    name = f"locked-{Path(database).stem}"
    before = post(stack, f"{name}-before").json()
    stack.wait(before["id"], "Running", "Succeeded")
    with ThreadPoolExecutor(JOBS) as pool, locked(stack.data / database):
        answers = pool.map(lambda n: post(stack, f"{name}-{n}"), range(JOBS))
        assert stack.job(before["id"])["name"] == f"{name}-before"  # reading goes on
        time.sleep(LOCK_SECONDS)
    found = list(answers)
    assert [answer.status_code for answer in found] == [201] * JOBS, [answer.text for answer in found]
    order.wait({one["id"]: {"Succeeded"} for one in (before, *(a.json() for a in found))}, ORDER_SECONDS)


def post(stack: Stack, name: str) -> httpx.Response:
    parameters = {"script": "sleep 1; echo ends", "nodes": 2}
    body = {"project": PROJECT, "blueprint": "plain-command", "name": name, "parameters": parameters}
    with stack.client() as client:
        return client.post("/api/v1/trainjobs", json=body, timeout=90)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the write lock of an SQLite database for a block."""
    assert path.exists(), path
    database = sqlite3.connect(path, timeout=60, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.execute("ROLLBACK")
        database.close()
