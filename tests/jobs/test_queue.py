"""The queue of a cluster: places and what is ahead, the largest gang that fits, and the phases of a start once there is room."""

import pytest

from tests.jobs.board import Board
from tests.jobs.board import board as board
from tests.jobs.tools import share
from tests.stack import Stack

pytestmark = pytest.mark.each_cluster("stack")


def test_a_job_that_waits_knows_its_place_and_starts_when_there_is_room(stack: Stack, board: Board) -> None:
    slots = 4 if stack.kubernetes else 8
    cpu = share(stack, slots)
    first = stack.submit(f"{board.ask('wait/1/go')}; echo done", name="queue-first", nodes=slots, cpu=cpu)
    stack.wait(first["id"], "Running")
    second = stack.submit("echo second", name="queue-second", nodes=slots // 2, cpu=cpu)
    stack.wait(second["id"], "Waiting")
    third = stack.submit("echo third", name="queue-third", nodes=slots // 4, cpu=cpu)
    stack.wait(third["id"], "Waiting")
    ahead, behind = (stack.job(job["id"])["place"] for job in (second, third))
    if not stack.kubernetes:  # there, jobs that other tests left may wait before these
        assert (ahead["position"], ahead["jobs_ahead"], ahead["pods_ahead"]) == (1, 0, 0)
    assert [behind[key] - ahead[key] for key in ("position", "jobs_ahead", "pods_ahead")] == [1, 1, slots // 2]
    assert (ahead["approximate"], behind["approximate"]) == (stack.kubernetes, stack.kubernetes)
    waits = stack.job(third["id"])
    assert waits["largest_gang"]["pods"] == 0
    assert [(phase["name"], phase["until"]) for phase in waits["startup"]][-1] == ("placed", None)
    with stack.client() as client:
        queues = client.get("/api/v1/queues").json()["queues"]
    [queue] = [q for q in queues if q["kind"] == ahead["kind"] and q["name"] == ahead["queue"]]
    assert queue["kind"] == ("scheduler" if stack.kubernetes else "local")
    names = [line["job"]["name"] for line in queue["waiting"]["items"]]
    assert names.index("queue-second") < names.index("queue-third")
    assert "queue-first" in [line["job"]["name"] for line in queue["holding"]["items"]]
    board.note("go")
    for job in (first, second, third):
        stack.wait(job["id"], "Succeeded")
    ended = stack.job(third["id"])
    assert ended["place"] is None
    names = [phase["name"] for phase in ended["startup"]]
    assert names[:2] == ["queued", "placed"]
    assert all(phase["until"] for phase in ended["startup"][:2])
