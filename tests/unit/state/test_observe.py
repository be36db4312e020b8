"""The order of decisions, by small objects: what the local cluster shows, and what the shared cases leave out."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.state import observe
from tests.unit.state.objects import (
    NOW,
    condition,
    ended,
    expected,
    gang,
    jobset,
    pod,
    pod_group,
    record,
    running,
    running_pod,
    snapshot,
    succeeded_pod,
    trainjob,
    unplaced_pod,
)

COMPLETED = condition("Completed", reason="AllJobsCompleted")
FAILED = condition("Failed", reason="FailedJobs", message="jobset failed (first failed job: train-node-0)")
RESUMED = condition("Suspended", "False", "Resumed", at="2026-03-01T11:59:50Z")
IN_GANG = record(gang=gang())

TABLE: list[tuple[str, dict[str, Any], str, str, list[str]]] = [
    (
        "no pods yet",
        {"trainjob": trainjob(created="2026-03-01T11:59:50Z")},
        "Creating",
        "CreatingPods",
        ["0 of 2 nodes"],
    ),
    (
        "one pod of one",
        {"record": record(expected=[expected("node", 1)]), "trainjob": trainjob(created=NOW)},
        "Creating",
        "CreatingPods",
        ["not created yet"],
    ),
    ("no machine", {"pods": [unplaced_pod(0), unplaced_pod(1)]}, "Waiting", "Unschedulable", ["2 of 2 nodes", "cpu"]),
    (
        "gang without room",
        {"record": IN_GANG, "podgroups": [pod_group()], "pods": [unplaced_pod(0), unplaced_pod(1)]},
        "Waiting",
        "GangIncomplete",
        ["0 of 2", "cpu"],
    ),
    ("starting", {"pods": [pod(0), running_pod(1)]}, "Starting", "ContainersCreating", ["1 of 2 nodes runs", "rank 0"]),
    (
        "starting alone",
        {"record": record(expected=[expected("node", 1)]), "pods": [pod(0)]},
        "Starting",
        "ContainersCreating",
        ["Its containers"],
    ),
    ("not ready", {"pods": [running_pod(0), running_pod(1, ready=False)]}, "Starting", "ReadinessPending", ["rank 1"]),
    ("running", {"pods": [running_pod(0), running_pod(1)]}, "Running", "AllReady", ["All 2 nodes run"]),
    (
        "running alone",
        {"record": record(expected=[expected("node", 1)]), "pods": [running_pod(0)]},
        "Running",
        "AllReady",
        ["The node runs"],
    ),
    (
        "finishing",
        {"pods": [succeeded_pod(0), succeeded_pod(1)]},
        "Running",
        "Finishing",
        ["All 2 nodes have finished"],
    ),
    ("succeeded", {"jobset": jobset(conditions=[COMPLETED])}, "Succeeded", "Completed", ["All 2 nodes"]),
    (
        "suspending",
        {"trainjob": trainjob(suspend=True), "pods": [running_pod(0)]},
        "Suspending",
        "PodsTerminating",
        ["1 pod is"],
    ),
    (
        "suspended",
        {"trainjob": trainjob(suspend=True), "record": record(suspended_by="ann")},
        "Suspended",
        "SuspendedByUser",
        ["ann"],
    ),
    ("suspended by kubectl", {"trainjob": trainjob(suspend=True)}, "Suspended", "SuspendedByUser", ["spec.suspend"]),
    (
        "resumed",
        {"trainjob": trainjob(conditions=[RESUMED]), "jobset": jobset(suspend=True)},
        "Creating",
        "Resuming",
        ["10 s ago"],
    ),
    (
        "restarting",
        {"jobset": jobset(restarts=1, failurePolicy={"maxRestarts": 3}), "pods": [running_pod(0, attempt=1)]},
        "Restarting",
        "JobSetRestart",
        ["Restart 1 of 3", "1 of 2"],
    ),
    (
        "deleting",
        {"trainjob": trainjob(deletionTimestamp=NOW), "pods": [running_pod(0)]},
        "Deleting",
        "BeingDeleted",
        ["outside", "1 pod"],
    ),
    (
        "cancel asked",
        {"record": record(cancel_requested_by="bob"), "pods": [running_pod(0)]},
        "Deleting",
        "BeingDeleted",
        ["bob"],
    ),
    (
        "cancelled",
        {"record": record(cancel_requested_by="bob"), "trainjob": None, "jobset": None},
        "Cancelled",
        "CancelledByUser",
        ["bob"],
    ),
    ("lost", {"trainjob": None, "jobset": None}, "Lost", "DeletedExternally", ["outside"]),
    (
        "no runtime",
        {"record": record(runtime_exists=False), "jobset": None},
        "Misconfigured",
        "RuntimeNotFound",
        ["plain"],
    ),
    (
        "apply refused for now",
        {"record": record(apply_error={"text": "webhook down", "attempts": 3}), "jobset": None},
        "Misconfigured",
        "CreateFailed",
        ["webhook down", "3 tries"],
    ),
    (
        "no JobSet CRD",
        {"jobset": None, "crds": ["trainjobs.trainer.kubeflow.org"]},
        "Misconfigured",
        "CreateFailed",
        ["JobSet is not installed"],
    ),
    (
        "our finding",
        {"record": record(refused={"message": "numNodes is 0"}), "jobset": None},
        "Failed",
        "Refused",
        ["numNodes is 0"],
    ),
    (
        "422 on the push",
        {
            "record": record(uid=None, push_error={"status": 422, "text": "name too long"}),
            "trainjob": None,
            "jobset": None,
        },
        "Failed",
        "Refused",
        ["name too long"],
    ),
    (
        "pushed in vain",
        {
            "record": record(
                uid=None, accepted_at="2026-03-01T11:58:00Z", push_error={"attempts": 2, "text": "webhook denied it"}
            ),
            "trainjob": None,
            "jobset": None,
        },
        "Creating",
        "AwaitingCluster",
        ["has not taken it", "webhook denied it", "2 min"],
    ),
]


@pytest.mark.parametrize(
    ("parts", "phase", "code", "mentions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_order_of_decisions(parts: dict[str, Any], phase: str, code: str, mentions: list[str]) -> None:
    state = observe(snapshot(**parts), NOW)
    assert (state.phase, state.code) == (phase, code), state.sentence
    for word in mentions:
        assert word in state.sentence


def test_what_is_expected_is_read_from_the_jobset_where_nothing_is_recorded() -> None:
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"parallelism": 2},
    }
    found = jobset(replicatedJobs=[{"name": "node", "replicas": 1, "template": template}])
    state = observe(snapshot(record={"uid": "uid-1"}, jobset=found, pods=[running_pod(0), running_pod(1)]), NOW)
    assert (state.phase, state.counts.expected) == ("Running", 2)


def test_a_replicated_job_without_pods_expects_none() -> None:
    found = jobset(replicatedJobs=[{"name": "node", "template": {"spec": {"parallelism": 0, "completions": 0}}}])
    state = observe(snapshot(record={"uid": "uid-1"}, jobset=found), NOW)
    assert (state.counts.expected, state.nodes) == (0, ())


def test_a_job_of_another_trainjob_of_the_same_name_is_not_its_own() -> None:
    foreign = jobset()
    foreign["metadata"]["ownerReferences"] = [{"kind": "TrainJob", "name": "train", "uid": "uid-0"}]
    assert observe(snapshot(jobset=foreign), NOW).code == "ControllerSilent"


def test_a_name_taken_by_another_submission_is_not_seen() -> None:
    taken = trainjob(annotations={"trainui.dev/submission-id": "other"})
    state = observe(snapshot(record=record(uid=None, submission_id="mine", accepted_at=NOW), trainjob=taken), NOW)
    assert state.code == "AwaitingCluster"


def test_the_time_may_be_a_datetime() -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert observe(snapshot(), at) == observe(snapshot(), NOW)


@pytest.mark.parametrize(
    ("parts", "recheck"),
    [
        ({"jobset": None, "trainjob": trainjob(created="2026-03-01T11:59:50Z")}, "2026-03-01T12:00:50Z"),
        ({"jobset": None}, "2026-03-01T12:05:00Z"),
        ({"trainjob": trainjob(created="2026-03-01T11:59:30Z")}, "2026-03-01T12:00:30Z"),
        ({"pods": [running_pod(0), running_pod(1)]}, None),
        ({"jobset": jobset(conditions=[COMPLETED])}, None),
    ],
)
def test_when_to_look_again(parts: dict[str, Any], recheck: str | None) -> None:
    assert observe(snapshot(**parts), NOW).recheck_at == recheck


def test_silence_is_told_when_it_was_announced() -> None:
    young = snapshot(jobset=None, trainjob=trainjob(created="2026-03-01T11:59:50Z"))
    first = observe(young, NOW)
    assert first.code == "AwaitingController"
    assert first.recheck_at is not None
    assert observe(young, "2026-03-01T12:00:51Z").code == "ControllerSilent"


@pytest.mark.parametrize(("reconciler", "phase"), [(None, "Failed"), ("trainui", "Failed"), ("kubeflow", "Running")])
def test_the_deadline_is_ours_to_keep_only_where_we_reconcile(reconciler: str | None, phase: str) -> None:
    job = trainjob()
    job["spec"]["activeDeadlineSeconds"] = 600
    state = observe(
        snapshot(record=record(reconciler=reconciler), trainjob=job, pods=[running_pod(0), running_pod(1)]), NOW
    )
    assert state.phase == phase
    assert state.code == ("DeadlineExceeded" if phase == "Failed" else "AllReady")


def test_a_deadline_ahead_is_a_time_to_look_again_and_starts_anew_after_a_resume() -> None:
    job = trainjob(conditions=[RESUMED])
    job["spec"]["activeDeadlineSeconds"] = 600
    state = observe(snapshot(trainjob=job, pods=[running_pod(0), running_pod(1)]), NOW)
    assert (state.phase, state.recheck_at) == ("Running", "2026-03-01T12:09:50Z")


def test_since_stays_while_nothing_changes() -> None:
    known = record(phase="Starting", code="ContainersCreating", since="2026-03-01T11:57:00Z")
    assert observe(snapshot(record=known, pods=[pod(0), pod(1)]), NOW).since == "2026-03-01T11:57:00Z"
    assert observe(snapshot(pods=[pod(0), pod(1)]), NOW).since is None


def test_scheduled_and_started_are_noted_once_and_forgotten_by_a_suspend() -> None:
    state = observe(snapshot(pods=[running_pod(0), running_pod(1)]), NOW)
    assert (state.scheduled_at, state.started_at) == (NOW, "2026-03-01T11:56:00Z")
    kept = record(scheduled_at="2026-03-01T11:55:00Z", started_at="2026-03-01T11:57:00Z")
    state = observe(snapshot(record=kept, pods=[running_pod(0), running_pod(1)]), NOW)
    assert (state.scheduled_at, state.started_at) == ("2026-03-01T11:55:00Z", "2026-03-01T11:57:00Z")
    assert observe(snapshot(record=kept, trainjob=trainjob(suspend=True)), NOW).scheduled_at is None


def test_a_finished_job_tells_when() -> None:
    state = observe(
        snapshot(jobset=jobset(conditions=[COMPLETED]), record=record(started_at="2026-03-01T11:57:00Z")), NOW
    )
    assert (state.finished, state.finished_at) == (True, "2026-03-01T11:59:00Z")
    assert "after 2 min" in state.sentence


def test_the_finished_state_survives_the_objects() -> None:
    said = {
        "phase": "Failed",
        "code": "OutOfMemory",
        "sentence": "Rank 1 ran out of memory.",
        "since": "2026-03-01T11:00:00Z",
    }
    for parts in ({"trainjob": None}, {"jobset": None}, {"trainjob": trainjob(conditions=[FAILED]), "jobset": None}):
        state = observe(snapshot(record=record(**said), **parts), NOW)
        assert (state.phase, state.code, state.sentence) == ("Failed", "OutOfMemory", "Rank 1 ran out of memory.")


def test_containers_that_ended_are_not_ready() -> None:
    half = pod(0, phase="Running", containers=[ended(0), running()])
    assert observe(snapshot(pods=[half, running_pod(1)]), NOW).code == "ReadinessPending"
