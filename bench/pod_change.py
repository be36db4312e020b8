"""How long one change of a pod takes: from its status to the row of its job, and to the event of a page that is open on it."""

import queue
import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator

import httpx

from bench.played_machine import write_status
from tests.stack import Stack
from trainui.cluster import kinds
from trainui.cluster.client import Cluster

CHANGES = 20
ANSWER_SECONDS = 60.0
REST_SECONDS = 0.5  # what a change causes beside what is measured is over
ROW_SECONDS = 0.002  # between two looks at the row
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
ROW = "SELECT nodes_ready FROM jobs_trainjob WHERE name = ?"


def measure(stack: Stack, cluster: Cluster, name: str, nodes: int) -> tuple[float, float]:
    """Return the medians in seconds to row and event, of a pod of the job `name` that is ready and not ready in turns."""
    pods, _ = cluster.list(kinds.POD, stack.project, label_selector=f"{JOB_SET_NAME}={name}")
    with stack.client() as client:
        items = client.get("/api/v1/trainjobs", params={"q": name}).json()["items"]
    job = next(item for item in items if item["name"] == name)
    times: list[tuple[float, float]] = []
    with (
        _Page(stack, job["id"]) as page,
        sqlite3.connect(f"file:{stack.data}/trainui.sqlite3?mode=ro", uri=True) as rows,
    ):
        for change in range(CHANGES + 2):
            ready = bool(change % 2)
            time.sleep(REST_SECONDS)
            page.forget()
            began = time.perf_counter()
            write_status(cluster, pods[0], ready)
            row = _row_says(rows, name, nodes if ready else nodes - 1)
            times.append((row - began, page.change_after(row) - began))
    rows_taken, events_taken = zip(*times[2:], strict=True)
    return statistics.median(rows_taken), statistics.median(events_taken)


def _row_says(rows: sqlite3.Connection, name: str, ready: int) -> float:
    deadline = time.perf_counter() + ANSWER_SECONDS
    while rows.execute(ROW, (name,)).fetchone()[0] != ready:
        if time.perf_counter() > deadline:
            raise AssertionError(f"the row of {name} never had {ready} nodes ready")
        time.sleep(ROW_SECONDS)
    return time.perf_counter()


class _Page:
    """An open page that hears of one job; a thread notes when each change of it arrives."""

    def __init__(self, stack: Stack, job_id: str) -> None:
        self._changes: queue.Queue[float] = queue.Queue()
        self._client = stack.client()
        self._open = threading.Event()
        self._url = f"/events?topics={job_id}"
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> "_Page":
        self._thread.start()
        if not self._open.wait(ANSWER_SECONDS):
            raise AssertionError("the event stream did not open")
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def _listen(self) -> None:
        try:
            with self._client.stream("GET", self._url, timeout=None) as answer:
                for event in _events(answer):
                    if event == "hello":
                        self._open.set()
                    if event in ("job-changed", "reset"):
                        self._changes.put(time.perf_counter())
        except (httpx.HTTPError, OSError, RuntimeError):  # closed at the end
            return

    def forget(self) -> None:
        """Forget what has arrived."""
        while not self._changes.empty():
            self._changes.get_nowait()

    def change_after(self, moment: float) -> float:
        """Return when the first change from a moment on arrived or arrives: those before it are of something else."""
        while (at := self._changes.get(timeout=ANSWER_SECONDS)) < moment - ROW_SECONDS:
            pass
        return at


def _events(answer: httpx.Response) -> Iterator[str]:
    for line in answer.iter_lines():
        if line.startswith("event: "):
            yield line.removeprefix("event: ")
