"""What is written back to the TrainJob."""

from typing import Any

import pytest

from jobs.state import observe
from tests.unit.state.objects import NOW, Object, condition, jobset, record, running_pod, snapshot, trainjob

COMPLETE = condition("Complete", reason="AllJobsCompleted", message="jobset completed successfully")
FAILED = condition("Failed", reason="FailedJobs", message="jobset failed")
SUSPENDED = condition("Suspended", reason="Suspended", message="TrainJob is suspended")
RESUMED = condition("Suspended", "False", "Resumed", "TrainJob is resumed")
LATER = "2026-03-01T11:59:50Z"


def written(**parts: Any) -> list[Object]:
    return list(observe(snapshot(**parts), NOW).conditions)


TABLE: list[tuple[str, dict[str, Any], list[Object]]] = [
    ("a running job has none", {"pods": [running_pod(0), running_pod(1)]}, []),
    (
        "suspended",
        {"trainjob": trainjob(suspend=True)},
        [condition("Suspended", reason="Suspended", message="TrainJob is suspended", at=NOW)],
    ),
    ("still suspended", {"trainjob": trainjob(suspend=True, conditions=[SUSPENDED])}, [SUSPENDED]),
    (
        "resumed",
        {"trainjob": trainjob(conditions=[SUSPENDED])},
        [condition("Suspended", "False", "Resumed", "TrainJob is resumed", at=NOW)],
    ),
    ("running after a resume", {"trainjob": trainjob(conditions=[RESUMED])}, [RESUMED]),
    (
        "complete, copied from the JobSet",
        {"jobset": jobset(conditions=[condition("Completed", reason="AllJobsCompleted", message="done", at=LATER)])},
        [condition("Complete", reason="AllJobsCompleted", message="done", at=LATER)],
    ),
    (
        "failed, copied from the JobSet",
        {"jobset": jobset(conditions=[condition("Failed", reason="ReachedMaxRestarts", message="no more", at=LATER)])},
        [condition("Failed", reason="ReachedMaxRestarts", message="no more", at=LATER)],
    ),
    (
        "the terminal one comes last",
        {
            "trainjob": trainjob(conditions=[RESUMED]),
            "jobset": jobset(conditions=[condition("Completed", reason="A", at=LATER)]),
        },
        [
            RESUMED,
            condition("Complete", reason="A", message="jobset completed successfully", at=LATER),
        ],
    ),
    ("suspending what has ended adds nothing", {"trainjob": trainjob(suspend=True, conditions=[COMPLETE])}, [COMPLETE]),
    ("failed stays without its JobSet", {"trainjob": trainjob(conditions=[FAILED]), "jobset": None}, [FAILED]),
    (
        "Complete=False becomes True",
        {
            "trainjob": trainjob(conditions=[condition("Complete", "False")]),
            "jobset": jobset(conditions=[condition("Completed", reason="A", message="m", at=LATER)]),
        },
        [condition("Complete", reason="A", message="m", at=LATER)],
    ),
    ("foreign types are not ours to write", {"trainjob": trainjob(conditions=[condition("Odd"), RESUMED])}, [RESUMED]),
    ("a job that is being deleted is left alone", {"trainjob": trainjob(suspend=True, deletionTimestamp=NOW)}, []),
    ("another job of the same name", {"record": record(uid="other")}, []),
]


@pytest.mark.parametrize(("parts", "conditions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_conditions(parts: dict[str, Any], conditions: list[Object]) -> None:
    assert written(**parts) == conditions


def test_a_refusal_is_a_condition() -> None:
    (one,) = written(record=record(refused={"message": "numNodes is 0", "time": LATER}), jobset=None)
    assert (one["type"], one["status"], one["reason"], one["lastTransitionTime"]) == (
        "Failed",
        "True",
        "Refused",
        LATER,
    )
    assert "numNodes is 0" in one["message"]


def test_the_deadline_is_a_condition() -> None:
    job = trainjob()
    job["spec"]["activeDeadlineSeconds"] = 300
    (one,) = written(trainjob=job)
    assert (one["reason"], one["message"]) == ("DeadlineExceeded", "TrainJob exceeded its active deadline")
    assert one["lastTransitionTime"] == "2026-03-01T11:55:00Z"


def test_unknown_conditions_are_listed() -> None:
    state = observe(snapshot(trainjob=trainjob(conditions=[condition("Odd"), condition("Early"), RESUMED])), NOW)
    assert state.unknown_conditions == ("Early", "Odd")


def test_jobs_status_is_copied_by_name_and_kept_without_a_jobset() -> None:
    counts = {"ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
    found = jobset()
    found["status"]["replicatedJobsStatus"] = [{"name": "node", **counts}, {"name": "launcher", **counts, "ready": 0}]
    state = observe(snapshot(jobset=found), NOW)
    assert state.jobs_status == ({"name": "launcher", **counts, "ready": 0}, {"name": "node", **counts})
    job = trainjob(conditions=[COMPLETE])
    job["status"]["jobsStatus"] = [{"name": "node", **counts}]
    assert observe(snapshot(trainjob=job, jobset=None), NOW).jobs_status == ({"name": "node", **counts},)
