"""How an attempt ended: from the shim's record, or from its absence. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainui.localcluster.agent.model import Container, Exit, moment, stamp
from trainui.localcluster.agent.programs import hint_from_log, start_failure

LOST_CODE = 137  # the kubelet's exit code of a container it lost
LOST_REASON = "ContainerStatusUnknown"
LOST_MESSAGE = (
    "The process that ran this container was ended from outside, or the computer was restarted; "
    "how its program ended is not known."
)
TAIL_LINES = 80
TAIL_CHARACTERS = 2048


def ended_by(
    record: Mapping[str, Any], spec: Mapping[str, Any], last_words: str, log_tail: str, job_env: str, killed_by_us: bool
) -> Exit:
    """Return the exit that a shim's record tells of."""
    began, over = str(record.get("startedAt") or ""), str(record.get("finishedAt") or "")
    code, signum = int(record["exitCode"]), int(record.get("signal") or 0)
    if fault := record.get("fault"):
        program = str((spec.get("command") or ["?"])[0])
        result = start_failure(fault, program, spec["name"], job_env)
    else:
        message = _message(code, signum, spec, last_words, log_tail, job_env, killed_by_us)
        result = Exit(code, signum, "Completed" if code == 0 else "Error", message)
    return replace(
        result,
        started_at=stamp(moment(began)) if began else "",
        finished_at=stamp(moment(over)) if over else "",
        finished=moment(over),
        lasted=max(0.0, moment(over) - moment(began)),
    )


def _message(
    code: int, signum: int, spec: Mapping[str, Any], last_words: str, log_tail: str, job_env: str, killed_by_us: bool
) -> str:
    if last_words:
        return last_words
    if code and spec.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        return "\n".join(log_tail.rstrip("\n").split("\n")[-TAIL_LINES:])[-TAIL_CHARACTERS:]
    if signum == 9 and not killed_by_us:
        return "The program was killed from outside (SIGKILL), possibly because memory ran out."
    return hint_from_log(code, log_tail, job_env)


def lost(container: Container, now: float) -> Exit:
    """Return the exit of an attempt that nobody saw end."""
    return Exit(
        LOST_CODE,
        reason=LOST_REASON,
        message=LOST_MESSAGE,
        started_at=stamp(container.started_time) if container.started_time else "",
        finished_at=stamp(now),
        finished=now,
        lasted=max(0.0, now - container.started_time) if container.started_time else 0.0,
    )


def not_started(code: int, reason: str, message: str, now: float) -> Exit:
    """Return the exit of an attempt whose program could not be named or made into a process."""
    return Exit(code, reason=reason, message=message, finished_at=stamp(now), finished=now)
