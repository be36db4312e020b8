"""A submission that is repeated is one job, also when the server dies between the tries."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.jobs.tools import row, rows, submissions
from tests.stack import Stack, wait_for

pytestmark = [pytest.mark.each_cluster("stack"), pytest.mark.each_database]
TIMES = 20
DATABASE = "the database alone decides: no cluster is asked"


def body(stack: Stack, name: str, script: str = "true") -> dict[str, Any]:
    return {"project": stack.project, "blueprint": "plain-command", "name": name, "parameters": {"script": script}}


def post(stack: Stack, name: str, key: str, script: str = "true", who: str = "alice") -> httpx.Response:
    with stack.client(who) as client:
        headers = {"Idempotency-Key": key} if key else {}
        return client.post("/api/v1/trainjobs", json=body(stack, name, script), headers=headers)


def insist(stack: Stack, name: str, key: str) -> httpx.Response:
    """Send a submission until it is answered, as a client does that lost its connection."""
    answers: list[httpx.Response] = []

    def answered() -> bool:
        with contextlib.suppress(httpx.TransportError):
            answers.append(post(stack, name, key))
        return bool(answers)

    wait_for(answered, 90, "an answer to the submission")
    return answers[0]


def one_job(stack: Stack, name: str, answers: list[httpx.Response]) -> str:
    """Return the id of the only job that these answers speak of, in the database and in the cluster."""
    assert {a.status_code for a in answers} <= {200, 201}, [a.text for a in answers]
    (job_id,) = {a.json()["id"] for a in answers}
    assert [r["id"] for r in rows(stack, q=name)] == [job_id]
    assert stack.wait(job_id)["phase"] == "Succeeded"
    assert submissions(stack, job_id) == [name]
    return str(job_id)


def test_the_same_post_twenty_times_at_once_is_one_job(stack: Stack) -> None:
    with ThreadPoolExecutor(TIMES) as pool:
        answers = list(pool.map(lambda _: post(stack, "once", "key-once"), range(TIMES)))
    assert sorted(a.status_code for a in answers) == [200] * (TIMES - 1) + [201]
    replayed = [a.headers.get("Idempotent-Replayed") for a in answers if a.status_code == 200]
    assert replayed == ["true"] * (TIMES - 1)
    first = next(a for a in answers if a.status_code == 201)
    assert "Idempotent-Replayed" not in first.headers
    assert first.headers["Location"] == f"/api/v1/trainjobs/{one_job(stack, 'once', answers)}"


@pytest.mark.only_local("web dies, which asks no cluster for a submission")
def test_web_killed_amid_twenty_posts_still_leaves_one_job(stack: Stack) -> None:
    (web,) = stack.pids("uvicorn")
    with ThreadPoolExecutor(TIMES) as pool:
        asked = [pool.submit(insist, stack, "survivor", "key-survivor") for _ in range(TIMES)]
        os.kill(web, signal.SIGKILL)
        answers = [a.result() for a in asked]
    one_job(stack, "survivor", answers)
    assert stack.pids("uvicorn") != [web]
    (web,) = stack.pids("uvicorn")
    os.kill(web, signal.SIGKILL)
    again = insist(stack, "survivor", "key-survivor")
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    one_job(stack, "survivor", [again])


@pytest.mark.only_local(DATABASE)
def test_a_key_stands_for_its_content(stack: Stack) -> None:
    job = post(stack, "mine", "key-mine").json()
    other = post(stack, "mine", "key-mine", script="false")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    for key in ("key-other", ""):
        taken = post(stack, "mine", key)
        assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
        assert taken.json()["errors"][0]["pointer"] == "/name"
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    assert [r["id"] for r in rows(stack, q="mine")] == [job["id"]]


@pytest.mark.only_local(DATABASE)
def test_two_people_may_use_the_same_key(stack: Stack) -> None:
    first, second = post(stack, "alices", "shared-key"), post(stack, "carols", "shared-key", who="carol")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] != second.json()["id"]
    assert post(stack, "carols", "shared-key", who="carol").json()["id"] == second.json()["id"]


@pytest.mark.only_local(DATABASE)
def test_a_viewer_and_a_stranger_submit_nothing(stack: Stack) -> None:
    assert post(stack, "viewers", "key-bob", who="bob").status_code == 403
    stranger = post(stack, "strangers", "key-charlie", who="charlie")
    assert (stranger.status_code, stranger.json()["errors"][0]["pointer"]) == (422, "/project")
    assert row(stack, "viewers") is None
    assert row(stack, "strangers") is None
