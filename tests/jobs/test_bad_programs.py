"""Programs that do not behave: each job ends in the right phase with the right reason, and nothing of it goes on running."""

import os
import signal

import psutil
import pytest

from tests.jobs.tools import act, await_no_process, grace, having, pods, processes, submit_trainjob, uids
from tests.stack import Json, Stack, wait_for

pytestmark = pytest.mark.xdist_group("stack2")


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


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("torchrun-of-nobody", ["torchrun-of-nobody", "not installed", "TRAINUI_JOB_ENV"]),
        ("deepspeed", ["deepspeed", "not installed", "uv pip install"]),
    ],
)
def test_a_program_that_is_not_installed(stack: Stack, program: str, words: list[str]) -> None:
    done = failed(stack, submit_trainjob(stack, f"missing-{program}", [program, "--help"]))
    for word in words:
        assert word in done["reason"]["sentence"] + done["cause"]["message"]


def test_a_command_of_a_script_that_is_not_installed(stack: Stack) -> None:
    done = failed(stack, stack.submit("echo before; no-such-tool --now", name="missing-in-script"))
    assert done["cause"]["exit_code"] == 127
    assert "no-such-tool" in done["reason"]["sentence"] + done["cause"]["message"]


def test_a_python_module_that_is_not_installed(stack: Stack) -> None:
    done = failed(stack, stack.submit("python -c 'import no_such_module_of_ours'", name="missing-module"))
    assert done["cause"]["exit_code"] == 1
    assert "no_such_module_of_ours" in done["reason"]["sentence"] + done["cause"]["message"]


@pytest.mark.parametrize("code", [1, 2, 42, 255])
def test_exit_codes(stack: Stack, code: int) -> None:
    done = failed(stack, stack.submit(f"exit {code}", name=f"exit-{code}"))
    assert (done["reason"]["code"], done["cause"]["exit_code"]) == ("NonZeroExit", code)
    assert f"exit code {code}" in done["reason"]["sentence"]


@pytest.mark.parametrize(("name", "code"), [("SEGV", 139), ("ABRT", 134)])
def test_a_crash_by_signal(stack: Stack, name: str, code: int) -> None:
    done = failed(stack, stack.submit(f"kill -s {name} $$", name=f"crash-{name.lower()}"))
    assert done["cause"]["exit_code"] == code
    assert f"SIG{name}" in done["reason"]["sentence"]


def test_one_of_two_nodes_is_killed_from_outside(stack: Stack) -> None:
    job = stack.submit('echo "begun $JOB_COMPLETION_INDEX"; while true; do sleep 0.1; done', name="murdered", nodes=2)
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
    script = """python -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 64 + b"\\nend of bytes\\n")'"""
    job = stack.submit(script, name="binary")
    assert stack.wait(job["id"])["phase"] == "Succeeded"
    stack.wait_log(job["id"], "end of bytes")
    with stack.client() as client:
        (log,) = client.get(f"/api/v1/trainjobs/{job['id']}/logs").json()["items"]
        raw = client.get(f"/api/v1/trainjobs/{job['id']}/logs/download", params={"stream": log["id"]})
    assert raw.content == bytes(range(256)) * 64 + b"\nend of bytes\n"


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
        stack, "too-long", ["/bin/sh", "-c", "echo begun; sleep 600"], activeDeadlineSeconds=2, runtimePatches=grace(1)
    )
    tagged = tags(stack, job)
    done = failed(stack, job)
    assert done["reason"]["code"] == "DeadlineExceeded"
    await_no_process(tagged)
