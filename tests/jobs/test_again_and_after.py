"""What may be asked of a job when it is over, and what its programs report while it runs, on the real path."""

import pytest

from tests.jobs.board import Board
from tests.jobs.board import board as board
from tests.jobs.tools import FOREVER, objects
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack")
ARCHIVE = "reads archived lines and the clock: how they come from a cluster is tested elsewhere"

# A reconcile in a process where silence of three seconds is long; the worker's own limit is minutes.
LOOK = """
from django.conf import settings
from jobs.reconcile.reconcile import reconcile_job
settings.STALLED_MINUTES = 0.05
reconcile_job("{id}")
"""
# The same for retention: what ended is over at once.
EXPIRE = """
from datetime import timedelta
from django.conf import settings
from django.utils import timezone
from jobs.reconcile.retention import expire
settings.RETENTION_DAYS = 1
print(expire(timezone.now() + timedelta(days=2)))
"""
PRINTS = """
import json, time
for step in range(1, 9):
    print(json.dumps({"step": step, "total_steps": 10, "loss": 1 / step}), flush=True)
    time.sleep(1.1)
"""


def post(stack: Stack, path: str, body: Json | None = None, who: str = "alice") -> tuple[int, Json]:
    with stack.client(who) as client:
        answer = client.post(f"/api/v1/trainjobs{path}", json=body or {})
    return answer.status_code, dict(answer.json())


def removed(stack: Stack, job_id: str) -> Json | None:
    with stack.client() as client:
        items = client.get("/api/v1/trainjobs/removed", params={"project": stack.project}).json()["items"]
    return next((item for item in items if item["id"] == job_id), None)


def test_a_failed_job_runs_again_with_what_it_left_behind(stack: Stack, board: Board) -> None:
    job = stack.submit(f"{board.ask('has/mended')} && echo mended")
    assert stack.wait(job["id"])["phase"] == "Failed"
    board.note("mended")
    status, made = post(stack, f"/{job['id']}/retry")
    assert (status, made["name"], made["origin"]["id"]) == (201, f"{job['name']}-retry-1", job["id"])
    assert stack.wait(made["id"])["phase"] == "Succeeded"
    assert "mended" in stack.wait_log(made["id"], "mended")
    assert post(stack, f"/{made['id']}/retry")[0] == 409  # it ended well
    assert [s["id"] for s in stack.job(job["id"])["successors"]] == [made["id"]]


def test_many_jobs_are_deleted_at_once_and_remembered(stack: Stack) -> None:
    ended, runs = stack.submit("exit 7"), stack.submit(FOREVER, cpu="100m")
    stack.wait(ended["id"])
    stack.wait(runs["id"], "Running")
    status, body = post(stack, "/bulk", {"action": "delete", "ids": [ended["id"], runs["id"]], "reason": "tidy up"})
    assert (status, [item["status"] for item in body["items"]]) == (200, [202, 202])
    wait_for(lambda: all(removed(stack, j["id"]) for j in (ended, runs)), 60, "both records to be gone")
    memories = [removed(stack, j["id"]) or {} for j in (ended, runs)]
    assert [(m["phase"], m["by"], m["why"], m["reason"]) for m in memories] == [
        ("Failed", "alice", "deleted", "tidy up"),
        ("Cancelled", "alice", "deleted", "tidy up"),
    ]
    names = {obj["metadata"]["name"] for obj in objects(stack, "trainjobs")}
    assert not names & {ended["name"], runs["name"]}
    assert not any((stack.data / "logs" / j["id"]).exists() for j in (ended, runs))


@pytest.mark.only_local(
    "takes all that is over in the instance; the cluster sees the deletions that test_actions asks for"
)
def test_retention_takes_what_is_over_and_leaves_what_is_kept_or_lives(stack: Stack) -> None:
    over, kept, lives = (stack.submit(script, cpu="100m") for script in ("echo over", "echo kept", FOREVER))
    for job in (over, kept):
        stack.wait(job["id"])
        stack.wait_log(job["id"], "over" if job is over else "kept")
    stack.wait(lives["id"], "Running")
    assert post(stack, f"/{kept['id']}/keep")[1]["kept"] is True
    wait_for(lambda: int(stack.shell(EXPIRE)) == 0, 60, "everything that is over to be asked to go")
    wait_for(lambda: removed(stack, over["id"]) is not None, 60, "the record to be gone")
    assert (removed(stack, over["id"]) or {})["why"] == "retention"
    assert not (stack.data / "logs" / over["id"]).exists()
    assert over["name"] not in {obj["metadata"]["name"] for obj in objects(stack, "trainjobs")}
    assert stack.job(kept["id"])["phase"] == "Succeeded"
    assert "kept" in stack.log(kept["id"])
    assert stack.job(lives["id"])["phase"] == "Running"
    post(stack, "/bulk", {"action": "delete", "ids": [kept["id"], lives["id"]]})


@pytest.mark.only_local(ARCHIVE)
def test_silence_is_said_and_ends_with_the_next_line(stack: Stack, board: Board) -> None:
    job = stack.submit(f"echo silent; {board.ask('wait/1/speak')}; echo again; {FOREVER}")
    stack.wait(job["id"], "Running")
    stack.wait_log(job["id"], "silent")

    def stalled() -> bool:
        stack.shell(LOOK.format(id=job["id"]))
        return stack.job(job["id"])["stalled_since"] is not None

    wait_for(stalled, 60, "the job to be called stalled")
    told = stack.job(job["id"])["stalled"]
    assert told["since"] >= told["last_line_at"]
    board.note("speak")
    stack.wait_log(job["id"], "again")
    wait_for(lambda: stack.job(job["id"])["stalled_since"] is None, 60, "the job to be called alive again")
    post(stack, f"/{job['id']}/cancel")


@pytest.mark.only_local(ARCHIVE)
def test_printed_lines_give_progress_an_estimate_and_steps(stack: Stack) -> None:
    job = stack.submit(f"python3 -u -c '{PRINTS}'")
    wait_for(lambda: stack.job(job["id"])["progress"]["eta_seconds"] is not None, 60, "an estimate")
    progress = stack.job(job["id"])["progress"]
    assert progress["estimated"] is True
    assert 0 < progress["percent"] <= 80
    assert progress["eta_seconds"] < 20
    stack.wait(job["id"])
    with stack.client() as client:
        body = client.get("/api/v1/metrics", params={"jobs": job["id"], "metric": "loss"}).json()
    item = body["items"][0]
    assert [(step, round(1 / value)) for _, value, step in item["points"]] == [(n, n) for n in range(1, 9)]
    assert (item["last_step"], item["highest"], item["values"]) == (8, 1.0, 8)


def test_the_cluster_shows_what_a_running_job_holds(stack: Stack) -> None:
    job = stack.submit(FOREVER, nodes=2, cpu="100m")
    stack.wait(job["id"], "Running")

    def held(who: str) -> list[Json]:
        with stack.client(who) as client:
            machines = client.get("/api/v1/cluster").json()["machines"]
        return [pod for machine in machines for pod in machine["pods"]]

    mine = [pod for pod in held("bob") if pod["job"] and pod["job"]["id"] == job["id"]]
    assert len(mine) == 2
    assert all("cpu" in pod["requests"] for pod in mine)
    assert [pod for pod in held("charlie") if pod["job"]] == []
    assert len(held("charlie")) >= 2
    with stack.client() as client:
        body = client.get("/api/v1/cluster").json()
    assert body["local"] is not stack.kubernetes
    if stack.kubernetes:  # other tests may have machines of their own there
        assert "machine-0" in {m["name"] for m in body["machines"]}
    else:
        assert {m["name"] for m in body["machines"]} == {"local-0", "local-1"}
    assert all(k["served"] for k in body["kinds"] if k["needed"])
    assert body["gang_schedulers"] == (["coscheduling", "in_tree"] if stack.kubernetes else ["in_tree"])
    post(stack, f"/{job['id']}/cancel")
