"""The phases of a start: from pods and events, as a table."""

from typing import Any

import pytest

from jobs.state import observe
from jobs.state.model import JobState
from tests.unit.state import objects as some

ACCEPTED = "2026-03-01T11:50:00Z"


def at(clock: str) -> str:
    return f"2026-03-01T{clock}Z"


def pod(index: int, scheduled: str = "", started: str = "", inits: list[Any] | None = None, **parts: Any) -> Any:
    conditions = [some.condition("PodScheduled", "True", at=at(scheduled))] if scheduled else []
    containers = [some.running(at=at(started))] if started else []
    return some.pod(
        index,
        machine=f"m-{index}" if scheduled else None,
        phase="Running" if started else "Pending",
        conditions=conditions,
        containers=containers,
        inits=inits or [],
        **parts,
    )


def seen(pods: list[Any], **parts: Any) -> JobState:
    record = some.record(accepted_at=ACCEPTED, **parts.pop("record", {}))
    return observe(some.snapshot(pods=pods, record=record, **parts), some.NOW)


def told(state: JobState) -> list[tuple[str, str, str, str | None]]:
    clock = lambda text: text[11:19] if text else None  # noqa: E731
    return [(p.name, p.owner, str(clock(p.since)), clock(p.until)) for p in state.startup]


QUEUED = ("queued", "scheduler", "11:50:00", "11:55:00")
PLACED = ("placed", "scheduler", "11:55:00", "11:56:30")


@pytest.mark.parametrize(
    ("pods", "phases"),
    [
        ([], [("queued", "scheduler", "11:50:00", None)]),
        ([pod(0)], [("queued", "scheduler", "11:50:00", None)]),
        ([pod(0), pod(1)], [QUEUED, ("placed", "scheduler", "11:55:00", None)]),
        ([pod(0, "11:56:00"), pod(1)], [QUEUED, ("placed", "scheduler", "11:55:00", None)]),
        ([pod(0, "11:56:00"), pod(1, "11:56:30")], [QUEUED, PLACED, ("starting", "machine", "11:56:30", None)]),
        (
            [pod(0, "11:56:00", "11:57:00"), pod(1, "11:56:30", "11:58:00")],
            [QUEUED, PLACED, ("starting", "machine", "11:56:30", "11:58:00")],
        ),
    ],
)
def test_phases_end_with_the_slowest_member(pods, phases):
    assert told(seen(pods)) == phases


def test_the_member_that_was_last_is_named():
    state = seen([pod(0, "11:56:00"), pod(1, "11:56:30")])
    assert state.startup[1].last == "Rank 1 on m-1"


def test_images_are_told_by_the_machines():
    pods = [pod(0, "11:56:00"), pod(1, "11:56:00")]
    names = [p["metadata"]["name"] for p in pods]
    pulls = [some.event("Pulling", "Pulling image", "Pod", name, at("11:56:05")) for name in names]
    assert told(seen(pods, events=pulls))[-1] == ("pulling", "image", "11:56:00", None)
    done = [*pulls, *(some.event("Pulled", "Successfully pulled", "Pod", name, at("11:56:40")) for name in names)]
    assert told(seen(pods, events=done))[-2:] == [
        ("pulling", "image", "11:56:00", "11:56:40"),
        ("starting", "machine", "11:56:40", None),
    ]


def test_an_image_that_does_not_come_is_the_images_phase():
    pods = [pod(0, "11:56:00"), pod(1, "11:56:00")]
    pods[1]["status"]["containerStatuses"] = [some.waiting("ImagePullBackOff", "not found")]
    assert told(seen(pods))[-1] == ("pulling", "image", "11:56:00", None)


def test_init_containers_belong_to_the_program():
    busy = [some.running(name="prepare", at=at("11:56:10"), ready=False)]
    done = [some.ended(0, at=at("11:57:00"), name="prepare")]
    assert told(seen([pod(0, "11:56:00", inits=busy), pod(1, "11:56:00", inits=done)]))[-1] == (
        "initializing", "program", "11:56:00", None,
    )  # fmt: skip
    assert told(seen([pod(0, "11:56:00", inits=done), pod(1, "11:56:00", inits=done)]))[-2:] == [
        ("initializing", "program", "11:56:00", "11:57:00"),
        ("starting", "machine", "11:57:00", None),
    ]


def test_initializers_come_before_the_nodes():
    expected = [some.expected("dataset-initializer", 1, "dataset-initializer", ranks=False), some.expected("node", 2)]
    record = {"expected": expected}
    waits = some.pod(0, job="dataset-initializer", machine=None)
    assert told(seen([waits], record=record)) == [("queued", "scheduler", "11:50:00", None)]
    done = some.succeeded_pod(
        0, job="dataset-initializer", conditions=[some.condition("PodScheduled", "True", at=at("11:52:00"))]
    )
    assert told(seen([done], record=record)) == [
        ("queued", "scheduler", "11:50:00", "11:52:00"),
        ("initializing", "program", "11:52:00", "11:59:30"),
        ("placed", "scheduler", "11:59:30", None),
    ]


def test_what_has_ended_stays_when_a_pod_is_made_anew():
    first = seen([pod(0, "11:56:00", "11:57:00"), pod(1, "11:56:30", "11:58:00")])
    later = seen([pod(0, "11:56:00", "11:57:00")], record={"state": first.as_dict(), "scheduled_at": at("11:56:30")})
    assert later.startup == first.startup
    gone = observe(
        some.snapshot(trainjob=None, record=some.record(state=later.as_dict(), phase="Succeeded", code="Completed")),
        some.NOW,
    )
    assert gone.startup == first.startup


def test_a_loss_is_no_start_that_nobody_noted():
    assert seen([pod(0, "11:56:00", "11:57:00")], record={"scheduled_at": at("11:56:30")}).startup == ()


def test_a_resume_begins_anew():
    before = seen([pod(0, "11:56:00", "11:57:00"), pod(1, "11:56:30", "11:58:00")])
    resumed = some.trainjob(conditions=[some.condition("Suspended", "False", at=at("11:58:30"))])
    assert told(seen([], trainjob=resumed, record={"state": before.as_dict()})) == [
        ("queued", "scheduler", "11:58:30", None)
    ]


def test_a_suspended_job_starts_nothing():
    assert seen([], trainjob=some.trainjob(suspend=True)).startup == ()


def in_kueue(suspend: bool, **parts: Any) -> Any:
    held = some.condition("Suspended", "True" if suspend else "False", at=at("11:50:01" if suspend else "11:54:00"))
    return some.trainjob(suspend=suspend, conditions=[held], labels={"kueue.x-k8s.io/queue-name": "q"}, **parts)


def workload(reserved: str) -> Any:
    message = "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor f, 4 more needed"
    return {
        "metadata": {"name": "w", "ownerReferences": [{"uid": some.UID}]},
        "spec": {"queueName": "q", "active": True},
        "status": {"conditions": [some.condition("QuotaReserved", reserved, "Pending", message)]},
    }


def test_the_wait_in_kueues_queue_ends_with_the_pods_not_with_the_resume():
    waits = seen([], trainjob=in_kueue(True), workloads=[workload("False")])
    assert waits.phase == "Queued"
    assert told(waits) == [("queued", "scheduler", "11:50:01", None)]
    admitted = seen(
        [pod(0), pod(1)],
        trainjob=in_kueue(False),
        workloads=[workload("True")],
        record={"state": waits.as_dict()},
    )
    assert told(admitted) == [
        ("queued", "scheduler", "11:50:01", "11:55:00"),
        ("placed", "scheduler", "11:55:00", None),
    ]


def test_a_job_that_a_person_holds_in_kueue_starts_nothing():
    held = workload("False")
    held["spec"]["active"] = False
    assert seen([], trainjob=in_kueue(True), workloads=[held]).startup == ()
