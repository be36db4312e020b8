"""Many gangs at once on few slots: all or none of each, never more than there is, and all come through."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.jobs.board import Board
from tests.jobs.board import board as board
from tests.jobs.tools import objects, share
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack")

NODES = 2
# Each pod notes its start and end. The first go on only when all slots are taken, each only when its sibling has started: a gang that
# was placed by halves, or slots that stay empty, would hold everything up.
SCRIPT = """
python3 - <<'PROGRAM'
import os
from urllib.request import urlopen
board, job, node = {board!r}, {job!r}, os.environ["JOB_COMPLETION_INDEX"]
for path in (f"note/start/{{job}}/{{node}}", f"wait/{nodes}/start/{{job}}/", "wait/{slots}/start/", f"note/end/{{job}}/{{node}}"):
    urlopen(f"{{board}}/{{path}}").close()
PROGRAM
"""


def test_many_gangs_share_few_slots(stack: Stack, board: Board) -> None:
    jobs, slots = (6, 4) if stack.kubernetes else (20, 8)
    names = [f"gang-{number:02}" for number in range(jobs)]
    cpu = share(stack, slots)

    def submit(name: str) -> Json:
        script = SCRIPT.format(board=board.url, job=name, nodes=NODES, slots=slots)
        return stack.submit(script, name=name, nodes=NODES, cpu=cpu)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(submit, names))
    unfinished = {job["id"] for job in made}

    def all_finished() -> bool:
        _check_placement(stack, set(names), slots)
        unfinished.difference_update(i for i in list(unfinished) if stack.job(i)["finished"])
        return not unfinished

    wait_for(all_finished, 180, "all gangs to finish")
    assert Counter(stack.job(job["id"])["phase"] for job in made) == {"Succeeded": jobs}
    _check_notes(board.notes, names, slots)


def _check_placement(stack: Stack, names: set[str], slots: int) -> None:
    """Of one moment: each gang has machines for all of its pods or for none, and nobody has more than there is."""
    placed: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    for pod in objects(stack, "pods"):
        job = pod["metadata"]["labels"].get("jobset.sigs.k8s.io/jobset-name")
        if job in names and pod["spec"].get("nodeName"):
            placed[job] += 1
            alive[job] += pod["status"].get("phase") in ("Pending", "Running")
    if not stack.kubernetes:  # there what was decided for all is written pod by pod
        assert set(placed.values()) <= {NODES}, placed
    assert alive.total() <= slots, alive


def _check_notes(notes: list[str], names: list[str], slots: int) -> None:
    """Sum the notes in their order: who ran at the same time."""
    running: list[tuple[str, str]] = []
    most = 0
    together: Counter[str] = Counter()
    for line in notes:
        what, job, node = line.split("/")
        if what == "start":
            running.append((job, node))
            together[job] = max(together[job], sum(other == job for other, _ in running))
        else:
            running.remove((job, node))
        most = max(most, len(running))
    assert not running
    assert most == slots
    assert together == dict.fromkeys(names, NODES)
    assert len(notes) == 2 * len(names) * NODES  # nobody ran twice
