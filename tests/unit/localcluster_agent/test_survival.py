"""The agent's own life: killed, stopped, started again, doubled, without its API server."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .cluster import Cluster
from .conditions import eventually
from .conftest import JOB_ENV

COUNT = "trap '' TERM; i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done; exit 5"
FOREVER = "trap '' TERM; (trap '' TERM; setsid sleep 1000) & echo armed; while :; do sleep 0.05; done"


def test_pods_go_on_when_the_agent_is_killed_and_are_adopted(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    ends_alone = cluster.run("ends-alone", ["sh", "-c", COUNT])
    goes_on = cluster.run("goes-on", ["sh", "-c", FOREVER], terminationGracePeriodSeconds=1)
    again = cluster.run("again", ["sh", "-c", "echo run; sleep 1; exit 1"], restartPolicy="OnFailure")
    cluster.wait_log("goes-on", "armed")
    cluster.wait_log("ends-alone", "line 0")
    cluster.wait_log("again", "run")
    cluster.kill_agent()
    shim = cluster.shim(goes_on)
    eventually(lambda: (cluster.data / "cluster" / "pods" / ends_alone / "main" / "0.exit").exists(), "the exit record")
    cluster.start_agent()
    cluster.wait_phase("ends-alone", "Failed")
    assert cluster.container("ends-alone")["state"]["terminated"]["exitCode"] == 5
    assert cluster.log("ends-alone") == "".join(f"line {number}\n" for number in range(40))
    eventually(lambda: cluster.container("again").get("restartCount", 0) >= 1, "a restart after the agent's")
    assert (cluster.data / "cluster" / "pods" / again / "main" / "0.log").read_text().count("run") == 1
    assert shim.is_running()
    assert cluster.shim(goes_on) == shim
    assert cluster.container("goes-on")["state"].keys() == {"running"}
    for name, uid in (("goes-on", goes_on), ("again", again)):
        cluster.delete(name)
        cluster.wait_gone(name)
        assert not cluster.processes(uid)


def test_a_start_that_was_interrupted_is_not_repeated(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    script = "echo x >> /n/runs; sleep 1000"
    uids = {}
    for number in range(6):
        more = {"volumeMounts": [{"name": "n", "mountPath": "/n"}]}
        volumes = [{"name": "n", "emptyDir": {}}]
        uids[f"once-{number}"] = cluster.run(f"once-{number}", ["sh", "-c", script], container=more, volumes=volumes)
    cluster.kill_agent()  # in the middle of starting them
    cluster.start_agent()
    for name in uids:
        cluster.wait_phase(name, "Running")
    for uid in uids.values():
        runs = cluster.data / "cluster" / "pods" / uid / "volumes" / "n" / "runs"
        assert eventually(runs.exists, "the program")
        assert runs.read_text() == "x\n"
    assert cluster.stop_agent() == 0


def test_a_stop_ends_all_pods_and_says_so(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    gentle = cluster.run("gentle", ["sh", "-c", "trap 'exit 0' TERM; echo armed; while :; do sleep 0.05; done"])
    stubborn = cluster.run("stubborn", ["sh", "-c", FOREVER])
    pending = cluster.run("pending", ["true"], container={"envFrom": [{"configMapRef": {"name": "never"}}]})
    cluster.run("done", ["true"])
    cluster.wait_phase("done", "Succeeded")
    for name in ("gentle", "stubborn"):
        cluster.wait_log(name, "armed")
    eventually(lambda: "waiting" in cluster.container("pending").get("state", {}), "the pod that waits")
    assert cluster.stop_agent() == 0
    assert not cluster.survivors()
    for name in ("gentle", "stubborn", "pending"):
        status = cluster.status(name)
        assert (name, status["phase"], status["reason"]) == (name, "Failed", "NodeShutdown")
        assert status["message"] == "Pod was terminated in response to imminent node shutdown."
        disruption = next(c for c in status["conditions"] if c["type"] == "DisruptionTarget")
        assert (disruption["status"], disruption["reason"]) == ("True", "TerminationByKubelet")
    assert cluster.status("done")["phase"] == "Succeeded"
    assert not cluster.machine_ready("local-0")
    for uid in (gentle, stubborn, pending):
        assert not cluster.processes(uid)
    cluster.start_agent()
    cluster.wait_ready()
    cluster.run("next", ["true"])
    cluster.wait_phase("next", "Succeeded")
    assert cluster.status("gentle")["reason"] == "NodeShutdown"


def test_a_stop_without_an_api_server_is_told_by_the_next_agent(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    uid = cluster.run("untold", ["sleep", "1000"])
    cluster.wait_phase("untold", "Running")
    assert cluster.server
    cluster.server.send_signal(signal.SIGKILL)
    cluster.server.wait()
    assert cluster.stop_agent() == 0
    assert not cluster.processes(uid)
    cluster.start()
    status = cluster.wait_phase("untold", "Failed")
    assert status["reason"] == "NodeShutdown"


def test_pods_survive_the_api_server(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    cluster.run("ends", ["sh", "-c", "echo begun; sleep 0.5; echo over"])
    cluster.wait_log("ends", "begun")
    assert cluster.server
    cluster.server.send_signal(signal.SIGKILL)
    cluster.server.wait()
    exits = next(iter((cluster.data / "cluster" / "pods").iterdir())) / "main" / "0.exit"
    eventually(exits.exists, "the end")
    cluster.start_server()
    cluster.wait_phase("ends", "Succeeded")
    assert cluster.log("ends") == "begun\nover\n"


def test_pods_that_were_removed_meanwhile_end_with_the_next_agent(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    removed = cluster.run("removed", ["sh", "-c", FOREVER])
    asked = cluster.run("asked", ["sh", "-c", FOREVER], terminationGracePeriodSeconds=1)
    cluster.wait_log("removed", "armed")
    cluster.wait_log("asked", "armed")
    cluster.kill_agent()
    cluster.delete("removed", 0)
    cluster.delete("asked")
    assert cluster.processes(removed)
    assert cluster.processes(asked)
    cluster.start_agent()
    cluster.wait_gone("asked")
    eventually(lambda: not cluster.processes(removed), "no process of the pod that was removed")
    assert not cluster.processes(asked)
    eventually(lambda: not (cluster.data / "cluster" / "pods" / removed).exists(), "its files to be removed")


def test_the_end_of_a_lost_shim_is_told_by_the_next_agent(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    uid = cluster.run("lost", ["sh", "-c", "setsid sleep 1000 & echo armed; sleep 1000"])
    cluster.wait_log("lost", "armed")
    cluster.kill_agent()
    cluster.shim(uid).kill()
    cluster.start_agent()
    cluster.wait_phase("lost", "Failed")
    assert cluster.container("lost")["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert not cluster.processes(uid)


def test_an_older_description_of_machines_is_forgotten(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    assert cluster.stop_agent() == 0
    cluster.start_agent("local-0:cpu=3")
    eventually(lambda: cluster.api.get("/api/v1/nodes/sim-0") is None, "the old machine to go")
    eventually(lambda: cluster.machine_ready("local-0"), "the new one")
    assert (cluster.api.get("/api/v1/nodes/local-0") or {})["status"]["capacity"]["cpu"] == "3"


def test_a_second_agent_is_refused(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.start()
    first = cluster.agent
    second = cluster.start_agent()
    assert second.wait(60) == 2
    assert "another node agent runs in" in cluster.agent_log()
    cluster.agent = first


@pytest.mark.parametrize(
    ("machines", "environment", "part"),
    [
        ("local-0:cpu=x", {}, "TRAINUI_MACHINES: machine local-0"),
        ("", {"TRAINUI_POD_LOG_MAX_BYTES": "many"}, 'TRAINUI_POD_LOG_MAX_BYTES: "many" is no number'),
        ("", {"TRAINUI_RESTART_BACKOFF_SECONDS": "-1"}, "TRAINUI_RESTART_BACKOFF_SECONDS: -1 is too small"),
        ("", {"TRAINUI_HOST_PATHS": "data"}, 'TRAINUI_HOST_PATHS: "data" is no absolute path'),
        ("", {}, "--kubeconfig: "),
    ],
)
def test_settings_that_cannot_be_used(
    new_cluster: Callable[[], Cluster], machines: str, environment: dict[str, str], part: str
) -> None:
    cluster = new_cluster()
    cluster.environment = {**cluster.environment, **environment}
    assert cluster.start_agent(machines).wait(60) == 2
    assert cluster.agent_log().startswith("node agent: ")
    assert part in cluster.agent_log()


def test_a_job_environment_without_python(new_cluster: Callable[[], Cluster]) -> None:
    cluster = new_cluster()
    cluster.job_env = cluster.data
    process: subprocess.Popen[bytes] = cluster.start_agent()
    assert process.wait(60) == 2
    assert "has no bin/python" in cluster.agent_log()


def test_a_data_folder_with_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "my data, and more: all"
    folder.mkdir()
    cluster = Cluster(folder, JOB_ENV)
    try:
        cluster.start()
        cluster.create("ConfigMap", "words", data={"a": "content"})
        mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
        volumes = [{"name": "v", "configMap": {"name": "words"}}]
        cluster.run("reads", ["sh", "-c", "cat /v/a && ls /v"], container=mounts, volumes=volumes)
        cluster.wait_phase("reads", "Succeeded", "Failed")
        assert cluster.log("reads") == "contenta\n"
        cluster.run("far", ["sshd", "-De"], hostname="far-0-0")
        cluster.run("calls", ["sh", "-c", "$OMPI_MCA_plm_rsh_agent far-0-0.far echo there"])
        cluster.wait_phase("calls", "Succeeded", "Failed")
        assert cluster.log("calls") == "there\n"
        assert cluster.stop_agent() == 0
    finally:
        cluster.close()
