"""What one look at a Job asks for, without a store."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.localcluster_controllers.test_job_policies import NOW, exited, job, pod
from trainui.localcluster.controllers.actions import Create, Delete, Note, Update
from trainui.localcluster.controllers.job.backoff import BackoffRecord
from trainui.localcluster.controllers.job.pods import TRACKING
from trainui.localcluster.controllers.job.sync import sync

Obj = dict[str, Any]


class Look:
    """The result of a look, taken apart."""

    def __init__(self, found: Obj, *pods: Obj, record: BackoffRecord | None = None) -> None:
        plan, self.record = sync(found, pods, record or BackoffRecord(), NOW)
        actions = plan.actions
        self.again = plan.again
        self.created = [a.obj for a in actions if isinstance(a, Create)]
        self.indexes = [p["metadata"]["labels"].get("batch.kubernetes.io/job-completion-index") for p in self.created]
        self.deleted = [a.name for a in actions if isinstance(a, Delete)]
        self.released = [a.obj["metadata"]["name"] for a in actions if isinstance(a, Update) and a.kind == "Pod"]
        self.notes = [a.reason for a in actions if isinstance(a, Note)]
        writes = [a.obj["status"] for a in actions if isinstance(a, Update) and a.kind == "Job"]
        self.status = writes[-1] if writes else found["status"]
        self.conditions = {c["type"]: (c["status"], c.get("reason", "")) for c in self.status.get("conditions", ())}


def test_first_look_starts_all_indexes() -> None:
    found = Look(job())
    assert found.indexes == ["0", "1", "2"]
    assert found.status["startTime"] == "2026-11-30T12:00:00Z"
    assert (found.status["active"], found.status["ready"], found.status["terminating"]) == (3, 0, 0)
    assert found.status["uncountedTerminatedPods"] == {}


def test_a_suspended_job_starts_nothing() -> None:
    found = Look(job(suspend=True))
    assert (found.created, found.conditions) == ([], {"Suspended": ("True", "JobSuspended")})
    assert "startTime" not in found.status


def test_suspending_deletes_without_counting() -> None:
    found = Look(job(suspend=True, status={"startTime": "x"}), pod(0, "Running"), pod(1, node=None))
    assert found.deleted == found.released == ["p-0-", "p-1-"]
    assert (found.status["active"], found.status["terminating"], found.status["failed"]) == (0, 1, 0)
    assert found.notes.count("SuccessfulDelete") == 2


def test_resuming_starts_the_clock_again() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    found = Look(job(status={"startTime": "2026-11-30T10:00:00Z", "conditions": [suspended]}))
    assert found.status["startTime"] == "2026-11-30T12:00:00Z"
    assert found.conditions == {"Suspended": ("False", "JobResumed")}
    assert "Resumed" in found.notes


def test_an_outcome_is_counted_in_the_write_that_lets_the_pod_go() -> None:
    found = Look(job(), pod(0, "Succeeded"), pod(1, "Running"), pod(2, "Running"))
    assert (found.status["succeeded"], found.status["completedIndexes"], found.status["active"]) == (1, "0", 2)
    assert (found.released, found.created) == (["p-0-"], [])
    again = Look(job(status=found.status), pod(0, "Succeeded", counted=True), pod(1, "Running"), pod(2, "Running"))
    assert (again.status["succeeded"], again.released) == (1, [])


def test_a_failure_waits_for_the_back_off() -> None:
    failed = pod(0, "Failed", containerStatuses=[exited(1, "2026-11-30T11:59:58Z")])
    found = Look(job(), failed, pod(1), pod(2))
    assert (found.created, found.again, found.status["failed"], found.status["active"]) == ([], 8.0, 1, 2)
    later = Look(job(), pod(1), pod(2), record=BackoffRecord(1, NOW - timedelta(seconds=10)))
    assert later.indexes == ["0"]


def test_failing_ends_everything_and_waits_for_what_still_terminates() -> None:
    found = Look(job(backoffLimit=0), pod(0, "Failed"), pod(1, "Running"), pod(2, node=None))
    assert found.deleted == ["p-1-", "p-2-"]
    assert sorted(found.released) == ["p-0-", "p-1-", "p-2-"]
    assert found.conditions == {"FailureTarget": ("True", "BackoffLimitExceeded")}
    assert (found.status["failed"], found.status["active"], found.status["terminating"]) == (3, 0, 1)
    assert "BackoffLimitExceeded" not in found.notes
    gone = Look(job(backoffLimit=0, status=found.status), pod(0, "Failed", counted=True))
    assert gone.conditions["Failed"] == ("True", "BackoffLimitExceeded")
    assert (gone.status["failed"], gone.notes) == (3, ["BackoffLimitExceeded"])


def test_success_waits_for_what_still_terminates() -> None:
    found = Look(
        job(completions=1, parallelism=1), pod(0, "Succeeded"), pod(0, "Running", uid="x", deleting=True, counted=True)
    )
    assert found.conditions == {"SuccessCriteriaMet": ("True", "CompletionsReached")}
    done = Look(job(completions=1, parallelism=1, status=found.status), pod(0, "Succeeded", counted=True))
    assert done.conditions["Complete"] == ("True", "CompletionsReached")
    assert done.status["completionTime"] == "2026-11-30T12:00:00Z"
    assert done.notes == ["Completed"]


def test_success_policy_ends_the_others_without_counting_them() -> None:
    rules = {"rules": [{"succeededIndexes": "0"}]}
    found = Look(job(successPolicy=rules), pod(0, "Succeeded"), pod(1, node=None), pod(2, node=None))
    assert (found.deleted, found.status["failed"], found.status["succeeded"]) == (["p-1-", "p-2-"], 0, 1)
    assert found.conditions["Complete"] == ("True", "SuccessPolicy")


def test_nothing_to_do_is_success() -> None:
    found = Look(job(completions=0, parallelism=0))
    assert (found.created, found.conditions["Complete"]) == ([], ("True", "CompletionsReached"))


def test_a_deleted_job_lets_its_pods_go() -> None:
    going = job()
    going["metadata"]["deletionTimestamp"] = "2026-11-30T11:00:00Z"
    found = Look(going, pod(0, "Running"), pod(1, "Failed", counted=True))
    assert (found.released, found.created, found.status) == (["p-0-"], [], {})


@pytest.mark.parametrize(("ttl", "deleted", "again"), [(None, [], None), (0, ["j"], None), (90, [], 30.0)])
def test_time_to_live(ttl: int | None, deleted: list[str], again: float | None) -> None:
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-30T11:59:00Z"}
    found = Look(job(ttlSecondsAfterFinished=ttl, status={"conditions": [complete]}), pod(0, "Failed"))
    assert (found.deleted, found.again, found.released) == (deleted, again, ["p-0-"])


def test_a_work_queue_starts_nobody_after_the_first_success() -> None:
    queue = {"completionMode": "NonIndexed", "completions": None, "parallelism": 3}
    assert len(Look(job(**queue), pod(None, "Running", uid="a")).created) == 2
    found = Look(job(**queue), pod(None, "Succeeded", uid="a"), pod(None, "Running", uid="b"))
    assert (found.created, found.conditions) == ([], {})
    done = Look(
        job(**queue, status=found.status), pod(None, "Succeeded", uid="a", counted=True), pod(None, "Failed", uid="b")
    )
    assert done.conditions["Complete"] == ("True", "CompletionsReached")
    assert (done.status["succeeded"], done.status["failed"]) == (1, 1)


def test_shrinking_an_elastic_job_removes_the_highest_indexes() -> None:
    found = Look(job(completions=2, parallelism=2), pod(0, "Running"), pod(1, "Running"), pod(2, "Running"))
    assert found.deleted == ["p-2-"]


def test_per_index_back_off_keeps_the_failed_pod_until_it_is_replaced() -> None:
    limited = {"backoffLimitPerIndex": 2, "completions": 2, "parallelism": 2}
    failed = pod(0, "Failed", uid="f", containerStatuses=[exited(1, "2026-11-30T11:59:55Z")])
    found = Look(job(**limited), failed, pod(1, "Running"))
    assert (found.created, found.again, found.released, found.status["failed"]) == ([], 5.0, [], 0)
    failed = pod(0, "Failed", uid="f", containerStatuses=[exited(1, "2026-11-30T11:59:50Z")])
    found = Look(job(**limited), failed, pod(1, "Running"))
    assert (found.indexes, found.released) == (["0"], [])
    assert found.created[0]["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    replaced = Look(job(**limited, status=found.status), failed, pod(0, "Running", uid="n"), pod(1, "Running"))
    assert (replaced.released, replaced.status["failed"]) == (["p-0-f"], 1)


def test_another_manager_keeps_its_job() -> None:
    assert Look(job(managedBy="acme.example/manager")).created == []
    assert len(Look(job(managedBy="kubernetes.io/job-controller")).created) == 3


def test_finalizers_of_others_stay() -> None:
    found = pod(0, "Succeeded")
    found["metadata"]["finalizers"] = ["acme.example/mine", TRACKING]
    plan, _ = sync(job(), [found, pod(1), pod(2)], BackoffRecord(), NOW)
    released = next(a.obj for a in plan.actions if isinstance(a, Update) and a.kind == "Pod")
    assert released["metadata"]["finalizers"] == ["acme.example/mine"]
