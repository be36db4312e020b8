"""The event stream of an instance: members hear of their jobs, strangers of nothing, and who comes back misses nothing."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack2")
WEB = "about web and its stream: no cluster is asked"

SCRIPT = 'echo "step 1 loss=0.5"; echo "step 2 loss=0.25"; echo done'


class Listener:
    """An open event stream, read by a thread of its own."""

    def __init__(self, stack: Stack, who: str, **query: str) -> None:
        self.events: list[tuple[str, str, Any]] = []  # name, id, data
        self.over = threading.Event()
        self._client = stack.client(who)
        self._query = query
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        self.await_event("hello")

    def names(self, subject: str = "") -> list[str]:
        return [
            n
            for n, _, data in list(self.events)
            if not subject or (isinstance(data, dict) and data.get("subject") == subject)
        ]

    def await_event(self, name: str, subject: str = "") -> None:
        wait_for(lambda: name in self.names(subject) or self.over.is_set(), 90, f"the event {name}")
        assert name in self.names(subject), self.events

    def close(self) -> None:
        self._client.close()

    def _read(self) -> None:
        with (
            contextlib.suppress(httpx.HTTPError, RuntimeError),
            self._client.stream("GET", "/events", params=self._query, timeout=90) as answer,
        ):
            assert answer.headers["Content-Type"] == "text/event-stream"
            fields: dict[str, str] = {}
            for line in answer.iter_lines():
                if line:
                    key, _, value = line.partition(": ")
                    fields[key] = value
                elif "event" in fields:
                    self.events.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
                    fields = {}
        self.over.set()


Open = Callable[..., Listener]


@pytest.fixture
def listen(stack: Stack) -> Iterator[Open]:
    opened: list[Listener] = []

    def opener(who: str, **query: str) -> Listener:
        opened.append(Listener(stack, who, **query))
        return opened[-1]

    yield opener
    for listener in opened:
        listener.close()


def ring(stack: Stack, subject: str) -> None:
    """Publish something that everybody who is signed in may know."""
    stack.shell(
        f"from trainui.events.changes import Change, publish; publish(Change('runtime-changed', '', {subject!r}))"
    )


def finished(stack: Stack, name: str) -> Json:
    job = stack.submit(SCRIPT, name=name)
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    stack.wait_log(job["id"], "done")
    return job


def test_members_hear_of_a_job_and_strangers_do_not(stack: Stack, listen: Open) -> None:
    member, viewer, stranger = (listen(who, topics="*") for who in ("alice", "bob", "charlie"))
    job = finished(stack, "heard")
    close, nosy = listen("bob", topics=job["id"]), listen("charlie", topics=f"*,{job['id']}")
    again = stack.submit(SCRIPT, name="heard-again")
    named = listen("alice", topics=again["id"])
    stack.wait(again["id"])
    for listener in (member, viewer):
        for name in ("job-changed", "events-changed", "metrics-changed"):
            listener.await_event(name, job["id"])
        assert "log-appended" not in listener.names()  # only those who name the job are told of each line
    with stack.client() as client:
        client.delete(f"/api/v1/trainjobs/{job['id']}")
        client.delete(f"/api/v1/trainjobs/{again['id']}")
    close.await_event("job-changed", job["id"])
    named.await_event("job-changed", again["id"])
    assert set(close.names()) - {"hello"} == set(close.names(job["id"]))
    ring(stack, "marker")
    for listener in (stranger, nosy):
        listener.await_event("runtime-changed", "marker")
        assert set(listener.names()) <= {"hello", "runtime-changed", "cluster-changed"}  # what is nobody's own
        assert not {job["id"], again["id"]} & {str(data.get("subject")) for _, _, data in listener.events}


def test_lines_and_metrics_reach_those_who_name_the_job(stack: Stack, listen: Open) -> None:
    script = f'trap "exit 143" TERM; {SCRIPT}; while true; do sleep 0.1; echo more; done'
    job = stack.submit(script, name="talking")
    stack.wait(job["id"], "Running")
    listener = listen("bob", topics=job["id"])
    listener.await_event("log-appended", job["id"])
    with stack.client() as client:
        client.post(f"/api/v1/trainjobs/{job['id']}/cancel")
    stack.wait(job["id"], "Cancelled")
    listener.await_event("job-changed", job["id"])


@pytest.mark.only_local(WEB)
def test_who_comes_back_hears_what_was_missed(stack: Stack, listen: Open) -> None:
    first = listen("alice", topics="*")
    finished(stack, "before-the-gap")
    wait_for(lambda: "job-changed" in first.names(), 90, "an event")
    last = next(event_id for name, event_id, _ in first.events if name == "job-changed")
    first.close()
    missed = finished(stack, "in-the-gap")
    again = listen("alice", topics="*", last=last)
    again.await_event("job-changed", missed["id"])
    assert "reset" not in again.names()
    assert last not in [event_id for name, event_id, _ in again.events if name != "hello"]
    too_old = listen("alice", topics="*", last="1-1")
    too_old.await_event("reset")


@pytest.mark.only_local(WEB)
def test_nobody_listens_without_signing_in(stack: Stack) -> None:
    for headers in ({}, {"Authorization": "Bearer tui_" + "0" * 64}, {"Cookie": "sessionid=guessed"}):
        assert httpx.get(f"{stack.url}/events", headers=headers).status_code == 401
    with stack.client() as client:
        assert client.post("/events").status_code == 405


@pytest.mark.only_local(WEB)
def test_web_ends_although_streams_are_open(stack: Stack, listen: Open) -> None:
    open_ones = [listen(who, topics="*") for who in ("alice", "bob", "charlie")]
    (web,) = stack.pids("uvicorn")
    os.kill(web, signal.SIGTERM)
    wait_for(lambda: web not in stack.pids("uvicorn"), 30, "web to end")
    for listener in open_ones:
        assert listener.over.wait(30)

    def back() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{stack.url}/livez").status_code == 200
        return False

    wait_for(back, 90, "web to be back")
    listen("alice", topics="*")
