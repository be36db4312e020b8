"""How far a job has come, as a table."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.state import phases
from jobs.web.job.timeline import Milestones, timeline

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("times", "phase", "states"),
    [
        (Milestones(T0), phases.CREATING, "done now todo todo todo"),
        (Milestones(T0, at(1)), phases.WAITING, "done done now todo todo"),
        (Milestones(T0, at(1), at(5)), phases.STARTING, "done done done now todo"),
        (Milestones(T0, at(1), at(5), at(6)), phases.RUNNING, "done done done done now"),
        (Milestones(T0, at(1), at(5), at(6), at(8)), phases.RUNNING, "done done done done done now"),
        (Milestones(T0, at(1), at(5), at(6), at(8), at(9)), phases.SUCCEEDED, "done done done done done done"),
        (Milestones(T0, at(1), finished=at(9)), phases.FAILED, "done done never never done"),
        (Milestones(T0, finished=at(9)), phases.CANCELLED, "done never never never done"),
        (Milestones(T0, at(1), reported=at(7)), phases.RUNNING, "done done passed passed done now"),
        (Milestones(T0, at(1)), phases.SUSPENDED, "done done todo todo todo"),
        (Milestones(T0, at(1), at(5), at(6)), phases.DELETING, "done done done done todo"),
    ],
)
def test_states(times, phase, states):
    assert " ".join(step.state for step in timeline(times, phase)) == states


def test_durations_run_from_step_to_step_and_never_backwards():
    steps = timeline(Milestones(T0, at(1), at(5), at(4), finished=at(64)), phases.SUCCEEDED, "ok")
    assert [step.seconds for step in steps] == [None, 1.0, 4.0, 0.0, 59.0]
    assert (steps[-1].label, steps[-1].tone) == ("Succeeded", "ok")


def test_what_is_under_way_counts_from_the_step_before():
    now = next(step for step in timeline(Milestones(T0, at(1), at(5)), phases.STARTING) if step.state == "now")
    assert (now.label, now.owner, now.since) == ("Starting", "the cluster", at(5))
