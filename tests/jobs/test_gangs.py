"""Many gangs at once on few slots: all or none of each, never more than there is, and all come through."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.jobs.tools import objects
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack")

JOBS, NODES, SLOTS = 20, 2, 8
# Each pod notes its start and end under a lock. The first go on only when all slots are taken, each only when its sibling has started: a gang that
# was placed by halves, or slots that stay empty, would hold everything up.
SCRIPT = """
python - <<'PROGRAM'
import fcntl, os, time
path, job, node = {path!r}, {job!r}, os.environ["JOB_COMPLETION_INDEX"]

def note(what):
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{{what}} {{job}} {{node}}\\n")

def started(whom=""):
    return sum(line.startswith(f"start {{whom}}") for line in open(path))

note("start")
while started(job + " ") < {nodes} or started() < {slots}:
    time.sleep(0.02)
note("end")
PROGRAM
"""


def test_twenty_gangs_share_eight_slots(stack: Stack, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    names = [f"gang-{number:02}" for number in range(JOBS)]

    def submit(name: str) -> Json:
        script = SCRIPT.format(path=str(path), job=name, nodes=NODES, slots=SLOTS)
        return stack.submit(script, name=name, nodes=NODES)

    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(submit, names))
    unfinished = {job["id"] for job in jobs}

    def all_finished() -> bool:
        _check_placement(stack, set(names))
        unfinished.difference_update(i for i in list(unfinished) if stack.job(i)["finished"])
        return not unfinished

    wait_for(all_finished, 180, "all gangs to finish")
    assert Counter(stack.job(job["id"])["phase"] for job in jobs) == {"Succeeded": JOBS}
    _check_notes(path.read_text().splitlines(), names)


def _check_placement(stack: Stack, names: set[str]) -> None:
    """Of one moment: each gang has machines for all of its pods or for none, and nobody has more than there is."""
    placed: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    for pod in objects(stack, "pods"):
        job = pod["metadata"]["labels"].get("jobset.sigs.k8s.io/jobset-name")
        if job in names and pod["spec"].get("nodeName"):
            placed[job] += 1
            alive[job] += pod["status"].get("phase") in ("Pending", "Running")
    assert set(placed.values()) <= {NODES}, placed
    assert alive.total() <= SLOTS, alive


def _check_notes(notes: list[str], names: list[str]) -> None:
    """Sum the notes in their order: who ran at the same time."""
    running: list[tuple[str, str]] = []
    most = 0
    together: Counter[str] = Counter()
    for line in notes:
        what, job, node = line.split()
        if what == "start":
            running.append((job, node))
            together[job] = max(together[job], sum(other == job for other, _ in running))
        else:
            running.remove((job, node))
        most = max(most, len(running))
    assert not running
    assert most == SLOTS
    assert together == dict.fromkeys(names, NODES)
    assert len(notes) == 2 * JOBS * NODES  # nobody ran twice
