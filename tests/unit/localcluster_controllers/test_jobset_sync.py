"""What one look at a JobSet asks for, without a store."""

from typing import Any

from tests.unit.localcluster_controllers.test_jobset_policies import NOW, complete, failed, job, jobset, rjob
from trainui.localcluster.controllers.actions import Create, Delete, Note, Update
from trainui.localcluster.controllers.jobset.sync import Observed, sync

Obj = dict[str, Any]


def look(js: Obj, *jobs: Obj, **observed: Any) -> tuple[list[Any], Obj, float | None]:
    plan = sync(js, Observed(list(jobs), **observed), NOW)
    status = next((a.obj["status"] for a in plan.actions if isinstance(a, Update) and a.kind == "JobSet"), {})
    return plan.actions, status, plan.again


def created(actions: list[Any]) -> list[tuple[str, str]]:
    return [(a.kind, a.obj["metadata"]["name"]) for a in actions if isinstance(a, Create)]


def deleted(actions: list[Any]) -> list[tuple[str, str]]:
    return [(a.name, a.propagation) for a in actions if isinstance(a, Delete)]


def test_first_look_creates_service_and_jobs() -> None:
    actions, status, again = look(jobset(rjob("a", 2), rjob("b")))
    assert created(actions) == [("Service", "js"), ("Job", "js-a-0"), ("Job", "js-a-1"), ("Job", "js-b-0")]
    assert status["restarts"] == 0
    assert again is None


def test_what_is_there_is_not_created_again() -> None:
    js = jobset(
        rjob("a"),
        status={
            "restarts": 0,
            "replicatedJobsStatus": [
                {"name": "a", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0}
            ],
        },
    )
    actions, _, _ = look(js, job("a"), services=frozenset({"js"}))
    assert actions == []


def test_one_that_is_being_deleted_is_left_alone() -> None:
    js = jobset(rjob("a"))
    js["metadata"]["deletionTimestamp"] = "2026-11-30T11:00:00Z"
    assert look(js)[0] == []


def test_blocking_recreate_waits_until_all_are_gone() -> None:
    policy = {"maxRestarts": 3, "restartStrategy": "BlockingRecreate"}
    old = job("a", attempt="0")
    js = jobset(rjob("a"), rjob("b"), failurePolicy=policy, status={"restarts": 1})
    actions, _, _ = look(js, old, services=frozenset({"js"}))
    assert (created(actions), deleted(actions)) == ([], [("js-a-0", "Foreground")])
    recreate = jobset(rjob("a"), rjob("b"), failurePolicy={"maxRestarts": 3}, status={"restarts": 1})
    assert created(look(recreate, old, services=frozenset({"js"}))[0]) == [("Job", "js-b-0")]


def test_a_failure_is_decided_before_anything_is_created() -> None:
    actions, status, _ = look(jobset(rjob("a"), rjob("b")), failed("a"))
    assert created(actions) == []
    assert status["terminalState"] == "Failed"
    assert [a.reason for a in actions if isinstance(a, Note)] == ["FailedJobs"]


def test_a_restart_counts_and_tells() -> None:
    actions, status, _ = look(jobset(rjob("a"), failurePolicy={"maxRestarts": 1}), failed("a"))
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (1, 1)
    assert [(a.type, a.reason) for a in actions if isinstance(a, Note)] == [
        ("Warning", "RestartJobSetFailurePolicyAction"),
        ("Warning", "DefaultFailurePolicy"),
    ]


def test_one_job_is_restarted_alone() -> None:
    rules = [{"name": "r", "action": "RestartJob"}]
    js = jobset(rjob("a", 3), failurePolicy={"maxRestarts": 1, "rules": rules})
    _, status, _ = look(js, job("a", 0), failed("a", 1), job("a", 2))
    assert status["restarts"] == 0
    assert status["replicatedJobsStatus"][0]["jobRestarts"] == [0, 1]
    assert status["replicatedJobsStatus"][0]["jobRestartsCountTowardsMax"] == [0, 1]
    actions, _, _ = look({**js, "status": status}, job("a", 0), failed("a", 1), job("a", 2), services=frozenset({"js"}))
    assert (deleted(actions), created(actions)) == ([("js-a-1", "Foreground")], [])
    actions, _, _ = look({**js, "status": status}, job("a", 0), job("a", 2), services=frozenset({"js"}))
    again = next(a.obj for a in actions if isinstance(a, Create))
    assert again["metadata"]["labels"]["jobset.sigs.k8s.io/job-restart-attempt"] == "1"


def test_after_the_end_only_cleaning_up() -> None:
    done = {"type": "Completed", "status": "True", "lastTransitionTime": "2026-11-30T11:59:50Z"}
    js = jobset(rjob("a"), rjob("b"), status={"conditions": [done]}, ttlSecondsAfterFinished=15)
    actions, _, again = look(js, complete("a"), job("b"))
    assert (created(actions), deleted(actions), again) == ([], [("js-b-0", "Foreground")], 5.0)
    js["spec"]["ttlSecondsAfterFinished"] = 10
    actions, _, again = look(js, complete("a"))
    assert (deleted(actions), again) == ([("js", "Foreground")], None)


def test_suspended_creates_jobs_of_all_stages_whose_dependencies_are_met() -> None:
    order = {"startupPolicyOrder": "InOrder"}
    actions, status, _ = look(jobset(rjob("a"), rjob("b"), startupPolicy=order, suspend=True))
    assert created(actions)[1:] == [("Job", "js-a-0"), ("Job", "js-b-0")]
    assert [c["type"] for c in status["conditions"]] == ["Suspended"]
    waits = rjob("b", dependsOn=[{"name": "a", "status": "Complete"}])
    actions, _, _ = look(jobset(rjob("a"), waits, suspend=True))
    assert created(actions)[1:] == [("Job", "js-a-0")]
