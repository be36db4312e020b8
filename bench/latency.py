"""How long a change of a pod takes to reach the row and an open page, with 1,000 live pods against 10."""

import queue
import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.stack import Json, Stack, wait_for
from trainui.cluster import kinds
from trainui.cluster.client import Cluster

FEW, MANY = 10, 1_000
NODES = 10  # pods of each job
CHANGES = 20
PARALLEL = 8
SETUP_SECONDS = 900.0
ANSWER_SECONDS = 60.0
REST_SECONDS = 0.5  # what a change causes beside what is measured is over
ROW_SECONDS = 0.002  # between two looks at the row
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
ROW = "SELECT nodes_ready FROM jobs_trainjob WHERE name = ?"
MACHINES = "sim-0:cpu=4000,memory=8000Gi,pods=20000,kind=status"


def latency(stack: Stack) -> list[dict[str, Any]]:
    """Return the medians from a pod's status to its job's row and to the event of an open page, and their ratios."""
    medians: dict[int, tuple[float, float]] = {}
    made = 0
    for pods in (FEW, MANY):
        _run_jobs(stack, range(made, pods // NODES))
        made = pods // NODES
        medians[pods] = _measure(stack, "live-0")
    return [
        {
            "what": f"pod status to {name} at {MANY} live pods against {FEW}",
            "ratio": round(many / few, 2),
            "many_ms": round(many * 1000, 1),
            "few_ms": round(few * 1000, 1),
            "changes": CHANGES,
        }
        for name, few, many in zip(("row", "browser event"), medians[FEW], medians[MANY], strict=True)
    ]


def _cluster(stack: Stack) -> Cluster:
    return Cluster.from_kubeconfig(str(stack.data / "cluster" / "kubeconfig"))


def _run_jobs(stack: Stack, numbers: range) -> None:
    """Submit jobs and play their machine until all their pods run."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda n: stack.submit("true", name=f"live-{n}", nodes=NODES), numbers))
    cluster, wanted = _cluster(stack), (numbers.stop) * NODES
    running: set[str] = set()

    def all_run() -> bool:
        placed = [p for p in cluster.list(kinds.POD, stack.project)[0] if p["spec"].get("nodeName")]
        new = [p for p in placed if p["metadata"]["name"] not in running]
        for pod in new:
            write_status(cluster, pod, ready=True)
            running.add(pod["metadata"]["name"])
        return len(running) == wanted

    wait_for(all_run, SETUP_SECONDS, f"{wanted} pods to run")

    def rows_say_so() -> bool:
        with stack.client() as client:
            items = client.get("/api/v1/trainjobs", params={"limit": 200, "q": "live-"}).json()["items"]
        return sum(item["nodes"]["ready"] for item in items) == wanted

    wait_for(rows_say_so, SETUP_SECONDS, "the rows to say so")
    time.sleep(2)  # what was left to do for them is done


def write_status(cluster: Cluster, pod: Json, ready: bool) -> None:
    """Write the status of a pod as a machine would."""
    conditions = [c for c in pod["status"].get("conditions") or [] if c["type"] != "Ready"]
    conditions.append({"type": "Ready", "status": "True" if ready else "False"})
    running = {"startedAt": pod["metadata"]["creationTimestamp"]}
    containers = [
        {
            "name": c["name"],
            "image": c["image"],
            "ready": ready,
            "started": True,
            "restartCount": 0,
            "state": {"running": running},
        }
        for c in pod["spec"]["containers"]
    ]
    patch = {"status": {"phase": "Running", "conditions": conditions, "containerStatuses": containers}}
    cluster.merge_patch(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"], patch, subresource="status")


def _measure(stack: Stack, name: str) -> tuple[float, float]:
    """Return the medians to row and event, of a pod that is ready and not ready in turns."""
    cluster = _cluster(stack)
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
            row = _row_says(rows, name, NODES if ready else NODES - 1)
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
