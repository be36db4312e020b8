"""Garbage collection, lost pods, the queue and the recorder."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.localcluster_controllers.harness import Cluster, jobset, rjob
from trainui.localcluster.admission import admit
from trainui.localcluster.controllers import backoff_from, start
from trainui.localcluster.controllers.actions import Delete, Update
from trainui.localcluster.controllers.cluster import garbage
from trainui.localcluster.controllers.cluster.lost_pods import end_if_lost
from trainui.localcluster.controllers.cluster.pod_groups import PROTECTION, protect
from trainui.localcluster.controllers.queue import WorkQueue
from trainui.localcluster.controllers.recorder import Recorder
from trainui.localcluster.store import Store

Obj = dict[str, Any]
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def thing(uid: str, *owners: str, deleting: bool = False, finalizers: tuple[str, ...] = (), blocks: bool = True) -> Obj:
    metadata: Obj = {"name": uid, "namespace": "default", "uid": uid}
    if owners:
        metadata["ownerReferences"] = [{"kind": "X", "name": o, "uid": o, "blockOwnerDeletion": blocks} for o in owners]
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-30T11:00:00Z"
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"kind": "X", "metadata": metadata}


def short(actions: list[Any]) -> list[Any]:
    found = []
    for action in actions:
        if isinstance(action, Delete):
            found.append(("delete", action.name, action.propagation))
        elif isinstance(action, Update):
            metadata = action.obj["metadata"]
            found.append(("write", metadata["name"], garbage.owner_uids(action.obj), metadata.get("finalizers", [])))
    return found


@pytest.mark.parametrize(
    ("obj", "there", "expected"),
    [
        (thing("c", "a"), ["a"], []),
        (thing("c", "a"), [], [("delete", "c", "Background")]),
        (thing("c", "a", deleting=True), [], []),
        (thing("c", "a", "b"), ["b"], [("write", "c", ["b"], [])]),
        (thing("c"), [], []),
    ],
)
def test_after_an_owner(obj: Obj, there: list[str], expected: list[Any]) -> None:
    assert short(garbage.after_owner("X", obj, lambda uid: thing(uid) if uid in there else None)) == expected


def test_orphaning() -> None:
    owner = thing("o", deleting=True, finalizers=("orphan", "mine"))
    found = short(garbage.orphan("X", owner, [("X", thing("c", "o", "p"))]))
    assert found == [("write", "c", ["p"], []), ("write", "o", [], ["mine"])]


GOING = thing("o", deleting=True, finalizers=("foregroundDeletion",))


@pytest.mark.parametrize(
    ("dependents", "expected"),
    [
        ([], [("write", "o", [], [])]),
        ([thing("c", "o")], [("delete", "c", "Background")]),
        ([thing("parent", "o")], [("delete", "parent", "Foreground")]),
        ([thing("c", "o", deleting=True)], []),
        ([thing("c", "o", blocks=False)], [("delete", "c", "Background"), ("write", "o", [], [])]),
        ([thing("c", "o", "stays")], [("write", "c", ["stays"], []), ("write", "o", [], [])]),
        ([thing("c", "o", "goes")], [("delete", "c", "Background")]),
    ],
)
def test_foreground(dependents: list[Obj], expected: list[Any]) -> None:
    others = {"stays": thing("stays"), "goes": thing("goes", deleting=True, finalizers=("foregroundDeletion",))}
    named = [("X", obj) for obj in dependents]
    found = garbage.foreground("X", GOING, named, others.get, lambda uid: uid == "parent")
    assert short(found) == expected


# Pods that nobody ends


def pod(node: str = "m", phase: str = "Running", grace: int | None = None) -> Obj:
    metadata: Obj = {"name": "p", "namespace": "default", "uid": "u"}
    if grace is not None:
        metadata |= {"deletionTimestamp": "2026-11-30T12:00:30Z", "deletionGracePeriodSeconds": grace}
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}


def machine(kind: str = "process", taint: str = "") -> Obj:
    taints = [{"key": taint, "effect": "NoExecute"}] if taint else []
    return {"metadata": {"name": "m", "labels": {"trainui.dev/machine-kind": kind}}, "spec": {"taints": taints}}


@pytest.mark.parametrize(
    ("found", "node", "fails", "removed"),
    [
        (pod(), machine(), False, False),
        (pod(grace=30), machine(), False, False),
        (pod(grace=30), machine("status"), True, True),
        (pod(phase="Succeeded", grace=30), machine("status"), False, True),
        (pod(grace=30), machine(taint="node.kubernetes.io/out-of-service"), True, True),
        (pod(), machine(taint="node.kubernetes.io/out-of-service"), False, False),
        (pod(grace=0), machine(), True, False),
        (pod(), None, True, False),
        (pod(grace=30), None, True, True),
        (pod(phase="Failed"), None, False, False),
        (pod(node="", phase="Pending"), None, False, False),
        (pod(node="", phase="Pending", grace=0), None, True, False),
    ],
)
def test_lost_pods(found: Obj, node: Obj | None, fails: bool, removed: bool) -> None:
    actions = end_if_lost(found, node, NOW)
    assert any(isinstance(a, Update) and a.obj["status"]["phase"] == "Failed" for a in actions) is fails
    assert any(isinstance(a, Delete) and a.grace == 0 for a in actions) is removed


@pytest.mark.parametrize(
    ("group", "phase", "finalizers"),
    [
        (thing("g"), "Running", [PROTECTION]),
        (thing("g", finalizers=(PROTECTION,)), "Running", None),
        (thing("g", deleting=True, finalizers=(PROTECTION,)), "Running", None),
        (thing("g", deleting=True, finalizers=(PROTECTION, "mine")), "Succeeded", ["mine"]),
        (thing("g", deleting=True), "Running", None),
    ],
)
def test_protection_of_groups(group: Obj, phase: str, finalizers: list[str] | None) -> None:
    member = pod(phase=phase)
    member["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    actions = protect(group, [member])
    assert [a.obj["metadata"].get("finalizers") for a in actions] == ([] if finalizers is None else [finalizers])


# Queue


def taken(queue: WorkQueue[str], count: int) -> list[str]:
    async def main() -> list[str]:
        return [await queue.take() for _ in range(count)]

    return asyncio.run(main())


def test_keys_are_handed_out_once_and_in_order() -> None:
    queue: WorkQueue[str] = WorkQueue(lambda: 0.0)
    for key in ("a", "b", "a", "c"):
        queue.add(key)
    assert taken(queue, 3) == ["a", "b", "c"]


def test_delayed_keys_come_when_they_are_due_the_sooner_one_counts() -> None:
    now = [0.0]
    queue: WorkQueue[str] = WorkQueue(lambda: now[0])
    queue.add_after("late", 9)
    queue.add_after("a", 5)
    queue.add_after("a", 3)
    queue.add_after("a", 7)
    queue.add_after("now", 0)
    assert taken(queue, 1) == ["now"]
    now[0] = 3.0
    assert taken(queue, 1) == ["a"]
    now[0] = 9.0
    assert taken(queue, 1) == ["late"]


def test_failures_back_off_and_are_forgotten() -> None:
    queue: WorkQueue[str] = WorkQueue(lambda: 0.0)
    waits = [queue.failed("a") for _ in range(12)]
    assert waits[:3] == [0.05, 0.1, 0.2]
    assert waits[-1] == 30.0
    queue.succeeded("a")
    assert queue.failed("a") == 0.05


# Recorder


def test_repeated_events_are_counted() -> None:
    store = Store(":memory:", admit)
    about = store.create("ConfigMap", {"metadata": {"name": "x", "namespace": "default"}})
    recorder = Recorder(store, "job-controller")
    for _ in range(3):
        recorder.note(about, "Warning", "FailedCreate", "no room", NOW)
    recorder.note(about, "Warning", "FailedCreate", "no luck", NOW)
    found = {event["message"]: event for event in store.list("Event")[0]}
    assert {text: event["count"] for text, event in found.items()} == {"no room": 3, "no luck": 1}
    event = found["no room"]
    assert event["involvedObject"]["kind"] == "ConfigMap"
    assert event["involvedObject"]["uid"] == about["metadata"]["uid"]
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z")
    assert event["source"] == {"component": "job-controller"}
    store.delete("Event", "default", event["metadata"]["name"])
    recorder.note(about, "Warning", "FailedCreate", "no room", NOW)
    assert len(store.list("Event")[0]) == 2


@pytest.mark.parametrize(("text", "expected"), [("", 10.0), ("0", 0.0), ("0.25", 0.25), ("600", 600.0)])
def test_backoff_setting(text: str, expected: float) -> None:
    assert backoff_from({"TRAINUI_JOB_BACKOFF_SECONDS": text}) == expected


@pytest.mark.parametrize("text", ["x", "-1", "601", "nan"])
def test_bad_backoff_setting(text: str) -> None:
    with pytest.raises(ValueError, match="TRAINUI_JOB_BACKOFF_SECONDS"):
        backoff_from({"TRAINUI_JOB_BACKOFF_SECONDS": text})


# The shell


def test_what_cannot_be_read_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    """Objects that admission would refuse, in a store without it."""

    async def main() -> None:
        store = Store(":memory:")
        cluster = Cluster(store)
        controllers = asyncio.create_task(start(store, 0.0))
        store.create("JobSet", jobset("bad", rjob("node") | {"replicas": "many"}))
        store.create("Node", {"metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": "some"}}})
        unreadable = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "lots"}}}]}
        store.create("Pod", {"metadata": {"name": "bad", "namespace": "default"}, "spec": unreadable})
        cluster.machine("m")
        store.create("JobSet", jobset("good", rjob("node")))
        await cluster.until(lambda: [pod for pod in cluster.pods("good-node-0") if pod["spec"].get("nodeName")])
        assert not controllers.done()
        controllers.cancel()
        await asyncio.gather(controllers, return_exceptions=True)

    asyncio.run(main())
    assert "jobset: " in caplog.text
    assert "pod default/bad is left out: not a quantity: 'lots'" in caplog.text
    assert "machine bad is left out" in caplog.text
