"""The process: start, second instance, end, what stays."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from tests.unit.localcluster_api.rig import Client, config_map, wait_for
from trainui.localcluster.certificates import ensure_certificate, make_certificates

ROOT = Path(__file__).resolve().parents[3]
MAPS = "/api/v1/namespaces/default/configmaps"


class Process:
    """A local cluster as its own process."""

    def __init__(self, data: Path, *arguments: str) -> None:
        self.data = data
        self.process = subprocess.Popen(
            [sys.executable, "-m", "trainui.localcluster", "--data", str(data), *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ready(self) -> Client:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("local cluster ready on https://127.0.0.1:"), self.process.stderr
        return Client(self.data / "cluster" / "kubeconfig")

    def end(self, signal_number: int = signal.SIGTERM) -> int:
        self.process.send_signal(signal_number)
        return self.process.wait(20)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start_one(*arguments: str) -> Process:
        started.append(Process(tmp_path, *arguments))
        return started[-1]

    yield start_one
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def test_everything_survives_a_restart(start: Callable[..., Process], tmp_path: Path) -> None:
    first = start()
    client = first.ready()
    made = client.ok("POST", MAPS, config_map("a", x="1"))
    assert first.end() == 0
    second = start()
    again = second.ready()
    assert (again.server, again.token) == (client.server, client.token)
    assert again.ok("GET", f"{MAPS}/a") == made
    after = again.ok("POST", MAPS, config_map("b"))
    assert int(after["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_a_kill_loses_nothing_that_was_answered(start: Callable[..., Process]) -> None:
    first = start()
    client = first.ready()
    for number in range(20):
        client.ok("POST", MAPS, config_map(f"m{number}"))
    first.end(signal.SIGKILL)
    again = start().ready()
    assert len(again.ok("GET", MAPS)["items"]) == 20


def test_a_second_one_is_refused(start: Callable[..., Process], tmp_path: Path) -> None:
    start().ready()
    second = start()
    _, error = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert error == f"local cluster: a local cluster already runs on {tmp_path.resolve() / 'cluster'}\n"


def test_a_port_in_use(start: Callable[..., Process]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        second = start("--port", str(port))
        _, error = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert error == f"local cluster: port {port} of 127.0.0.1 cannot be used: Address already in use\n"


def test_the_last_port_may_be_taken(start: Callable[..., Process], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (tmp_path / "cluster").mkdir()
        (tmp_path / "cluster" / "port").write_text(str(taken.getsockname()[1]))
        client = start().ready()
        assert not client.server.endswith(f":{taken.getsockname()[1]}")


def test_a_damaged_database(start: Callable[..., Process], tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "objects.db").write_bytes(b"no database" * 1000)
    broken = start()
    _, error = broken.process.communicate(timeout=20)
    assert broken.process.returncode == 1
    assert error.startswith("local cluster: ")
    assert "objects.db cannot be opened" in error
    assert not (tmp_path / "cluster" / "kubeconfig").exists()


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_watches_open(start: Callable[..., Process], signal_number: int) -> None:
    one = start()
    client = one.ready()
    client.ok("POST", MAPS, config_map("a"))
    watches = [client.raw("GET", f"{MAPS}?watch=true", preload_content=False) for _ in range(5)]
    for watch in watches:
        assert watch.readline()
    assert one.end(signal_number) == 0
    # An end that cut the streams off would be an incomplete chunk here.
    assert [watch.read() for watch in watches] == [b""] * 5
    _, errors = one.process.communicate()
    assert "destroyed" not in errors
    assert "Traceback" not in errors


def test_a_failing_controller_ends_it(tmp_path: Path) -> None:
    program = """
import sys, asyncio
from trainui.localcluster import __main__ as main, controllers
async def start(store):
    await asyncio.sleep(0)
    raise RuntimeError("controller broke")
controllers.start = start
sys.exit(main.main(["--data", sys.argv[1]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert "controller broke" in done.stderr


def test_no_child_is_left(start: Callable[..., Process]) -> None:
    one = start()
    one.ready()
    group = os.getpgid(one.process.pid)
    one.end()

    def gone() -> bool:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        return False

    wait_for(gone, "the process group is empty")


class TestCertificate:
    def test_it_is_kept(self, tmp_path: Path) -> None:
        first = [path.read_bytes() for path in ensure_certificate(tmp_path)]
        assert [path.read_bytes() for path in ensure_certificate(tmp_path)] == first

    @pytest.mark.parametrize("damage", ["missing key", "no certificate", "close to its end"])
    def test_it_is_made_anew(self, tmp_path: Path, damage: str) -> None:
        _, certificate, key = ensure_certificate(tmp_path)
        before = certificate.read_bytes()
        if damage == "missing key":
            key.unlink()
        elif damage == "no certificate":
            certificate.write_text("?")
        else:
            certificate.write_text(make_certificates(datetime(2016, 12, 1, tzinfo=UTC))[1])
        ensure_certificate(tmp_path)
        assert certificate.read_bytes() != before
        x509.load_pem_x509_certificate(certificate.read_bytes())
