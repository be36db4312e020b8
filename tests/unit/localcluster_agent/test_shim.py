"""The shim with real programs: what it logs, what it bounds, what it leaves behind (nothing)."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from trainui.localcluster.agent.folders import isolated_python
from trainui.localcluster.agent.shim import CLAIMED_BY_ANOTHER, LINE_LIMIT

from .conditions import carriers, eventually

LINE = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) (stdout|stderr) ([FP]) (.*)", re.DOTALL)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: it looks into /proc")


class Shim:
    """One shim and its files."""

    def __init__(self, folder: Path, number: int = 0) -> None:
        self.folder = folder
        self.number = number
        self.value = f"test-{os.getpid()}-{folder.name}/c/{number}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, argv: list[str], limit: int = 1 << 20, env: dict[str, str] | None = None) -> str:
        """Start a program and return the shim's one line."""
        tag = f"TRAINUI_CONTAINER_ID={self.value}"
        orders: dict[str, Any] = {
            "argv": argv,
            "env": {"PATH": os.defpath, "TRAINUI_CONTAINER_ID": self.value, **(env or {})},
            "cwd": str(self.folder),
            "tag": tag,
            "maxBytes": limit,
            **{part: str(self.path(part)) for part in ("log", "exit", "pid")},
        }
        self.process = subprocess.Popen(
            isolated_python("shim.py"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"TRAINUI_CONTAINER_ID": self.value},
            start_new_session=True,
        )
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(orders).encode())
        self.process.stdin.close()
        return self.process.stdout.readline().decode().strip()

    def path(self, part: str) -> Path:
        return self.folder / f"{self.number}.{part}"

    def lines(self) -> list[tuple[str, str, str, bytes]]:
        """Return stamp, stream, tag and content of each line of the log."""
        found = []
        for raw in self.path("log").read_bytes().split(b"\n")[:-1]:
            match = LINE.fullmatch(raw)
            assert match, raw
            found.append((match[1].decode(), match[2].decode(), match[3].decode(), match[4]))
        return found

    def output(self, stream: str = "stdout") -> bytes:
        """Return a stream as the program wrote it."""
        return b"".join(
            text + (b"\n" if tag == "F" else b"") for _, where, tag, text in self.lines() if where == stream
        )

    def end(self) -> dict[str, Any]:
        """Wait for the shim and return its record."""
        assert self.process
        self.process.wait(60)
        return json.loads(self.path("exit").read_text())

    def run(self, argv: list[str], **more: Any) -> dict[str, Any]:
        self.start(argv, **more)
        return self.end()

    def survivors(self) -> list[psutil.Process]:
        return carriers("TRAINUI_CONTAINER_ID", self.value)


@pytest.fixture
def shim(tmp_path: Path) -> Iterator[Shim]:
    made = Shim(tmp_path)
    yield made
    for process in made.survivors():
        process.kill()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_is_framed_and_stamped(shim: Shim) -> None:
    record = shim.run(["sh", "-c", "echo one; echo two >&2; echo three"])
    assert (record["exitCode"], record["signal"], record["discardedBytes"]) == (0, 0, 0)
    lines = shim.lines()
    assert [(tag, text) for _, where, tag, text in lines if where == "stdout"] == [("F", b"one"), ("F", b"three")]
    assert [(tag, text) for _, where, tag, text in lines if where == "stderr"] == [("F", b"two")]
    stamps = [stamp for stamp, *_ in lines]
    assert stamps == sorted(stamps)
    assert record["startedAt"] <= stamps[0] <= stamps[-1] <= record["finishedAt"]


@pytest.mark.parametrize(
    "written",
    [
        b"last line without newline",
        b"progress 1%\rprogress 2%\rdone\n",
        bytes(range(256)) * 4 + b"\n",
        b"\n\n\nempty lines\n\n",
        b"\xff\xfe\x00binary",
        b"x" * LINE_LIMIT + b"\n",
        b"x" * (LINE_LIMIT + 1) + b"\n",
        b"y" * (3 * LINE_LIMIT + 5),
        b"a\n" * 5000,
        b"",
    ],
)
def test_every_byte_is_kept(shim: Shim, written: bytes) -> None:
    (shim.folder / "data").write_bytes(written)
    shim.run(["cat", "data"])
    assert shim.output() == written
    assert all(len(text) <= LINE_LIMIT for *_, text in shim.lines())


def test_a_line_that_comes_in_pieces_is_one_line(shim: Shim) -> None:
    code = "import os\nfor piece in (b'a', b'b', b'c\\n'): os.write(1, piece); os.sched_yield()"
    shim.run(python(code))
    assert [(tag, text) for _, _, tag, text in shim.lines()] == [("F", b"abc")]


def test_nothing_of_ours_reaches_the_program(shim: Shim) -> None:
    code = "import os, json; print(json.dumps([dict(os.environ), sorted(os.listdir('/proc/self/fd')), os.getsid(0) == os.getpid()]))"
    shim.run(python(code), env={"A": "1"})
    environment, descriptors, leads = json.loads(shim.output())
    environment.pop("LC_CTYPE", None)  # Python's own
    assert environment == {"PATH": os.defpath, "TRAINUI_CONTAINER_ID": shim.value, "A": "1"}
    assert descriptors == ["0", "1", "2", "3"]  # 3 is the listing itself
    assert leads


def test_ignored_signals_are_not_inherited(shim: Shim) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, open('/proc/self/status').read())"
    shim.run(python(code))
    text = shim.output().decode()
    assert text.startswith("True")
    ignored = int(re.search(r"SigIgn:\s*(\w+)", text)[1], 16)  # type: ignore[index]
    pythons = {
        signal.SIGPIPE,
        signal.SIGXFSZ,
    }  # Python ignores these itself; 32 and 33 are glibc's, which nobody can set back
    assert [one for one in signal.valid_signals() - pythons if ignored & (1 << (one - 1))] == []


@pytest.mark.parametrize(
    ("argv", "code", "signum"),
    [(["sh", "-c", "exit 7"], 7, 0), (["sh", "-c", "kill -9 $$"], 137, 9), (["sh", "-c", "kill -TERM $$"], 143, 15)],
)
def test_exit_codes(shim: Shim, argv: list[str], code: int, signum: int) -> None:
    record = shim.run(argv)
    assert (record["exitCode"], record["signal"]) == (code, signum)


def test_a_program_that_is_not_there(shim: Shim) -> None:
    assert shim.start(["no-such-program", "x"]) == "failed"
    record = shim.end()
    assert (record["exitCode"], record["fault"]["errno"], record["fault"]["step"]) == (127, 2, "exec")


def test_endless_output_is_bounded(shim: Shim) -> None:
    shim.start(["yes", "a line that never ends"], limit=100_000)
    eventually(lambda: b"further output is discarded" in shim.path("log").read_bytes(), "the limit's line")
    assert shim.process
    shim.process.send_signal(signal.SIGTERM)
    record = shim.end()
    assert shim.path("log").stat().st_size < 100_000 + 200
    assert shim.lines()[-1][3].startswith(b"trainui: the log reached its limit of 100000 bytes")
    assert record["discardedBytes"] > 0
    assert record["signal"] == signal.SIGTERM


def test_term_reaches_the_whole_group(shim: Shim) -> None:
    shim.start(["sh", "-c", "sleep 1000; echo never"])
    assert shim.process
    shim.process.send_signal(signal.SIGTERM)
    assert shim.end()["exitCode"] == 143
    assert not shim.survivors()


def test_a_program_that_ignores_term_is_killed_with_its_family(shim: Shim) -> None:
    script = "trap '' TERM; echo armed; while :; do sleep 0.05; done"
    shim.start(["sh", "-c", script])
    eventually(lambda: shim.path("log").exists() and b"armed" in shim.path("log").read_bytes(), "the trap")
    assert shim.process
    shim.process.send_signal(signal.SIGTERM)
    shim.process.send_signal(signal.SIGUSR1)
    record = shim.end()
    assert (record["exitCode"], record["signal"]) == (137, 9)
    assert not shim.survivors()


FAMILY = """
import os, time
def branch(depth):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if depth:
                branch(depth - 1)
            time.sleep(1000)
            os._exit(0)
branch(2)
print("grown", flush=True)
"""


def test_children_in_their_own_sessions_end_with_the_program(shim: Shim) -> None:
    record = shim.run(python(FAMILY))
    assert record["exitCode"] == 0
    assert shim.output() == b"grown\n"
    assert not shim.survivors()


BOMB = """
import os, time
end = time.monotonic() + 1000
for number in range(400):
    if os.fork() == 0:
        os.setsid()
        for signum in (1, 2, 15): __import__("signal").signal(signum, 1)
        for _ in range(20):
            if os.fork():
                os._exit(0)
            os.setsid()
            time.sleep(0.01)
        time.sleep(1000)
print("armed", flush=True)
time.sleep(1000)
"""


def test_a_family_that_forks_all_the_time_is_killed(shim: Shim) -> None:
    shim.start(python(BOMB))
    eventually(lambda: shim.path("log").exists() and b"armed" in shim.path("log").read_bytes(), "the bomb")
    assert shim.process
    shim.process.send_signal(signal.SIGUSR1)
    assert shim.end()["exitCode"] == 137
    assert not shim.survivors()


def test_a_child_without_our_mark_is_found_as_a_descendant(shim: Shim) -> None:
    shim.start(["sh", "-c", "env -i setsid sleep 987654 & sleep 0.3; echo $!"])
    shim.end()
    pid = int(shim.output().split()[0])
    assert not psutil.pid_exists(pid)


def test_an_attempt_runs_once(shim: Shim) -> None:
    shim.start(["sh", "-c", "echo once; sleep 1000"])
    second = Shim(shim.folder)
    assert second.start(["sh", "-c", "echo twice"]) == ""
    assert second.process
    assert second.process.wait(60) == CLAIMED_BY_ANOTHER
    assert shim.process
    shim.process.send_signal(signal.SIGTERM)
    shim.end()
    assert shim.output() == b"once\n"


def test_the_program_ends_with_a_shim_that_is_killed(shim: Shim) -> None:
    shim.start(["sleep", "1000"])
    assert shim.process
    child = eventually(lambda: psutil.Process(shim.process.pid).children(), "the program")[0]  # type: ignore[union-attr]
    shim.process.kill()
    shim.process.wait()
    child.wait(60)
    assert not shim.path("exit").exists()


def test_the_shim_outlives_a_listener_that_went_away(shim: Shim) -> None:
    shim.start(["sh", "-c", "sleep 0.2; echo done"])
    assert shim.process
    assert shim.process.stdout
    shim.process.stdout.close()
    assert shim.end()["exitCode"] == 0
    assert shim.output() == b"done\n"
