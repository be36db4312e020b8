"""The queue of the local cluster: places and what is ahead, the largest gang that fits, and the phases of a start once there is room."""

from pathlib import Path

import pytest

from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("stack")
SLOTS = 8  # CPUs of the machines of `stack`; a node of these jobs asks for one


def test_a_job_that_waits_knows_its_place_and_starts_when_there_is_room(stack: Stack, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; echo done"
    first = stack.submit(script, name="queue-first", nodes=SLOTS)
    stack.wait(first["id"], "Running")
    second = stack.submit("echo second", name="queue-second", nodes=4)
    stack.wait(second["id"], "Waiting")
    third = stack.submit("echo third", name="queue-third", nodes=2)
    stack.wait(third["id"], "Waiting")
    places = [stack.job(job["id"])["place"] for job in (second, third)]
    assert [(p["position"], p["jobs_ahead"], p["pods_ahead"], p["approximate"]) for p in places] == [
        (1, 0, 0, False),
        (2, 1, 4, False),
    ]
    waits = stack.job(third["id"])
    assert waits["largest_gang"]["pods"] == 0
    assert [(phase["name"], phase["until"]) for phase in waits["startup"]][-1] == ("placed", None)
    with stack.client() as client:
        queues = client.get("/api/v1/queues").json()["queues"]
    [queue] = [q for q in queues if q["kind"] == "local"]
    names = [line["job"]["name"] for line in queue["waiting"]["items"]]
    assert names.index("queue-second") < names.index("queue-third")
    assert "queue-first" in [line["job"]["name"] for line in queue["holding"]["items"]]
    go.touch()
    for job in (first, second, third):
        stack.wait(job["id"], "Succeeded")
    ended = stack.job(third["id"])
    assert ended["place"] is None
    names = [phase["name"] for phase in ended["startup"]]
    assert names[:2] == ["queued", "placed"]
    assert all(phase["until"] for phase in ended["startup"][:2])
