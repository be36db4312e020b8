"""MPI jobs: ranks on both nodes, the sample trains and keeps its model, a lost rank ends the job."""

import contextlib
import re
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.jobs.tools import await_no_process, having, objects, pods, processes, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack2")

EPOCHS = 8
RANK = 'sh -c "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE in $TRAINUI_POD_UID"'


def submit_mpi(stack: Stack, name: str, program: str, **parameters: object) -> Json:
    return stack.submit(program, name=name, blueprint="mpi-distributed", parameter="program", **parameters)


def test_ranks_run_on_both_nodes(stack: Stack) -> None:
    job = submit_mpi(stack, "ranks", RANK, processes_per_node=2)
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    log = stack.wait_log(job["id"], "rank 3 of 4")
    places = dict(re.findall(r"rank (\d) of 4 in (\S+)", log))
    assert sorted(places) == ["0", "1", "2", "3"]
    assert uids(pods(stack, "ranks")) <= set(places.values())  # the launcher; the other went with the end of the job
    assert (places["0"], places["2"]) == (places["1"], places["3"])
    assert places["0"] != places["2"]
    (hosts,) = [
        c["data"]["hostfile"] for c in objects(stack, "configmaps") if "ranks-node-0-0" in c["data"].get("hostfile", "")
    ]
    assert [line.split(".")[0] for line in hosts.splitlines()] == ["ranks-node-0-0", "ranks-launcher-0-0"]
    assert all(line.endswith("slots=2") for line in hosts.splitlines())


def test_the_sample_learns_and_its_model_loads_again(stack: Stack, tmp_path: Path) -> None:
    body = {
        "project": stack.project,
        "blueprint": "sample-mnist",
        "name": "sample",
        "parameters": {"epochs": EPOCHS, "hidden": 64},
    }
    with stack.client() as client:
        answer = client.post("/api/v1/trainjobs", json=body)
        assert answer.status_code == 201, answer.text
        job = answer.json()
        done = stack.wait(job["id"], seconds=150)
        assert done["phase"] == "Succeeded", done["reason"]
        assert done["nodes"]["expected"] == 2
        (told,) = re.findall(r"final test accuracy=([\d.]+)", stack.wait_log(job["id"], "final test accuracy"))
        assert float(told) > 0.8

        def reported() -> bool:
            return bool(stack.job(job["id"])["progress"]["percent"] == 100)

        wait_for(reported, 90, "the last report")
        metrics = {m["name"]: m for m in client.get(f"/api/v1/trainjobs/{job['id']}/metrics").json()["items"]}
        losses = [value for _, value in metrics["loss"]["points"]]
        assert losses[-1] < losses[0]
        assert metrics["accuracy"]["last"] == pytest.approx(float(told), abs=1e-4)
        (model,) = client.get(f"/api/v1/trainjobs/{job['id']}/artifacts").json()["items"]
        assert model["name"] == "model.npz"
        content = client.get(model["url"]).content
    assert len(content) == model["size"]
    (tmp_path / "model.npz").write_bytes(content)
    python = Path(stack.environment["TRAINUI_JOB_ENV"]) / "bin" / "python"
    said = subprocess.run(
        [python, "-m", "trainui_trainer.predict", "model.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    assert f"test accuracy={told}" in said.stdout


@pytest.mark.parametrize("where", ["node", "launcher"])
def test_a_killed_rank_ends_the_job_and_leaves_nothing(stack: Stack, where: str) -> None:
    name = f"lost-{where}"
    job = submit_mpi(stack, name, "python -m trainui_trainer.mnist_mpi --epochs 20000 --hidden 16")
    stack.wait_log(job["id"], "loss=")
    mine = {p["metadata"]["uid"]: p["metadata"]["name"] for p in pods(stack, name)}
    here = {uid for uid, pod in mine.items() if pod.startswith(f"{name}-{where}-")}
    victims = [p for p in having(processes(here), "trainui_trainer.mnist_mpi") if is_rank(p)]
    assert len(victims) == 1
    victims[0].send_signal(signal.SIGKILL)
    done = stack.wait(job["id"])
    assert done["phase"] == "Failed"
    assert done["cause"]["replicated_job"] == "launcher"
    # mpirun speaks for its ranks: of the one that was killed, or of its peer that gave up when the connection broke.
    assert (done["reason"]["code"], done["cause"]["exit_code"]) in (("Killed", 137), ("NonZeroExit", 14))
    assert "prterun" in stack.wait_log(job["id"], "prterun")
    await_no_process(set(mine))


def is_rank(process: psutil.Process) -> bool:
    """Whether a process is one that mpirun started."""
    with contextlib.suppress(psutil.Error):
        return "OMPI_COMM_WORLD_RANK" in process.environ()
    return False
