"""What a person may ask of a job: suspend, resume, cancel, delete; who may, and what stays."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.jobs.tools import act, await_no_process, objects, pods, processes, row, submissions, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack")

FOREVER = 'trap "exit 143" TERM; echo "run begins"; while true; do sleep 0.2; done'  # a container's first process ignores what it does not trap
SLOTS = 8


def running(stack: Stack, name: str, nodes: int = 1, script: str = FOREVER) -> tuple[Json, set[str]]:
    """Submit a job that goes on until it is stopped; return it and the uids of its pods."""
    job = stack.submit(script, name=name, nodes=nodes)
    stack.wait(job["id"], "Running")
    stack.wait_log(job["id"], "run begins")
    return job, uids(pods(stack, name))


def delete(stack: Stack, job_id: str, who: str = "alice") -> httpx.Response:
    with stack.client(who) as client:
        return client.delete(f"/api/v1/trainjobs/{job_id}")


def await_gone(stack: Stack, job_id: str) -> None:
    def gone() -> bool:
        with stack.client() as client:
            return client.get(f"/api/v1/trainjobs/{job_id}").status_code == 404

    wait_for(gone, 90, "the job's record to go")


def test_suspend_gives_the_machines_back_and_resume_runs_again(stack: Stack) -> None:
    job, first = running(stack, "pausing", nodes=2)
    assert act(stack, job["id"], "suspend", reason="lunch")["suspend_requested"] is True
    suspended = stack.wait(job["id"], "Suspended")
    assert "alice" in suspended["reason"]["sentence"]
    wait_for(lambda: not pods(stack, "pausing"), 90, "the pods to go")
    await_no_process(first)
    assert stack.wait_log(job["id"], "run begins").count("run begins") == 2
    assert act(stack, job["id"], "suspend")["phase"] == "Suspended"  # once more changes nothing
    act(stack, job["id"], "resume")
    again = stack.wait(job["id"], "Running")
    assert again["nodes"] == {"expected": 2, "ready": 2}
    wait_for(lambda: stack.log(job["id"]).count("run begins") == 4, 90, "the logs of both runs")
    assert not first & uids(pods(stack, "pausing"))
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


@pytest.mark.only_local("counts the slots of its machines")
def test_a_resumed_job_waits_for_its_machines_like_a_new_one(stack: Stack) -> None:
    job, _ = running(stack, "second-wait", nodes=2)
    act(stack, job["id"], "suspend")
    stack.wait(job["id"], "Suspended")
    big, _ = running(stack, "everything", nodes=SLOTS)
    act(stack, job["id"], "resume")
    waiting = stack.wait(job["id"], "Waiting")
    assert (waiting["reason"]["code"], waiting["started_at"]) == ("GangIncomplete", None)
    act(stack, big["id"], "cancel")
    stack.wait(job["id"], "Running")
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")


def test_cancel_ends_a_job_and_keeps_its_record(stack: Stack) -> None:
    job, tagged = running(stack, "unwanted", nodes=2)
    assert processes(tagged)
    act(stack, job["id"], "cancel", who="carol", reason="wrong data")
    done = stack.wait(job["id"], "Cancelled")
    assert (done["cancel"]["by"], done["cancel"]["reason"]) == ("carol", "wrong data")
    assert "carol" in done["reason"]["sentence"]
    assert done["in_cluster"] is False
    assert submissions(stack, job["id"]) == []
    await_no_process(tagged)
    assert stack.wait_log(job["id"], "run begins").count("run begins") == 2
    with stack.client() as client:
        assert client.get(f"/api/v1/trainjobs/{job['id']}/events").json()["items"]
        again = client.post(f"/api/v1/trainjobs/{job['id']}/cancel")
        assert (again.status_code, again.json()["phase"]) == (202, "Cancelled")
        for action in ("suspend", "resume"):
            late = client.post(f"/api/v1/trainjobs/{job['id']}/{action}")
            assert (late.status_code, late.json()["code"]) == (409, "not_in_this_phase")
    other = stack.submit("true", name="unwanted")  # the name is free again
    assert stack.wait(other["id"])["phase"] == "Succeeded"


def test_cancelled_at_once_it_never_runs_twice_and_never_stays(stack: Stack) -> None:
    """The request comes while the job is on its way to the cluster: before, during or after the push."""

    def submit_and_cancel(number: int) -> Json:
        job = stack.submit(FOREVER, name=f"withdrawn-{number}")
        return act(stack, job["id"], "cancel")

    with ThreadPoolExecutor(4) as pool:
        jobs = list(pool.map(submit_and_cancel, range(8)))
    for job in jobs:
        assert stack.wait(job["id"])["phase"] == "Cancelled"
        assert submissions(stack, job["id"]) == []
    wait_for(lambda: not [p for job in jobs for p in pods(stack, job["name"])], 90, "no pod of them")


@pytest.fixture
def no_worker(stack: Stack) -> Iterator[Callable[[], None]]:
    """Nobody brings submissions to the cluster until the returned function is called."""
    (worker,) = stack.pids("--quiet worker")
    os.kill(worker, signal.SIGSTOP)

    def go_on() -> None:
        os.kill(worker, signal.SIGCONT)

    yield go_on
    go_on()


def test_cancelled_before_the_push_it_is_never_created(stack: Stack, no_worker: Callable[[], None]) -> None:
    job = stack.submit("echo never", name="never-pushed")
    assert job["reason"]["code"] == "AwaitingCluster"
    act(stack, job["id"], "cancel", reason="a slip")
    no_worker()
    done = stack.wait(job["id"], "Cancelled")
    assert (done["uid"], done["in_cluster"], done["cancel"]["reason"]) == (None, False, "a slip")
    assert "before it reached the cluster" in done["reason"]["sentence"]
    assert stack.log(job["id"]) == ""
    again = stack.submit("true", name="never-pushed")
    assert stack.wait(again["id"])["phase"] == "Succeeded"
    assert submissions(stack, job["id"]) == []


def test_suspended_before_the_push_it_waits(stack: Stack, no_worker: Callable[[], None]) -> None:
    job = stack.submit("echo ran", name="suspended-first")
    act(stack, job["id"], "suspend")
    no_worker()
    stack.wait(job["id"], "Suspended")
    act(stack, job["id"], "resume")
    assert stack.wait(job["id"])["phase"] == "Succeeded"


def test_delete_leaves_nothing_of_a_running_job(stack: Stack) -> None:
    job, tagged = running(stack, "erased")
    with stack.client() as client:
        kept = client.get(f"/api/v1/trainjobs/{job['id']}/logs").json()["items"]
    folder: Path = stack.data / "logs" / job["id"]
    assert kept
    assert folder.is_dir()
    assert delete(stack, job["id"]).status_code == 202
    await_gone(stack, job["id"])
    await_no_process(tagged)
    assert submissions(stack, job["id"]) == []
    wait_for(lambda: not folder.exists(), 90, "its logs to go")
    assert row(stack, "erased") is None


@pytest.mark.parametrize("ending", ["true", "false"])
def test_delete_of_a_finished_job_takes_its_objects_too(stack: Stack, ending: str) -> None:
    job = stack.submit(f"echo done; {ending}", name=f"finished-{ending}")
    stack.wait(job["id"])
    stack.wait_log(job["id"], "done")
    assert submissions(stack, job["id"])
    assert delete(stack, job["id"]).status_code == 202
    await_gone(stack, job["id"])
    assert submissions(stack, job["id"]) == []
    wait_for(lambda: not pods(stack, job["name"]), 90, "its pods to go")
    wait_for(lambda: not (stack.data / "logs" / job["id"]).exists(), 90, "its logs to go")


def test_delete_of_a_cancelled_job(stack: Stack) -> None:
    job, _ = running(stack, "first-cancelled")
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")
    assert delete(stack, job["id"]).status_code == 202
    await_gone(stack, job["id"])


def test_who_may_act(stack: Stack) -> None:
    job, _ = running(stack, "guarded")
    for who, status in (("bob", 403), ("charlie", 404)):
        with stack.client(who) as client:
            for action in ("suspend", "resume", "cancel"):
                assert client.post(f"/api/v1/trainjobs/{job['id']}/{action}").status_code == status
            assert client.delete(f"/api/v1/trainjobs/{job['id']}").status_code == status
    assert stack.job(job["id"])["phase"] == "Running"
    assert stack.job(job["id"], who="bob")["actions"] == []
    act(stack, job["id"], "suspend", who="carol")
    stack.wait(job["id"], "Suspended")
    assert delete(stack, job["id"], who="carol").status_code == 202
    await_gone(stack, job["id"])
    assert not [o for o in objects(stack, "trainjobs") if o["metadata"]["name"] == "guarded"]
