"""Kubeflow's SDK 0.5.0, unmodified and in an environment of its own, against our reconciler on a real Kubernetes."""

import json
import subprocess

import pytest

from tests.jobs.tools import row
from tests.stack import REPO, Json, Stack, wait_for

pytestmark = pytest.mark.only_kubernetes
SDK = REPO / ".trainui" / "sdk" / "bin" / "python"


def test_train_look_wait_read_and_delete(stack: Stack) -> None:
    stack.kubectl("create", "namespace", stack.project, check=False)
    environment = stack.kube_environment()
    command = [str(SDK), str(REPO / "tests" / "jobs" / "sdk_client.py"), environment["KUBECONFIG"], stack.project]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stderr is not None
        said = next((line for line in client.stdout if line.startswith("{")), "")
        assert said, client.stderr.read()
        check(json.loads(said), stack)
        name = json.loads(said)["name"]
        client.stdin.write("\n")
        client.stdin.flush()
        after = json.loads(next(line for line in client.stdout if line.startswith("{")))
        assert name not in after["listed"]
    wait_for(lambda: (row(stack, name) or {}).get("in_cluster") is not True, 60, "the deletion to be seen")
    assert (row(stack, name) or {})["phase"] == "Succeeded"  # what had ended stays on record as it ended


def check(found: Json, stack: Stack) -> None:
    """Compare what the SDK saw with what happened, and with what our own page shows."""
    assert {"plain-command": "plain", "torch-distributed": "torch"}.items() <= found["runtimes"].items()
    assert found["runtime"] == "plain-command"
    assert found["running"] == [["node-0", "Running"], ["node-1", "Running"]]
    assert (found["status"], found["nodes"]) == ("Complete", 2)
    for node, text in enumerate((found["followed"], found["second"])):
        assert [line for line in text.splitlines() if line.startswith("node")] == [
            f"node {node} step {step}" for step in range(10)
        ]
    assert found["name"] in found["listed"]
    assert found["events"]
    ours = row(stack, found["name"])
    assert ours is not None
    assert stack.wait(ours["id"])["phase"] == "Succeeded"
    assert "node 1 step 9" in stack.wait_log(ours["id"], "node 1 step 9")
