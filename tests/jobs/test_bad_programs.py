"""Programs that do not behave: each job ends in the right phase with the right reason, and nothing of it goes on running."""

import os
import signal

import psutil
import pytest

from tests.jobs.tools import act, await_no_process, grace, having, pods, processes, submit_trainjob, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.each_cluster("stack2")


def failed(stack: Stack, job: Json) -> Json:
    done = stack.wait(job["id"])
    assert done["phase"] == "Failed", done["reason"]
    return done


def tags(stack: Stack, job: Json) -> set[str]:
    """Return the uids of a job's pods, once there are some."""
    found: set[str] = set()

    def there() -> bool:
        found.update(uids(pods(stack, job["name"])))
        return bool(found)

    wait_for(there, 90, "the pods of the job")
    return found


LOCALLY_SAID = {
    "torchrun-of-nobody": ["torchrun-of-nobody", "not installed", "TRAINUI_JOB_ENV"],
    "deepspeed": ["deepspeed", "not installed", "uv pip install"],
}
SAID = {
    "torchrun-of-nobody": ["program torchrun-of-nobody was not found", "missing where the job runs"],
    "deepspeed": ["program deepspeed was not found", "Python package `deepspeed`"],
}


def test_programs_that_are_not_installed(stack: Stack) -> None:
    jobs = {name: submit_trainjob(stack, f"missing-{name}", [name, "--help"]) for name in SAID}
    for name, words in (SAID if stack.kubernetes else LOCALLY_SAID).items():
        done = failed(stack, jobs[name])
        for word in words:
            assert word in done["reason"]["sentence"] + done["cause"]["message"]


def test_a_command_and_a_module_of_a_script_that_are_not_installed(stack: Stack) -> None:
    jobs = {
        "no-such-tool": (127, stack.submit("echo before; no-such-tool --now", name="missing-in-script", cpu="100m")),
        "no_such_module": (1, stack.submit("python3 -c 'import no_such_module'", name="missing-module", cpu="100m")),
    }
    for name, (code, job) in jobs.items():
        done = failed(stack, job)
        assert done["cause"]["exit_code"] == code
        if stack.kubernetes:  # a kubelet tells the exit code alone; the log says what was missing
            assert f"exit code {code}" in done["reason"]["sentence"]
            stack.wait_log(job["id"], name)
        else:
            assert name in done["reason"]["sentence"] + done["cause"]["message"]


def test_exit_codes(stack: Stack) -> None:
    jobs = {code: stack.submit(f"exit {code}", name=f"exit-{code}", cpu="100m") for code in (1, 2, 42, 255)}
    for code, job in jobs.items():
        done = failed(stack, job)
        assert (done["reason"]["code"], done["cause"]["exit_code"]) == ("NonZeroExit", code)
        assert f"exit code {code}" in done["reason"]["sentence"]


def test_crashes_by_signal(stack: Stack) -> None:
    """A program of the script crashes: to the first process of a container nobody in it can send such a signal."""
    codes = {"SEGV": 139, "ABRT": 134}
    jobs = {
        name: stack.submit(f"/bin/sh -c 'kill -s {name} $$'; true", name=f"crash-{name.lower()}", cpu="100m")
        for name in codes
    }
    for name, job in jobs.items():
        done = failed(stack, job)
        assert done["cause"]["exit_code"] == codes[name]
        assert f"SIG{name}" in done["reason"]["sentence"]


@pytest.mark.only_local("the first process of a container ignores what it sends itself")
def test_the_first_process_crashes(stack: Stack) -> None:
    done = failed(stack, stack.submit("kill -s SEGV $$", name="crash-first"))
    assert done["cause"]["exit_code"] == 139
    assert "SIGSEGV" in done["reason"]["sentence"]


def test_one_of_two_nodes_is_killed_from_outside(stack: Stack) -> None:
    script = 'trap "exit 143" TERM; echo "begun $JOB_COMPLETION_INDEX"; while true; do sleep 0.1; done'
    job = stack.submit(script, name="murdered", nodes=2, cpu="100m")
    stack.wait_log(job["id"], "begun 1")
    stack.wait(job["id"], "Running")
    second = next(
        p
        for p in pods(stack, "murdered")
        if p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == "1"
    )
    everything = tags(stack, job)
    shell = min(having(processes({second["metadata"]["uid"]}), "begun"), key=lambda p: p.create_time())
    os.kill(shell.pid, signal.SIGKILL)
    done = failed(stack, job)
    assert (done["reason"]["code"], done["cause"]["exit_code"], done["cause"]["rank"]) == ("Killed", 137, 1)
    assert "Rank 1 was killed" in done["reason"]["sentence"]
    await_no_process(everything)


def test_binary_output_is_kept_as_it_is(stack: Stack) -> None:
    script = """python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 64 + b"\\nend of bytes\\n")'"""
    job = stack.submit(script, name="binary")
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    stack.wait_log(job["id"], "end of bytes")
    with stack.client() as client:
        (log,) = client.get(f"/api/v1/trainjobs/{job['id']}/logs").json()["items"]
        raw = client.get(f"/api/v1/trainjobs/{job['id']}/logs/download", params={"stream": log["id"]})
    assert raw.content == bytes(range(256)) * 64 + b"\nend of bytes\n"


@pytest.mark.only_local("the node agent bounds the log; a kubelet turns it over")
def test_endless_output_is_bounded_and_the_job_can_be_cancelled(stack: Stack) -> None:
    job = stack.submit('yes "the same words for ever"', name="endless")
    tagged = tags(stack, job)

    wait_for(
        lambda: f"limit of {stack.pod_log_bytes} bytes" in stack.log(job["id"], tail=3),
        90,
        "the log to reach its bound",
    )
    assert stack.job(job["id"])["phase"] == "Running"
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")
    await_no_process(tagged)

    def log() -> Json:
        with stack.client() as client:
            return dict(client.get(f"/api/v1/trainjobs/{job['id']}/logs").json()["items"][0])

    wait_for(lambda: bool(log()["complete"]), 90, "the log to be complete")
    assert log()["bytes"] <= stack.pod_log_bytes
    assert stack.log(job["id"], tail=3).count("the same words for ever") == 2


def test_children_in_sessions_of_their_own_end_with_the_pod(stack: Stack) -> None:
    mark = f"98{os.getpid():07}"
    script = f"""
setsid sleep {mark}.1 &
(setsid sh -c 'setsid sleep {mark}.2 & exec sleep {mark}.3' &)
env -i setsid sleep {mark}.4 &
while [ "$(ps -e -o args= | grep -c '[s]leep {mark}')" -lt 4 ]; do sleep 0.1; done
echo all are up
"""
    job = stack.submit(script, name="family")
    tagged = tags(stack, job)
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    await_no_process(tagged)
    wait_for(lambda: not having(psutil.process_iter(), mark), 60, "the children without the tag to be gone too")
    assert "all are up" in stack.wait_log(job["id"], "all are up")


def test_a_program_that_ignores_sigterm_is_killed_after_its_grace(stack: Stack) -> None:
    script = "trap '' TERM INT HUP; echo deaf; while true; do sleep 0.1; done"
    job = submit_trainjob(stack, "deaf", ["/bin/sh", "-c", script], runtimePatches=grace(1))
    stack.wait_log(job["id"], "deaf")
    tagged = tags(stack, job)
    act(stack, job["id"], "cancel")
    stack.wait(job["id"], "Cancelled")
    await_no_process(tagged)


def test_a_job_over_its_deadline_is_ended(stack: Stack) -> None:
    job = submit_trainjob(
        stack, "too-long", ["/bin/sh", "-c", "echo begun; sleep 600"], activeDeadlineSeconds=5, runtimePatches=grace(1)
    )
    tagged = tags(stack, job)
    done = failed(stack, job)
    assert done["reason"]["code"] == "DeadlineExceeded"
    await_no_process(tagged)
