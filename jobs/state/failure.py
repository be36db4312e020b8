"""Why a job failed: the container that ended first, in words.

The others are ended by the clean-up (143, SIGTERM); a deadline beats every exit code; 137 counts as memory only with OOMKilled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.state import memory, phases, programs
from jobs.state.codes import say
from jobs.state.model import Cause, Verdict
from jobs.state.pods import SHUTDOWN, Container, Ended, Pod
from jobs.state.reading import last_line, moment, number, objects, quote, text
from jobs.state.times import stamp, words
from jobs.state.view import Slot, View
from jobs.state.wording import after as join
from jobs.state.wording import count, restart_limit, who

_NEVER = datetime.max.replace(tzinfo=UTC)
# Codes that say little: what pods show later may replace them.
_VAGUE = ("JobFailed", "MaxRestartsReached", "Killed")
_REFUSED = frozenset({"Refused", "Invalid", "ValidationFailed"})
_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 139: "SIGSEGV"}
_HINTS = {126: "its program is not executable", 127: "a command in it was not found"}


@dataclass(frozen=True)
class _End:
    """One pod that ended badly; `how` is None if the pod failed without word from its containers."""

    slot: Slot
    pod: Pod
    container: Container | None
    how: Ended | None
    at: datetime | None

    @property
    def exit_code(self) -> int | None:
        return self.how.exit_code if self.how else None

    @property
    def clean_up(self) -> bool:
        return self.exit_code == 143 and not self.pod.reason


def verdict(view: View, reason: str, message: str, at: datetime | None) -> Verdict:
    """Return the Failed verdict for a reason and message of TrainJob or JobSet, with the cause that the pods show."""
    if reason == "DeadlineExceeded" or _job_deadline(view):
        limit = number(view.trainjob, "spec", "activeDeadlineSeconds")
        own = f" ({limit} s)" if limit and reason == "DeadlineExceeded" else ""
        return say(phases.FAILED, "DeadlineExceeded", detail=own, since=at)
    if reason == "TrainingRuntimeNotSupported":
        return say(phases.FAILED, "RuntimeNotSupported", detail=quote(message), since=at)
    if reason in _REFUSED:
        return say(phases.FAILED, "Refused", detail=quote(message) or "its specification is not valid", since=at)
    found = _from_pods(view, at)
    before = memory.failure(view)
    if before and (found is None or _stands(view, before, found)):
        return before
    if found:
        return found
    if reason == "ReachedMaxRestarts":
        limit_text = f" of {restart_limit(view)}" if restart_limit(view) is not None else ""
        return say(
            phases.FAILED,
            "MaxRestartsReached",
            restarts=view.attempt,
            limit=limit_text,
            detail=_first_job(message),
            since=at,
        )
    return say(phases.FAILED, "JobFailed", detail=quote(message) or _no_word(reason), since=at)


def _stands(view: View, before: Verdict, found: Verdict) -> bool:
    """Whether what was found earlier stands: pods that showed the cause go before others do."""
    return memory.has_sentence(view) and before.code not in _VAGUE and found.code != before.code


def _from_pods(view: View, at: datetime | None) -> Verdict | None:
    end = first_end(view)
    return _from_end(view, end, at) if end else None


def first_end(view: View) -> _End | None:
    """Return the pod and container that ended first in the last attempt that shows any, or None."""
    ends = list(_ends(view)) or list(_ends(view, before=True))
    if not ends:
        return None
    last = max(end.pod.attempt or 0 for end in ends)
    return min((end for end in ends if (end.pod.attempt or 0) == last), key=_order)


def _order(end: _End) -> tuple[datetime, bool, bool, int, str, str]:
    rank = end.slot.rank if end.slot.rank is not None else -1
    return (end.at or _NEVER, end.clean_up, end.how is None, rank, end.slot.group.name, repr(end.how))


def _ends(view: View, before: bool = False) -> Iterator[_End]:
    """The pods that ended badly; with `before` also those whose container is being started again or is taken away with the job."""
    slots = {(slot.group.name, slot.job_index, slot.index): slot for slot in view.slots}
    for pod in view.pods:
        slot = slots.get((pod.replicated_job, pod.job_index, pod.index))
        if slot is None:
            continue
        bad = [(container, how) for container, how in pod.ended if container.ended or pod.failed or before]
        for container, how in bad:
            yield _End(slot, pod, container, how, how.finished)
        if pod.failed and not bad:
            yield _End(slot, pod, None, None, moment(pod.disruption, "lastTransitionTime"))


def _from_end(view: View, end: _End, at: datetime | None) -> Verdict:
    code, gaps = _classify(end)
    limit = restart_limit(view)
    times = count(view.attempt, "restart") if limit is None else f"{view.attempt} of {count(limit, 'restart')}"
    after = f" in the last attempt, after {times}" if view.attempt else ""
    return say(phases.FAILED, code, gaps, who=who(end.slot), after=after, since=at, cause=cause_of(end))


def _classify(end: _End) -> tuple[str, dict[str, object]]:
    oom = bool(end.how and end.how.reason == "OOMKilled")
    if end.pod.reason == "DeadlineExceeded":
        return "DeadlineExceeded", {"detail": join(quote(end.pod.message))}
    if end.slot.group.initializer:
        how = f"ran out of memory (exit code {end.exit_code})" if oom else ended_how(end)
        return "InitializerFailed", {"how": how}
    if oom:
        return "OutOfMemory", {"exit": end.exit_code}
    if end.pod.reason in SHUTDOWN:
        return "Killed", {"how": f" because its machine was shut down ({quote(end.pod.message) or end.pod.reason})"}
    if end.pod.disruption or end.pod.reason in ("Evicted", "Preempting"):
        said = (
            end.pod.message
            or text(end.pod.disruption, "message")
            or end.pod.reason
            or text(end.pod.disruption, "reason")
        )
        return "PodEvicted", {"detail": quote(said)}
    if end.exit_code in (137, 143):
        signal = "SIGKILL, and not because of its memory limit" if end.exit_code == 137 else "SIGTERM"
        return "Killed", {"how": f" from outside (exit code {end.exit_code}, {signal})"}
    if end.how is None:
        said = quote(end.pod.message) or end.pod.reason
        return "JobFailed", {"detail": f"{who(end.slot)} failed{join(said)}"}
    return "NonZeroExit", {"how": ended_how(end)}


def ended_how(end: _End) -> str:
    """Return how the container of an end ended, as the predicate of a sentence."""
    how = end.how
    if how is None:
        return f"failed{join(quote(end.pod.message) or end.pod.reason)}"
    if how.reason in programs.START_ERRORS:
        return programs.could_not_start(how.message)
    if how.exit_code is None:
        return f"ended badly{join(how.reason)}"
    hint = _HINTS.get(how.exit_code) or (f"signal {_SIGNALS[how.exit_code]}" if how.exit_code in _SIGNALS else "")
    ran = f" after {words(how.finished - how.started)}" if how.finished and how.started else ""
    said = last_line(how.message)
    return f"ended with exit code {how.exit_code}{f' ({hint})' if hint else ''}{ran}{join(said)}"


def cause_of(end: _End) -> Cause:
    """Return the cause as data for the page."""
    reason = (end.how.reason if end.how else "") or end.pod.reason or text(end.pod.disruption, "reason")
    message = (end.how.message if end.how else "") or end.pod.message or text(end.pod.disruption, "message")
    start_error = bool(end.how and end.how.reason in programs.START_ERRORS)
    return Cause(
        rank=end.slot.rank,
        pod=end.pod.name or None,
        replicated_job=end.slot.group.name,
        container=end.container.name if end.container else None,
        exit_code=end.exit_code,
        reason=reason,
        message=quote(message),
        machine=end.pod.machine,
        at=stamp(end.at),
        program=programs.missing(message) if start_error else None,
    )


def _job_deadline(view: View) -> bool:
    """Whether one of the job's Jobs ran into the deadline of its own template."""
    for job in view.jobs:
        if view.is_own_job(text(job, "metadata", "name")):
            for item in objects(job, "status", "conditions"):
                if item.get("reason") == "DeadlineExceeded" and item.get("status") == "True":
                    return True
    return False


def _no_word(reason: str) -> str:
    return f"no pod is left that shows why{f' ({quote(reason, 80)})' if reason else ''}"


def _first_job(message: str) -> str:
    _, _, rest = message.partition("first failed job: ")
    return join(f"job {quote(rest.rstrip(')'))} failed first" if rest else "")
