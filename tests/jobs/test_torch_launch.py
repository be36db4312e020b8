"""The launch of PyTorch jobs, with a stand-in for torchrun: what it is told, and that its nodes find each other."""

import re

import pytest

from tests.stack import Json, Stack

pytestmark = pytest.mark.xdist_group("stack2")

PROGRAM = """-c 'import os; print("process", *(os.environ[n] for n in ("RANK", "LOCAL_RANK", "WORLD_SIZE")))'"""


def submit_torch(stack: Stack, name: str, **parameters: object) -> Json:
    return stack.submit(PROGRAM, name=name, blueprint="torch-distributed", parameter="program", **parameters)


def launches(stack: Stack, job: Json) -> list[dict[str, str]]:
    """Return the PET_ variables that the torchrun of each node was given, by rank."""
    found = []
    for rank in range(2):
        line = next(line for line in stack.log(job["id"], ranks=rank).splitlines() if "PET_" in line)
        found.append(dict(re.findall(r"(PET_\w+)=(\S+)", line)))
    return found


def test_two_jobs_of_two_nodes_meet_at_ports_of_their_own(stack: Stack) -> None:
    jobs = [submit_torch(stack, f"torch-{number}", nodes=2, processes_per_node=2) for number in range(2)]
    ports = set()
    for job in jobs:
        done = stack.wait(job["id"])
        assert done["phase"] == "Succeeded", done["reason"]
        log = stack.wait_log(job["id"], "process 3")
        assert sorted(re.findall(r"process (\d) (\d) (\d)", log)) == [
            ("0", "0", "4"),
            ("1", "1", "4"),
            ("2", "0", "4"),
            ("3", "1", "4"),
        ]
        first, second = launches(stack, job)
        assert (first["PET_NODE_RANK"], second["PET_NODE_RANK"]) == ("0", "1")
        for given in (first, second):
            assert (given["PET_NNODES"], given["PET_NPROC_PER_NODE"]) == ("2", "2")
            assert (given["PET_MASTER_ADDR"], given["PET_MASTER_PORT"]) == ("127.0.0.1", first["PET_MASTER_PORT"])
        ports.add(first["PET_MASTER_PORT"])
    assert len(ports) == 2


def test_one_process_per_cpu_when_nothing_is_asked(stack: Stack) -> None:
    job = submit_torch(stack, "torch-alone", cpu="2")
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    log = stack.wait_log(job["id"], "process 1")
    assert sorted(re.findall(r"process (\d) (\d) (\d)", log)) == [("0", "0", "2"), ("1", "1", "2")]
    assert "PET_NPROC_PER_NODE=2" in log
