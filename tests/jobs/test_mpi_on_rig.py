"""An MPI job of two nodes across pods of a real machine: sshd, names of pods, and every byte of its log.

mpirun forwards what its ranks print in pieces that end anywhere, so ranks mix inside of lines. Here each rank has letters of its own, by which
what it wrote is told apart again.
"""

import shlex

import pytest

from tests.chaos.instance import archived_logs
from tests.stack import Stack

pytestmark = pytest.mark.only_kubernetes
LINES = 1000
UPPER = str.maketrans("0123456789abcdefghijklmnopqrstuvwxyz ", "ABCDEFGHIJABCDEFGHIJKLMNOPQRSTUVWXYZ_")
PROGRAM = f"""
import socket, sys
from mpi4py import MPI

world = MPI.COMM_WORLD
names = world.allgather(socket.gethostname())
addresses = [socket.gethostbyname(name + "." + sys.argv[1]) for name in names]
total = world.allreduce(world.rank + 1)
for number in range({LINES}):
    line = f"line {{number}} {{'x' * (number % 60)}}"
    sys.stdout.write((line.translate({UPPER!r}) if world.rank else line) + "\\n")
    sys.stdout.flush()
world.barrier()
if world.rank == 0:
    sys.stdout.write(f"{{world.size}} ranks on {{' '.join(names)}} at {{len(set(addresses))}} addresses, total {{total}}\\n")
"""


def test_two_nodes_and_every_line(stack: Stack) -> None:
    program = shlex.join(["python3", "-c", PROGRAM, "mpi-lines"])
    job = stack.submit(program, name="mpi-lines", blueprint="mpi-distributed", parameter="program")
    done = stack.wait(job["id"], seconds=120)
    text = stack.wait_log(job["id"], "addresses", seconds=30)
    assert done["phase"] == "Succeeded", f"{done['reason']}\n{text[-2000:]}"
    (whole,) = [
        log
        for stream, log in archived_logs(stack, job["id"])
        if "launcher" in stream["pod"] and stream["container"] == "node"
    ]
    expected = [f"line {number} {'x' * (number % 60)}" for number in range(LINES)]
    end = "2 ranks on mpi-lines-launcher-0-0 mpi-lines-node-0-0 at 2 addresses, total 3"
    lines, upper = whole.splitlines(), set("ABCDEFGHIJKLMNOPQRSTUVWXYZ_")
    assert len(lines) == 2 * LINES + 1
    assert "".join(c for c in whole if c not in upper and c != "\n") == "".join([*expected, end])
    assert "".join(c for c in whole if c in upper) == "".join(expected).translate(UPPER)
