"""An instance is started, stopped, killed and started again; what cannot work says so in one line."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.jobs.tools import Follower, await_no_process, pods, uids
from tests.stack import REPO, Stack, free_port, wait_for

pytestmark = pytest.mark.xdist_group("start")

FOREVER = 'echo "run begins"; while true; do sleep 0.2; done'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """An instance of its own: these tests stop it."""
    stack = Stack(tmp_path_factory.mktemp("own") / "data", machines="local-0:cpu=2,memory=4Gi")
    try:
        yield stack.start()
    finally:
        stack.stop()


def refused(stack: Stack, **environment: str) -> str:
    """Try to start an instance and return the one line with which it gives up."""
    done = subprocess.run(
        [sys.executable, "-m", "trainui.up"],
        cwd=REPO,
        env=stack.environment | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode != 0, done.stdout
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("trainui: ")
    return lines[0]


def everything(stack: Stack) -> list[psutil.Process]:
    """Return all processes of an instance, its supervisor first."""
    assert stack.popen is not None
    supervisor = psutil.Process(stack.popen.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def await_ended(some: list[psutil.Process]) -> None:
    def ended() -> bool:
        return not [p for p in some if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]

    wait_for(ended, 60, "every process to end")


def test_a_second_instance_on_the_same_data_is_refused(own: Stack) -> None:
    line = refused(own, TRAINUI_PORT=str(free_port()))
    assert "already runs" in line
    assert own.url in line
    assert "TRAINUI_DATA_DIR" in line


def test_a_port_in_use_is_refused(own: Stack, tmp_path: Path) -> None:
    line = refused(own, TRAINUI_DATA_DIR=str(tmp_path / "other"))
    assert f"port {own.port}" in line
    assert f"TRAINUI_PORT={own.port + 1}" in line


def test_ctrl_c_ends_jobs_in_order_and_the_next_start_goes_on(own: Stack, tmp_path: Path) -> None:
    done = own.submit("echo finished before", name="before")
    assert own.wait(done["id"])["phase"] == "Succeeded"
    own.wait_log(done["id"], "finished before")
    job = own.submit(FOREVER, name="going-on", nodes=2)
    own.wait(job["id"], "Running")
    own.wait_log(job["id"], "run begins")
    tagged, processes = uids(pods(own, "going-on")), everything(own)
    watch = Follower(own, tmp_path / "pods", "get", "pods", "-n", own.project, "-w", "-o", "json")
    watch.await_text("going-on-node-0-1")
    said = own.stop()
    assert "Stopping 1 running job: team-a/going-on" in said
    assert "Stopped" in said.splitlines()[-1]
    assert "was killed" not in said
    assert own.popen is not None
    assert own.popen.returncode == 0
    await_no_process(tagged)
    await_ended(processes)
    assert watch.output.read_text().count('"reason": "NodeShutdown"') >= 2
    watch.end()

    own.start()
    again = own.wait(job["id"], "Running")
    assert again["nodes"] == {"expected": 2, "ready": 2}
    assert not tagged & uids(pods(own, "going-on"))
    wait_for(lambda: own.log(job["id"]).count("run begins") == 4, 90, "the logs of both attempts")
    with own.client() as client:
        nodes = client.get(f"/api/v1/trainjobs/{job['id']}/nodes").json()["items"]
        events = client.get(f"/api/v1/trainjobs/{job['id']}/events").json()["items"]
    assert {n["attempt"] for n in nodes} == {1}
    assert any("disruption" in e["reason"] for e in events)  # the rule of the blueprint by which it started again
    assert own.job(done["id"])["phase"] == "Succeeded"
    assert "finished before" in own.log(done["id"])


def test_killed_it_leaves_nothing_and_fresh_starts_over(own: Stack) -> None:
    assert own.popen is not None
    processes = everything(own)
    tagged = uids(pods(own, "going-on"))
    os.kill(own.popen.pid, signal.SIGKILL)
    own.popen.wait(60)
    await_ended(processes)
    await_no_process(tagged)

    own.environment["FRESH"] = "1"
    own.tokens = {}
    own.start()
    assert "Starting over" in own.said()
    assert "Sign in as  admin" in own.said()
    with own.client() as client:
        assert client.get("/api/v1/trainjobs").json()["items"] == []
    job = own.submit("echo fresh", name="going-on")
    assert own.wait(job["id"])["phase"] == "Succeeded"


@pytest.fixture
def nothing(tmp_path: Path) -> Stack:
    """An instance that was never started."""
    return Stack(tmp_path / "data")


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [
        ("TRAINUI_MACHINES", "local-0:cpu", "key=value"),
        ("TRAINUI_MACHINES", "local-0:cpu=lots", "local-0"),
        ("TRAINUI_PORT", "eighty", "whole number"),
        ("TRAINUI_HOST", "no.such.host.invalid", "no address of this machine"),
        ("TRAINUI_JOB_ENV", "/nowhere", "bin/python"),
        ("TRAINUI_SHUTDOWN_GRACE_SECONDS", "soon", "no number"),
        ("REDIS_URL", "localhost", "no address of a broker"),
        ("REDIS_URL", "redis://:geheim@127.0.0.1:1/0", "does not answer"),
        ("DATABASE_URL", "mysterious://user:geheim@host/name", "postgres://"),
        ("DATABASE_URL", "sqlite:////nowhere/at/all.sqlite3", "does not answer"),
        ("DATABASE_URL", "postgres://user:geheim@127.0.0.1:1/name", "does not answer"),
        ("DATABASE_URL", "postgres://user:geheim@%2Fnowhere/name?sslmode=odd", "does not answer"),
        ("DATABASE_URL", "mysql://user:geheim@127.0.0.1/name", "postgres://"),
        ("TRAINUI_BODY_MAX_BYTES", "many", "whole number"),
    ],
)
def test_a_setting_that_cannot_work_is_named(nothing: Stack, variable: str, value: str, word: str) -> None:
    line = refused(nothing, **{variable: value})
    assert variable in line
    assert word in line
    assert "geheim" not in line


def test_a_data_folder_that_cannot_be_written(nothing: Stack, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    line = refused(nothing, TRAINUI_DATA_DIR=str(tmp_path / "file" / "data"))
    assert str(tmp_path / "file" / "data") in line
    assert "TRAINUI_DATA_DIR=" in line


def test_a_port_of_somebody_else(nothing: Stack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in refused(nothing, TRAINUI_PORT=str(port))
