"""What Kueue's Workload means for a suspended job."""

from typing import Any

import pytest

from jobs.state import observe
from tests.unit.state.objects import NOW, UID, Object, condition, record, running_pod, snapshot, trainjob

LABEL = {"labels": {"kueue.x-k8s.io/queue-name": "team"}}
RESERVED = condition("QuotaReserved")
SHORT = "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor gpu, 16 more needed"


def workload(*conditions: Object, active: bool = True, uid: str = UID, **status: Any) -> Object:
    return {
        "metadata": {"name": "trainjob-train-1a2b3", "ownerReferences": [{"kind": "TrainJob", "uid": uid}]},
        "spec": {"queueName": "team", "active": active},
        "status": {"conditions": list(conditions)} | status,
    }


def evicted(reason: str, message: str = "", status: str = "True") -> Object:
    return condition("Evicted", status, reason, message)


def waiting(message: str, reason: str = "Pending") -> Object:
    return condition("QuotaReserved", "False", reason, message)


TABLE: list[tuple[str, Object | None, str, str, list[str]]] = [
    ("no workload yet", None, "Queued", "AwaitingKueue", ["team", "10 min"]),
    ("not looked at", workload(), "Queued", "PendingEvaluation", ["team"]),
    ("text that nobody knows", workload(waiting("strange")), "Queued", "PendingEvaluation", ["strange"]),
    (
        "topology",
        workload(waiting('topology "rack" allows to fit only 3 out of 4 pod(s)')),
        "Queued",
        "WaitingForQuota",
        ["rack"],
    ),
    (
        "wrong namespace",
        workload(waiting("Workload namespace doesn't match ClusterQueue selector")),
        "Queued",
        "NoMatchingFlavor",
        ["namespace"],
    ),
    (
        "no such resource",
        workload(waiting("resource nvidia.com/gpu unavailable in ClusterQueue")),
        "Queued",
        "NoMatchingFlavor",
        ["nvidia.com/gpu"],
    ),
    (
        "inactive queue",
        workload(waiting("LocalQueue team is inactive", "Inadmissible")),
        "Queued",
        "QueueStopped",
        ["team"],
    ),
    (
        "queue drained",
        workload(waiting("x"), evicted("ClusterQueueStopped", "The ClusterQueue is stopped")),
        "Queued",
        "QueueStopped",
        ["stopped"],
    ),
    (
        "no cluster queue",
        workload(waiting("ClusterQueue big doesn't exist", "Inadmissible")),
        "Misconfigured",
        "ClusterQueueMissing",
        ["big"],
    ),
    (
        "check open",
        workload(
            RESERVED, admissionChecks=[{"name": "budget", "state": "Pending"}, {"name": "done", "state": "Ready"}]
        ),
        "Queued",
        "AdmissionCheckPending",
        ["budget"],
    ),
    (
        "check refused",
        workload(waiting("x"), evicted("AdmissionCheck", "budget said no")),
        "Queued",
        "AdmissionCheckPending",
        ["budget said no"],
    ),
    ("admitted", workload(RESERVED, condition("Admitted")), "Creating", "Admitted", ["team"]),
    (
        "preempted",
        workload(waiting("x"), evicted("Preempted", "Preempted to accommodate a workload due to fair sharing")),
        "Preempted",
        "PreemptedByKueue",
        ["fair share"],
    ),
    (
        "preempted by its own condition",
        workload(condition("Preempted", reason="InClusterQueue")),
        "Preempted",
        "PreemptedByKueue",
        ["Preempted"],
    ),
    (
        "old preemption",
        workload(
            waiting("insufficient unused quota for cpu in flavor f, 1 more needed"),
            evicted("Preempted", status="False"),
        ),
        "Queued",
        "WaitingForQuota",
        ["1 more cpu"],
    ),
    (
        "machines failed",
        workload(evicted("NodeFailures", "2 nodes failed")),
        "Preempted",
        "NodeFailures",
        ["2 nodes failed"],
    ),
    (
        "not ready in time",
        workload(evicted("PodsReadyTimeout"), requeueState={"count": 3, "requeueAt": "2026-03-01T12:02:00Z"}),
        "Preempted",
        "PodsReadyTimeout",
        ["try 3", "2 min"],
    ),
    (
        "given up",
        workload(
            evicted("DeactivatedDueToRequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries"),
            active=False,
        ),
        "Suspended",
        "WorkloadDeactivated",
        ["too often"],
    ),
    (
        "held",
        workload(waiting("The workload is deactivated"), active=False),
        "Suspended",
        "WorkloadDeactivated",
        ["held by ann"],
    ),
    (
        "held after a preemption",
        workload(waiting("x"), evicted("Preempted"), condition("Preempted", reason="InClusterQueue"), active=False),
        "Suspended",
        "WorkloadDeactivated",
        ["held by ann"],
    ),
    (
        "let go again and not looked at",
        workload(waiting("The workload is deactivated"), evicted("Deactivated", "The workload is deactivated")),
        "Queued",
        "PendingEvaluation",
        ["has not admitted this job yet."],
    ),
    (
        "let go again where nothing is free",
        workload(waiting(SHORT), evicted("Deactivated", "The workload is deactivated")),
        "Queued",
        "WaitingForQuota",
        ["16 more nvidia.com/gpu"],
    ),
    (
        "what it asks for",
        workload(waiting(SHORT), resourceRequests=[{"name": "node", "resources": {"nvidia.com/gpu": "24"}}]),
        "Queued",
        "WaitingForQuota",
        ["16 more nvidia.com/gpu needed in flavor gpu (asks for 24, 8 available)"],
    ),
    (
        "two that ask for the same are counted together by Kueue",
        workload(
            waiting(SHORT),
            resourceRequests=[{"name": n, "resources": {"nvidia.com/gpu": "24"}} for n in ("launcher", "node")],
        ),
        "Queued",
        "WaitingForQuota",
        ["16 more nvidia.com/gpu needed in flavor gpu."],
    ),
    ("of another job", workload(waiting("x"), uid="other"), "Queued", "AwaitingKueue", ["team"]),
]


@pytest.mark.parametrize(
    ("work", "phase", "code", "mentions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_workload(work: Object | None, phase: str, code: str, mentions: list[str]) -> None:
    job = trainjob(suspend=True, **LABEL)
    given = snapshot(trainjob=job, workloads=[work] if work else [], record=record(suspended_by="ann"))
    state = observe(given, NOW)
    assert (state.phase, state.code) == (phase, code), state.sentence
    for word in mentions:
        assert word in state.sentence


def test_a_requeue_is_a_time_to_look_again() -> None:
    work = workload(evicted("PodsReadyTimeout"), requeueState={"requeueAt": "2026-03-01T12:02:00Z"})
    state = observe(snapshot(trainjob=trainjob(suspend=True), workloads=[work]), NOW)
    assert state.recheck_at == "2026-03-01T12:02:00Z"


def test_pods_that_stop_come_before_everything_but_a_preemption() -> None:
    job = trainjob(suspend=True, **LABEL)
    stopping = snapshot(trainjob=job, workloads=[workload(waiting("x"))], pods=[running_pod(0, deleting=NOW)])
    assert observe(stopping, NOW).code == "PodsTerminating"
    preempted = snapshot(trainjob=job, workloads=[workload(evicted("Preempted"))], pods=[running_pod(0, deleting=NOW)])
    assert observe(preempted, NOW).code == "PreemptedByKueue"


def test_a_workload_says_nothing_about_a_job_that_is_not_suspended() -> None:
    given = snapshot(workloads=[workload(waiting("x"), active=False)], pods=[running_pod(0), running_pod(1)])
    assert observe(given, NOW).phase == "Running"
