"""Each process of an instance is killed while one job runs and another is submitted: both end right, nothing is lost and nothing happens twice."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.tools import act, pods, submissions, uids
from tests.stack import REPO, Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

# Counts until a file appears, and says how far it came.
COUNTER = """
number=0
while [ ! -e {path} ]; do number=$((number + 1)); echo "line $number of node $JOB_COMPLETION_INDEX"; sleep 0.05; done
echo "counted to $number on node $JOB_COMPLETION_INDEX"
"""
PROCESSES = {
    "worker": "--quiet worker",
    "watch": "manage.py watch",
    "broker": "valkey-server",
    "local cluster": "trainui.localcluster --data",
    "node agent": "trainui.localcluster.agent",
}


def one_pid(stack: Stack, name: str) -> int:
    """Return the process of a name, once exactly one runs."""
    found: list[int] = []

    def there() -> bool:
        found[:] = stack.pids(PROCESSES[name])
        return len(found) == 1

    wait_for(there, 90, f"one {name}")
    return found[0]


def post_until_taken(stack: Stack, script: str, name: str) -> Json:
    """Submit as a careful client does: with a key, and again when there was no answer."""
    found: list[Json] = []

    def taken() -> bool:
        with contextlib.suppress(AssertionError):
            found.append(stack.submit(script, name=name, key=f"key-{name}"))
        return bool(found)

    wait_for(taken, 90, "the submission to be taken")
    return found[0]


def check_counted(stack: Stack, job: Json, nodes: int) -> None:
    """The log has every line of every node once and in order."""
    with stack.client() as client:

        def logs() -> list[Json]:
            return list(client.get(f"/api/v1/trainjobs/{job['id']}/logs").json()["items"])

        wait_for(lambda: len(logs()) == nodes and all(log["complete"] for log in logs()), 90, "the logs to be complete")
        assert [log["rank"] for log in logs()] == list(range(nodes))
        for log in logs():
            text = client.get(f"/api/v1/trainjobs/{job['id']}/logs/download", params={"stream": log["id"]}).text
            (last,) = re.findall(r"counted to (\d+) on node", text)
            assert [int(n) for n in re.findall(r"^line (\d+) of node", text, re.MULTILINE)] == list(
                range(1, int(last) + 1)
            )


@pytest.mark.parametrize("name", list(PROCESSES))
def test_killed(stack: Stack, tmp_path: Path, name: str) -> None:
    slug = name.replace(" ", "-")
    end = tmp_path / "end"
    counting = stack.submit(COUNTER.format(path=end), name=f"counting-{slug}", nodes=2)
    stack.wait(counting["id"], "Running")
    stack.wait_log(counting["id"], "line 3 of node 1")
    before = uids(pods(stack, counting["name"]))
    pid = one_pid(stack, name)
    os.kill(pid, signal.SIGKILL)
    submitted = post_until_taken(stack, 'echo "ran on node $JOB_COMPLETION_INDEX"', f"meanwhile-{slug}")
    assert stack.wait(submitted["id"], seconds=150)["phase"] == "Succeeded"
    assert stack.wait_log(submitted["id"], "ran on node 0").count("ran on node") == 1
    assert one_pid(stack, name) != pid
    assert stack.job(counting["id"])["phase"] == "Running"
    end.touch()
    assert stack.wait(counting["id"], seconds=150)["phase"] == "Succeeded"
    assert uids(pods(stack, counting["name"])) == before
    check_counted(stack, counting, 2)
    for job in (counting, submitted):
        assert submissions(stack, job["id"]) == [job["name"]]
        nodes = _nodes(stack, job)
        assert {(n["attempt"], n["restarts"], n["exit_code"]) for n in nodes} == {(0, 0, 0)}


def _nodes(stack: Stack, job: Json) -> list[Json]:
    with stack.client() as client:
        return list(client.get(f"/api/v1/trainjobs/{job['id']}/nodes").json()["items"])


def test_a_lease_whose_holder_died_is_waited_for_and_then_taken(stack: Stack) -> None:
    job = stack.submit("while true; do sleep 0.2; done", name="leased")
    stack.wait(job["id"], "Running")
    said = stack.shell(f"""
import json, uuid
from datetime import timedelta
from django.utils import timezone
from jobs.models import TrainJob
token, until = uuid.uuid4(), timezone.now() + timedelta(seconds=3)
taken = TrainJob.objects.filter(pk="{job["id"]}", lease_until=None).update(lease_token=token, lease_until=until)
print(json.dumps({{"taken": taken, "token": str(token)}}))
""")
    held = json.loads(said)
    act(stack, job["id"], "cancel")
    assert stack.wait(job["id"])["phase"] == "Cancelled"
    if held["taken"]:  # else a worker held it at that moment
        late = stack.shell(f"""
import uuid
from jobs.reconcile.lease import guarded
print(guarded(uuid.UUID("{job["id"]}"), uuid.UUID("{held["token"]}"), phase="Running"))
""")
        assert late.strip() == "False"
    assert stack.job(job["id"])["phase"] == "Cancelled"


def leader(stack: Stack) -> int:
    """Return the process that leads the watch."""
    holder = stack.shell("from jobs.models import Lease; print(Lease.objects.get(name='watch').holder)").strip()
    return int(holder.rpartition(":")[2])


@pytest.fixture
def second_watch(stack: Stack, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    with open(tmp_path / "second.log", "wb") as log:
        popen = subprocess.Popen(
            [sys.executable, "manage.py", "watch"],
            cwd=REPO,
            env=stack.environment | stack.addresses(),
            stdout=log,
            stderr=log,
        )
    yield popen
    popen.terminate()
    popen.wait(60)


@pytest.mark.each_database
def test_of_two_watches_one_stands_by(stack: Stack, second_watch: subprocess.Popen[bytes]) -> None:
    first = one_pid(stack, "watch")
    wait_for(lambda: leader(stack) == first, 90, "the first watch to lead")
    job = stack.submit('echo "seen once"', name="watched-by-two")
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    assert stack.wait_log(job["id"], "seen once").count("seen once") == 1
    assert second_watch.poll() is None
    assert leader(stack) == first
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: leader(stack) != first, 90, "another watch to lead")
    again = stack.submit('echo "seen by the next"', name="watched-by-next")
    assert stack.wait(again["id"])["phase"] == "Succeeded"
    assert stack.wait_log(again["id"], "seen by the next").count("seen by the next") == 1
