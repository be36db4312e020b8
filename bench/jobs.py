"""What the path through database, broker, cluster and agent costs, as a ratio to starting the same command bare."""

import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.stack import Stack, wait_for

RUNS = 7
JOBS = 40
PARALLEL = 4  # as many as the machine of the bench has CPUs
COMMAND = ["/bin/sh", "-ec", "echo hello"]


def first_line(stack: Stack) -> list[dict[str, Any]]:
    """Return the time from POST to the first archived log line against that of the bare command."""
    through = statistics.median(_first_line(stack, number) for number in range(RUNS + 1))
    bare = statistics.median(_bare() for _ in range(RUNS * 3))
    return [
        {
            "what": "POST to first log line against the bare command",
            "ratio": round(through / bare, 1),
            "through_s": round(through, 3),
            "bare_s": round(bare, 5),
            "runs": RUNS,
        }
    ]


def throughput(stack: Stack) -> list[dict[str, Any]]:
    """Return the time for many jobs of `true` against as many bare subprocesses at equal parallelism."""
    began = time.perf_counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        jobs = list(pool.map(lambda n: stack.submit("true", name=f"many-{n}"), range(JOBS)))
    open_jobs = {job["id"] for job in jobs}

    def all_done() -> bool:
        with stack.client() as client:
            items = client.get("/api/v1/trainjobs", params={"limit": 200, "q": "many-"}).json()["items"]
        open_jobs.difference_update(item["id"] for item in items if item["phase"] == "Succeeded")
        return not open_jobs

    wait_for(all_done, 300, "all jobs to succeed")
    through = time.perf_counter() - began
    began = time.perf_counter()
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda _: subprocess.run(["true"], check=True), range(JOBS)))
    bare = time.perf_counter() - began
    return [
        {
            "what": f"{JOBS} jobs of `true` against {JOBS} bare processes, {PARALLEL} at once",
            "ratio": round(through / bare, 1),
            "through_s": round(through, 2),
            "bare_s": round(bare, 4),
            "jobs_per_s": round(JOBS / through, 1),
        }
    ]


def _first_line(stack: Stack, number: int) -> float:
    began = time.perf_counter()
    job = stack.submit("echo hello", name=f"first-{number}")
    with stack.client() as client, client.stream("GET", f"/api/v1/trainjobs/{job['id']}/logs/stream") as answer:
        for line in answer.iter_lines():
            if "hello" in line:
                return time.perf_counter() - began
    raise AssertionError("the log ended without its line")


def _bare() -> float:
    began = time.perf_counter()
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return time.perf_counter() - began
