"""The tests' own PostgreSQL server leaves nothing, however its run ends."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.postgres import Missing, binary
from tests.stack import REPO, wait_for

OWNER = """
import sys
from tests.postgres import shared
print(shared().folder, shared().sql("SELECT current_setting('listen_addresses') || 'none'"), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[str]]:
    """A run of its own: a process that started a server."""
    try:
        binary("postgres")
    except Missing as missing:
        pytest.skip(str(missing))
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=REPO,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        yield popen
        popen.kill()


def servers(folder: Path) -> list[psutil.Process]:
    """Return the processes of a server and its guard."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if str(folder) in " ".join(process.info["cmdline"] or ()):
            found.append(process)
    return found


@pytest.mark.parametrize("killed", ["run", "guard"])
def test_killed_it_leaves_no_process(owner: subprocess.Popen[str], killed: str) -> None:
    assert owner.stdout is not None
    place, addresses = owner.stdout.readline().split()
    folder = Path(place)
    assert addresses == "none"
    assert len(servers(folder)) >= 2
    if killed == "run":
        owner.send_signal(signal.SIGKILL)
        owner.wait(60)
        wait_for(lambda: not folder.exists(), 60, "the folder to be removed")
    else:
        next(p for p in servers(folder) if "postgres.py" in " ".join(p.cmdline())).kill()
    wait_for(lambda: not servers(folder), 60, "the server to end")
    shutil.rmtree(folder, ignore_errors=True)
