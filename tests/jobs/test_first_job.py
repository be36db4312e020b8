"""The thinnest way through every layer: a command from POST to its last log line."""

import pytest

from tests.stack import Stack

pytestmark = [pytest.mark.each_cluster("stack"), pytest.mark.each_database]


def test_a_command_runs_from_post_to_its_last_log_line(stack: Stack) -> None:
    job = stack.submit('echo "first line"; printf "last line without newline"')
    done = stack.wait(job["id"])
    assert (done["phase"], done["reason"]["code"]) == ("Succeeded", "Completed")
    assert stack.wait_log(job["id"], "last line").splitlines() == ["first line", "last line without newline"]


def test_a_failing_command_says_what_failed(stack: Stack) -> None:
    job = stack.submit("echo before; exit 3")
    done = stack.wait(job["id"])
    assert done["phase"] == "Failed"
    assert done["cause"]["exit_code"] == 3
    assert "exit code 3" in done["reason"]["sentence"]
    assert stack.wait_log(job["id"], "before")


def test_two_nodes_run_together_and_their_logs_are_merged(stack: Stack) -> None:
    job = stack.submit('echo "node $JOB_COMPLETION_INDEX"', nodes=2)
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    log = stack.wait_log(job["id"], "node 1")
    assert sorted(line.split("] ")[1] for line in log.splitlines()) == ["node 0", "node 1"]
    with stack.client() as client:
        nodes = client.get(f"/api/v1/trainjobs/{job['id']}/nodes").json()["items"]
    assert [(n["rank"], n["state"], n["exit_code"]) for n in nodes] == [(0, "succeeded", 0), (1, "succeeded", 0)]
