"""The programs of docker/trainer: the reporter against a server, the network against its own derivative, the command lines."""

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "docker" / "trainer" / "src"
sys.path.insert(0, str(SOURCE))


@dataclass
class Received:
    """What the server was sent."""

    url: str = ""
    code: int = 200
    requests: list[tuple[str, str, str, bytes]] = field(default_factory=list)  # method, path, authorization, body

    def reports(self) -> list[dict[str, Any]]:
        return [json.loads(body)["trainerStatus"] for method, _, _, body in self.requests if method == "POST"]


@pytest.fixture
def server() -> Iterator[Received]:
    received = Received()

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append((self.command, self.path, self.headers["Authorization"] or "", body))
            self.send_response(received.code)
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_PUT = answer

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        received.url = f"http://127.0.0.1:{made.server_port}"
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield received
        made.shutdown()
        thread.join()


def program(received: Received | None, tmp_path: Path, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a program that uses the reporter, with the variables that a job has."""
    (tmp_path / "token").write_text("t0ken\n")
    env = {
        "PATH": os.defpath,
        "PYTHONPATH": str(SOURCE),
        "HTTP_PROXY": "http://127.0.0.1:1",
        "http_proxy": "http://127.0.0.1:1",
    }
    if received is not None:
        env["KUBEFLOW_TRAINER_SERVER_URL"] = f"{received.url}/status"
        env["KUBEFLOW_TRAINER_SERVER_TOKEN"] = str(tmp_path / "token")
        env["TRAINUI_ARTIFACTS_URL"] = f"{received.url}/artifacts/"
    command = [sys.executable, "-c", "import trainui_report as r\n" + code]
    return subprocess.run(
        command, env={**env, **more}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_report_has_upstreams_form(server: Received, tmp_path: Path) -> None:
    done = program(server, tmp_path, "print(r.report(40.9, {'loss': 0.5, 'note': 'warm'}, eta_seconds=12.7))")
    assert (done.stdout, done.stderr) == ("True\n", "")
    method, path, authorization, _ = server.requests[0]
    assert (method, path, authorization) == ("POST", "/status", "Bearer t0ken")
    report = server.reports()[0]
    assert report.pop("lastUpdatedTime").endswith("Z")
    assert report == {
        "progressPercentage": 40,
        "estimatedRemainingSeconds": 12,
        "metrics": [{"name": "loss", "value": "0.5"}, {"name": "note", "value": "warm"}],
    }


def test_reports_that_come_too_soon_are_held_back_and_the_last_is_sent_at_the_end(
    server: Received, tmp_path: Path
) -> None:
    code = "print([r.report(n, {'loss': 1 / (n + 1)}) for n in range(50)]); r.report(metrics={'accuracy': 1})"
    done = program(server, tmp_path, code)
    assert done.stdout == str([True] + [False] * 49) + "\n"
    first, last = server.reports()
    assert first["progressPercentage"] == 0
    assert last["metrics"] == [{"name": "loss", "value": "0.02"}, {"name": "accuracy", "value": "1.0"}]


def test_a_hundred_percent_are_sent_at_once(server: Received, tmp_path: Path) -> None:
    assert program(server, tmp_path, "r.report(1); print(r.report(250))").stdout == "True\n"
    assert [report["progressPercentage"] for report in server.reports()] == [1, 100]


@pytest.mark.parametrize("variable", ["RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "JAX_PROCESS_ID"])
def test_only_rank_zero_reports(server: Received, tmp_path: Path, variable: str) -> None:
    code = "open('f', 'w').close(); print(r.report(1), r.save_artifact('f'))"
    assert program(server, tmp_path, code, **{variable: "3"}).stdout == "False False\n"
    assert program(server, tmp_path, code, **{variable: "0"}).stdout == "True True\n"
    assert len(server.requests) == 2


def test_without_a_server_nothing_happens(tmp_path: Path) -> None:
    done = program(None, tmp_path, "print(r.report(1), r.save_artifact('none'), r.flush())")
    assert (done.stdout, done.stderr) == ("False False False\n", "")


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("r.report(1); r.report(100); r.flush()", "HTTP Error 403"),
        ("r.report(object())", "must be a string"),
        ("r.save_artifact('missing.bin')", "No such file"),
    ],
)
def test_what_goes_wrong_is_said_once_and_never_raised(server: Received, tmp_path: Path, code: str, part: str) -> None:
    server.code = 403
    done = program(server, tmp_path, code + "\nprint('goes on')")
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert done.stderr.count("trainui_report: ") >= 1
    assert part in done.stderr


def test_a_server_that_is_gone_does_not_disturb(server: Received, tmp_path: Path) -> None:
    done = program(server, tmp_path, "print(r.report(1))", KUBEFLOW_TRAINER_SERVER_URL="http://127.0.0.1:1/")
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "refused" in done.stderr


def test_artifacts_are_put_byte_by_byte(server: Received, tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(bytes(range(256)) * 1000)
    assert (
        program(
            server, tmp_path, "print(r.save_artifact('model.npz'), r.save_artifact('model.npz', 'best/m 1.npz'))"
        ).stdout
        == "True True\n"
    )
    assert [(method, path, authorization) for method, path, authorization, _ in server.requests] == [
        ("PUT", "/artifacts/model.npz", "Bearer t0ken"),
        ("PUT", "/artifacts/best/m%201.npz", "Bearer t0ken"),
    ]
    assert server.requests[0][3] == (tmp_path / "model.npz").read_bytes()


numpy = pytest.importorskip("numpy", reason="needs numpy in the tests' environment")


def test_the_gradient_is_the_derivative_of_the_loss() -> None:
    from trainui_trainer.network import Network

    random = numpy.random.default_rng(1)
    pixels = random.random((6, 784)).astype(numpy.float32)
    labels = random.integers(0, 10, 6)
    network = Network(hidden=5, seed=3)
    network.learn(pixels, labels)
    gradient = network.gradient.copy()
    for index in random.integers(0, gradient.size, 20):
        losses = []
        for step in (1e-2, -1e-2):
            network.parameters[index] += step
            losses.append(network.learn(pixels, labels))
            network.parameters[index] -= step
        assert gradient[index] == pytest.approx((losses[0] - losses[1]) / 2e-2, abs=2e-2, rel=5e-2)


def test_shares_of_a_batch_add_up() -> None:
    from trainui_trainer.network import Network

    random = numpy.random.default_rng(2)
    pixels = random.random((7, 784)).astype(numpy.float32)
    labels = random.integers(0, 10, 7)
    network = Network(hidden=4, seed=3)
    whole = network.learn(pixels, labels), network.gradient.copy()
    parts = [(network.learn(pixels[rank::3], labels[rank::3]), network.gradient.copy()) for rank in range(3)]
    assert sum(loss for loss, _ in parts) == pytest.approx(whole[0], rel=1e-5)
    assert numpy.allclose(sum(gradient for _, gradient in parts), whole[1], atol=1e-4)
    assert network.learn(pixels[:0], labels[:0]) == 0.0
    assert not network.gradient.any()


@pytest.mark.parametrize(("down", "right"), [(0, 0), (2, -1), (-2, 2)])
def test_pictures_are_moved_without_wrapping(down: int, right: int) -> None:
    from trainui_trainer.digits import SIDE, shifted

    picture = numpy.zeros((1, SIDE, SIDE), dtype=numpy.float32)
    picture[0, 10, 12] = 1
    picture[0, 0, 0] = 1
    moved = shifted(picture.reshape(1, -1), down, right).reshape(SIDE, SIDE)
    assert moved[10 + down, 12 + right] == 1
    assert moved.sum() == (2 if down >= 0 and right >= 0 else 1)


def test_a_model_comes_back_from_its_file(tmp_path: Path) -> None:
    from trainui_trainer.network import ModelError, Network

    network = Network(hidden=8, seed=5)
    network.save(tmp_path / "m.npz", seed=7, accuracy=0.5)
    again, seed = Network.load(tmp_path / "m.npz")
    assert seed == 7
    assert (again.parameters == network.parameters).all()
    (tmp_path / "bad.npz").write_bytes(b"no model")
    with pytest.raises(ModelError):
        Network.load(tmp_path / "bad.npz")
    with pytest.raises(ModelError):
        Network.load(tmp_path / "missing.npz")


def command(module: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", module, *arguments]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(SOURCE), path)))}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--epochs", "0"),
        ("--hidden", "-1"),
        ("--learning-rate", "nan"),
        ("--learning-rate", "0"),
        ("--batch-size", "x"),
    ],
)
def test_options_that_make_no_sense(arguments: tuple[str, ...]) -> None:
    pytest.importorskip("mpi4py", reason="needs mpi4py in the tests' environment")
    done = command("trainui_trainer.mnist_mpi", *arguments)
    assert done.returncode == 2
    assert f"argument {arguments[0]}" in done.stderr


def test_a_missing_model_is_one_line(tmp_path: Path) -> None:
    done = command("trainui_trainer.predict", str(tmp_path / "none.npz"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
