"""An MPI job of two nodes across pods of a real machine: sshd, names of pods, and every line of its log, byte for byte."""

import json
from typing import Any

import pytest

from tests.chaos.instance import archived_logs
from tests.rig.image import NAME as IMAGE
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.only_kubernetes
LINES = 1000
SSH = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=5 -o ConnectionAttempts=10"
# The first process of a container must not ignore SIGTERM, and a stopped sshd must not count as a success.
SSHD = 'mkdir -p /run/sshd; /usr/sbin/sshd -De -o StrictModes=no -o UsePAM=no & c=$!; trap "kill $c; exit 143" TERM; wait $c; exit 1'
PROGRAM = f"""
import socket, sys
from mpi4py import MPI

world = MPI.COMM_WORLD
names = world.allgather(socket.gethostname())
addresses = [socket.gethostbyname(name + "." + sys.argv[1]) for name in names]
total = world.allreduce(world.rank + 1)
for number in range({LINES}):
    sys.stdout.write(f"rank {{world.rank}} line {{number}}\\t{{'é' * (number % 7)}} \\n")
    sys.stdout.flush()  # mpirun mixes the ranks wherever its buffer ends
world.barrier()
sys.stdout.write(f"rank {{world.rank}} of {{world.size}} on {{names[world.rank]}} total {{total}} peers {{len(set(addresses))}}\\n")
"""


def lines_of(rank: int) -> list[str]:
    """Return what a rank prints before it says who it is."""
    return [f"rank {rank} line {number}\t{'é' * (number % 7)} " for number in range(LINES)]


def pod(*command: str, **container: Any) -> Json:
    resources = {"requests": {"cpu": "200m", "memory": "128Mi"}}
    node = {"name": "node", "image": IMAGE, "command": list(command), "resources": resources, **container}
    return {"spec": {"restartPolicy": "Never", "containers": [node]}}


def runtime() -> Json:
    """Return a runtime as somebody writes it whose image has sshd and no configuration for it."""
    ready = {"tcpSocket": {"port": 22}, "periodSeconds": 1}
    step = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    jobs = [
        {"name": "node", "template": {"spec": {"template": pod("/bin/sh", "-c", SSHD, readinessProbe=ready)}}},
        {
            "name": "launcher",
            "dependsOn": [{"name": "node", "status": "Ready"}],
            "template": step | {"spec": {"backoffLimit": 0, "template": pod("mpirun", "hostname")}},
        },
    ]
    mpi = {
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/root/.ssh",
        "runLauncherAsNode": True,
    }
    template = {
        "spec": {"replicatedJobs": jobs, "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]}}
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {
            "name": "mpi-sshd",
            "labels": {"trainer.kubeflow.org/framework": "mpi"},
            "annotations": {"trainui.dev/hostfile-hosts": "fqdn"},
        },
        "spec": {"mlPolicy": {"numNodes": 2, "mpi": mpi}, "template": template},
    }


@pytest.fixture
def runtime_name(stack: Stack) -> Any:
    """The runtime, in the cluster and known to trainui."""
    stack.kubectl("apply", "-f", "-", stdin=json.dumps(runtime()))

    def known() -> bool:
        with stack.client() as client:
            return client.get("/api/v1/runtimes/mpi-sshd").status_code == 200

    wait_for(known, 60, "the runtime to be known")
    yield "mpi-sshd"
    stack.kubectl("delete", "clustertrainingruntime", "mpi-sshd")


def test_two_nodes_and_every_line(stack: Stack, runtime_name: str) -> None:
    shell = f'export OMPI_MCA_plm_rsh_args="{SSH}"; exec mpirun python3 -c "$PROGRAM" mpi-lines'
    trainer = {
        "command": ["/bin/sh", "-c", shell],
        "env": [
            {"name": "PROGRAM", "value": PROGRAM},
            {"name": "OMPI_ALLOW_RUN_AS_ROOT", "value": "1"},
            {"name": "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "value": "1"},
        ],
    }
    manifest = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "mpi-lines", "namespace": stack.project},
        "spec": {"runtimeRef": {"name": runtime_name}, "trainer": trainer},
    }
    with stack.client() as client:
        answer = client.post("/api/v1/trainjobs", json=manifest)
    assert answer.status_code == 201, answer.text
    job = stack.wait(answer.json()["id"], seconds=120)
    text = stack.wait_log(job["id"], "peers", seconds=30)
    assert job["phase"] == "Succeeded", f"{job['reason']}\n{text[-2000:]}"
    (whole,) = [log for stream, log in archived_logs(stack, job["id"]) if "launcher" in stream["pod"]]
    printed = whole.split("\n")
    for rank in (0, 1):
        mine = [line for line in printed if line.startswith(f"rank {rank} line")]
        assert mine == lines_of(rank)
    said = sorted(line.split(" on ")[1] for line in printed if " of 2 on " in line)
    assert said == ["mpi-lines-launcher-0-0 total 3 peers 2", "mpi-lines-node-0-0 total 3 peers 2"]
