"""The order of decisions where something is missing, refused or lost, beyond the shared cases."""

from typing import Any

import pytest

from jobs.state import observe
from tests.unit.state.objects import (
    NOW,
    condition,
    event,
    expected,
    failed_pod,
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
    waiting,
)

RESUMED = condition("Suspended", "False", "Resumed", at="2026-03-01T11:59:50Z")
MPI = [expected("launcher", 1, "trainer", ranks=False), expected("node", 2, None)]
WITH_INITIALIZER = [expected("node", 2), expected("model-initializer", 1, "model-initializer", ranks=False)]
IN_GANG = record(gang=gang())
QUOTA = 'Error creating: pods "x" is forbidden: exceeded quota: q, requested: cpu=8, used: cpu=4, limited: cpu=8'

CREATION_FAILED = event("TrainJobResourcesCreationFailed", "what it was before", "TrainJob", "train")
# What helps stands behind the server's words, however long these are.
REFUSED = f"change JobSet train: {'no ' * 200}. An administrator has to allow the verb"
NOT_TAKEN = {
    "attempts": 3,
    "answered": True,
    "text": "create TrainJob super-resolution: the namespace is being deleted",
}

JOBS_STATUS = {"status": {"jobsStatus": [{"name": "model-initializer", "succeeded": 1}]}}
EVICTED = pod(0, job="model-initializer", phase="Failed", reason="Evicted", message="low on disk")

TABLE: list[tuple[str, dict[str, Any], str, str, list[str]]] = [
    (
        "initializer done, its pod gone",
        {
            "record": record(expected=WITH_INITIALIZER),
            "trainjob": trainjob() | JOBS_STATUS,
            "pods": [running_pod(0), running_pod(1)],
        },
        "Running",
        "AllReady",
        [],
    ),
    (
        "initializer done, no node yet",
        {"record": record(expected=WITH_INITIALIZER), "trainjob": trainjob() | JOBS_STATUS},
        "Waiting",
        "PodsNotCreated",
        ["0 of 2 nodes"],
    ),
    (
        "initializer evicted",
        {"record": record(expected=WITH_INITIALIZER), "pods": [EVICTED]},
        "Initializing",
        "InitializerRetrying",
        ["Evicted"],
    ),
    (
        "no reason given",
        {"pods": [unplaced_pod(0, ""), unplaced_pod(1, "")]},
        "Waiting",
        "Unschedulable",
        ["gives no reason"],
    ),
    (
        "start error again and again",
        {
            "pods": [
                running_pod(0),
                pod(
                    1,
                    phase="Running",
                    containers=[
                        waiting(
                            "CrashLoopBackOff",
                            restarts=1,
                            last={
                                "exitCode": 127,
                                "reason": "StartError",
                                "message": 'exec: "torchrun": executable file not found in $PATH',
                            },
                        )
                    ],
                ),
            ]
        },
        "Starting",
        "CrashLoopBackOff",
        ["torchrun", "1 restart so far"],
    ),
    (
        "older name of the group",
        {
            "record": record(gang=gang(scheduler="coscheduling")),
            "crds": ["podgroups.scheduling.sigs.k8s.io"],
            "pods": [pod(0, machine=None), pod(1, machine=None)],
        },
        "Misconfigured",
        "PodGroupMissing",
        ["train"],
    ),
    (
        "group that asks too much, all placed",
        {"record": record(gang=gang()), "podgroups": [pod_group(5)], "pods": [running_pod(0), running_pod(1)]},
        "Running",
        "AllReady",
        [],
    ),
    (
        "deletion held up",
        {"trainjob": trainjob(deletionTimestamp="2026-03-01T11:50:00Z", finalizers=["example.test/wait"])},
        "Deleting",
        "BeingDeleted",
        ["example.test/wait", "10 min"],
    ),
    (
        "jobset controller complains",
        {"events": [event("PVCCreationFailed", "no claim for you", "JobSet", "train")]},
        "Waiting",
        "PodsNotCreated",
        ["no claim for you"],
    ),
    (
        "elastic, the fourth starts",
        {
            "record": record(expected=[expected("node", 3)], gang=gang(), started_at="2026-03-01T11:57:00Z"),
            "podgroups": [pod_group()],
            "pods": [running_pod(0), running_pod(1), pod(2)],
        },
        "Running",
        "OptionalPodsMissing",
        ["2 of 3"],
    ),
    (
        "launcher to come",
        {"record": record(expected=MPI), "pods": [running_pod(0), pod(1)]},
        "Starting",
        "LauncherPending",
        ["1 of 2 nodes is ready", "launcher"],
    ),
    (
        "launcher without machine",
        {"record": record(expected=MPI), "pods": [running_pod(0), running_pod(1), unplaced_pod(0, job="launcher")]},
        "Starting",
        "LauncherPending",
        ["The launcher has no machine", "cpu"],
    ),
    (
        "launcher done first",
        {"record": record(expected=MPI), "pods": [running_pod(0), running_pod(1), succeeded_pod(0, job="launcher")]},
        "Running",
        "AllReady",
        ["launcher has finished"],
    ),
    (
        "config map missing",
        {
            "pods": [
                running_pod(0),
                pod(1, containers=[waiting("CreateContainerConfigError", 'configmap "cfg" not found')]),
            ]
        },
        "Starting",
        "MissingConfigMap",
        ["Rank 1", "cfg"],
    ),
    (
        "other config error",
        {"pods": [running_pod(0), pod(1, containers=[waiting("CreateContainerError", "bad mount")])]},
        "Starting",
        "ContainerConfigError",
        ["bad mount"],
    ),
    (
        "first pull error",
        {"pods": [running_pod(0), pod(1, containers=[waiting("ErrImagePull", "unauthorized")])]},
        "Starting",
        "ImagePullBackOff",
        ["img:1", "unauthorized"],
    ),
    (
        "initializer retried",
        {
            "record": record(expected=WITH_INITIALIZER),
            "pods": [pod(0, job="model-initializer", phase="Running", containers=[running(restarts=2)])],
        },
        "Initializing",
        "InitializerRetrying",
        ["model-initializer"],
    ),
    (
        "initializer fails, next pod",
        {
            "record": record(expected=WITH_INITIALIZER),
            "pods": [failed_pod(0, 7, job="model-initializer"), pod(0, job="model-initializer", suffix="bbbbb")],
        },
        "Initializing",
        "InitializerRetrying",
        ["exit code 7"],
    ),
    (
        "initializer not made yet",
        {"record": record(expected=WITH_INITIALIZER), "trainjob": trainjob(created="2026-03-01T11:59:55Z")},
        "Creating",
        "CreatingPods",
        ["The initializer is not created yet"],
    ),
    (
        "degraded",
        {"record": record(scheduled_at="2026-03-01T11:55:00Z"), "pods": [running_pod(0), failed_pod(1, 3)]},
        "Degraded",
        "PodsLost",
        ["rank 1", "exit code 3"],
    ),
    (
        "degraded, refused",
        {
            "record": record(scheduled_at="2026-03-01T11:55:00Z"),
            "pods": [running_pod(0)],
            "events": [event("FailedCreate", QUOTA, "Job", "train-node-0")],
        },
        "Degraded",
        "PodsLost",
        ["quota q"],
    ),
    (
        "restart refused",
        {
            "jobset": jobset(restarts=1, conditions=[condition("RestartingJobSet")]),
            "events": [event("FailedCreate", QUOTA, "Job", "train-node-0")],
        },
        "Waiting",
        "NamespaceQuotaExceeded",
        ["quota q"],
    ),
    (
        "trainui was stopped",
        {"pods": [failed_pod(0, 143, reason="NodeShutdown"), failed_pod(1, 143, reason="NodeShutdown")]},
        "Degraded",
        "PodsLost",
        ["shut down"],
    ),
    (
        "silent machine",
        {
            "record": record(scheduled_at="2026-03-01T11:55:00Z"),
            "pods": [running_pod(0), running_pod(1, conditions=[condition("Ready", "False")], machine="m-9")],
            "events": [event("NodeNotReady", "Node is not ready", "Pod", "train-node-0-1-aaaaa")],
        },
        "Degraded",
        "NodeLost",
        ["m-9", "taint"],
    ),
    (
        "stuck on a lost machine",
        {
            "record": record(scheduled_at="2026-03-01T11:55:00Z"),
            "pods": [
                running_pod(0),
                running_pod(
                    1,
                    machine="m-9",
                    deleting="2026-03-01T11:58:00Z",
                    conditions=[condition("DisruptionTarget", reason="DeletionByTaintManager")],
                ),
            ],
        },
        "Degraded",
        "NodeLost",
        ["m-9", "out-of-service"],
    ),
    (
        "preempted, pod gone",
        {
            "record": record(gang=gang(), scheduled_at="2026-03-01T11:55:00Z"),
            "podgroups": [pod_group()],
            "pods": [running_pod(0), unplaced_pod(1)],
            "events": [event("Preempted", "Preempted by podgroup UID on node cluster", "Pod", "train-node-0-1-zzzzz")],
        },
        "Preempted",
        "PreemptedByScheduler",
        ["1 of 2"],
    ),
    (
        "placed before a suspend",
        {
            "record": record(scheduled_at="2026-03-01T11:52:00Z"),
            "trainjob": trainjob(conditions=[RESUMED]),
            "pods": [unplaced_pod(0), unplaced_pod(1)],
        },
        "Waiting",
        "Unschedulable",
        ["cpu"],
    ),
    (
        "silent scheduler",
        {"pods": [pod(0, machine=None, scheduler="nobody"), pod(1, machine=None, scheduler="nobody")]},
        "Waiting",
        "Unschedulable",
        ["scheduler nobody has said nothing"],
    ),
    (
        "group with too few pods",
        {"record": IN_GANG, "podgroups": [pod_group()], "pods": [unplaced_pod(0)]},
        "Waiting",
        "PodsNotCreated",
        ["1 of 2"],
    ),
    (
        "group asks too much",
        {"record": IN_GANG, "podgroups": [pod_group(3)], "pods": [pod(0, machine=None), pod(1, machine=None)]},
        "Misconfigured",
        "GangDeadlock",
        ["3", "2"],
    ),
    (
        "placed gang needs no group",
        {"record": IN_GANG, "pods": [running_pod(0), running_pod(1)]},
        "Running",
        "AllReady",
        [],
    ),
    (
        "the API server said no, in words that sound like silence",
        {"record": record(uid=None, accepted_at=NOW, push_error=NOT_TAKEN), "trainjob": None, "jobset": None},
        "Creating",
        "AwaitingCluster",
        ["has not taken it yet (3 tries", "is being deleted"],
    ),
    (
        "another trouble than the one that was told before",
        {"record": record(apply_error={"attempts": 2, "text": REFUSED}), "jobset": None, "events": [CREATION_FAILED]},
        "Misconfigured",
        "CreateFailed",
        ["An administrator has to allow the verb (2 tries)"],
    ),
    ("nothing is known of its pods", {"record": {"uid": "uid-1"}}, "Creating", "CreatingPods", ["not known"]),
]


@pytest.mark.parametrize(
    ("parts", "phase", "code", "mentions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_order_of_decisions(parts: dict[str, Any], phase: str, code: str, mentions: list[str]) -> None:
    state = observe(snapshot(**parts), NOW)
    assert (state.phase, state.code) == (phase, code), state.sentence
    for word in mentions:
        assert word in state.sentence
