"""Tables of the JobSet's pure policies."""

from datetime import UTC, datetime
from typing import Any

import pytest

from trainui.localcluster.controllers.jobset import failure, names, startup, ttl
from trainui.localcluster.controllers.jobset.children import Children, sort_children
from trainui.localcluster.controllers.jobset.create import build_claims, build_job, build_service
from trainui.localcluster.controllers.jobset.depends_on import dependencies_met
from trainui.localcluster.controllers.jobset.status import replicated_jobs_status, set_jobset_condition
from trainui.localcluster.controllers.jobset.success import has_succeeded
from trainui.localcluster.controllers.jobset.suspend import resuming, suspended_job

Obj = dict[str, Any]
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def jobset(*rjobs: Obj, status: Obj | None = None, name: str = "js", **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": "team-a", "uid": "u-js"}
    found = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata}
    return found | {"spec": {"replicatedJobs": list(rjobs), **spec}, "status": status or {}}


def rjob(name: str, replicas: int = 1, **fields: Any) -> Obj:
    template = {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}
    return {"name": name, "replicas": replicas, "template": template, **fields}


def job(
    rjob_name: str,
    index: int = 0,
    attempt: str = "0",
    condition: Obj | None = None,
    spec: Obj | None = None,
    **status: Any,
) -> Obj:
    labels = {names.REPLICATED_JOB: rjob_name, names.JOB_INDEX: str(index), names.RESTART_ATTEMPT: attempt}
    conditions = [condition] if condition else []
    metadata = {"name": f"js-{rjob_name}-{index}", "namespace": "team-a", "labels": labels}
    return {
        "metadata": metadata,
        "spec": {"parallelism": 2, "completions": 2, **(spec or {})},
        "status": {"conditions": conditions, **status},
    }


def failed(
    rjob_name: str, index: int = 0, reason: str = "BackoffLimitExceeded", at: str = "2026-11-30T11:00:00Z"
) -> Obj:
    return job(
        rjob_name, index, condition={"type": "Failed", "status": "True", "reason": reason, "lastTransitionTime": at}
    )


def complete(rjob_name: str, index: int = 0) -> Obj:
    return job(rjob_name, index, condition={"type": "Complete", "status": "True"})


# Names


def test_marks_of_a_job_in_groups() -> None:
    js = jobset(rjob("a", 2, groupName="g"), rjob("b", 3), rjob("c", 1, groupName="g"), status={"restarts": 4})
    marks = names.marks(js, js["spec"]["replicatedJobs"][2], 0)
    prefix = "jobset.sigs.k8s.io/"
    assert {key.removeprefix(prefix): value for key, value in marks.items()} == {
        "jobset-name": "js",
        "jobset-uid": "u-js",
        "replicatedjob-name": "c",
        "replicatedjob-replicas": "1",
        "global-replicas": "6",
        "job-index": "0",
        # sha1 of team-a/js-c-0
        "job-key": "ba636390597e2338d5eda3b3bc8a03dcf05c5fe2",
        "job-global-index": "5",
        "group-name": "g",
        "group-replicas": "3",
        "job-group-index": "2",
        "restart-attempt": "4",
    }


@pytest.mark.parametrize(
    ("coordinator", "network", "expected"),
    [
        (None, None, None),
        ({"replicatedJob": "a"}, None, "js-a-0-0.js"),
        ({"replicatedJob": "b", "jobIndex": 2, "podIndex": 3}, {"subdomain": "net"}, "js-b-2-3.net"),
    ],
)
def test_coordinator(coordinator: Obj | None, network: Obj | None, expected: str | None) -> None:
    js = jobset(rjob("a"), **({"coordinator": coordinator} if coordinator else {}), network=network)
    assert names.coordinator(js) == expected
    assert names.marks(js, rjob("a"), 0).get(names.COORDINATOR) == expected


# Objects


def test_job_carries_marks_twice_and_keeps_its_own_labels() -> None:
    node = rjob("node")
    node["template"]["metadata"] = {"labels": {"mine": "1"}, "annotations": {"note": "2"}}
    node["template"]["spec"]["template"]["metadata"] = {"labels": {"pod": "3"}}
    js = jobset(node, suspend=True)
    built = build_job(js, node, 0)
    marks = names.marks(js, node, 0)
    assert built["metadata"]["labels"] == {"mine": "1", **marks}
    assert built["metadata"]["annotations"] == {"note": "2", **marks}
    pod = built["spec"]["template"]
    assert pod["metadata"] == {"labels": {"pod": "3", **marks}, "annotations": marks}
    assert (built["spec"]["suspend"], built["spec"]["completionMode"]) == (True, "Indexed")
    assert (pod["spec"]["restartPolicy"], pod["spec"]["subdomain"]) == ("OnFailure", "js")
    owner = built["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "JobSet",
        "u-js",
        True,
        True,
    )
    assert (
        "subdomain"
        not in build_job(jobset(node, network={"enableDNSHostnames": False}), node, 0)["spec"]["template"]["spec"]
    )


def test_exclusive_placement_by_node_selector() -> None:
    node = rjob("node")
    js = jobset(node)
    js["metadata"]["annotations"] = {names.EXCLUSIVE: "rack", names.NODE_SELECTOR_STRATEGY: "true"}
    built = build_job(js, node, 1)
    pod = built["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {names.NAMESPACED_JOB: "team-a_js-node-1"}
    assert pod["tolerations"] == [{"key": names.NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}]
    assert built["metadata"]["annotations"][names.EXCLUSIVE] == "rack"
    assert names.EXCLUSIVE not in built["metadata"]["labels"]


@pytest.mark.parametrize(
    ("network", "name", "publish"),
    [({}, "js", True), ({"subdomain": "net", "publishNotReadyAddresses": False}, "net", False)],
)
def test_service(network: Obj, name: str, publish: bool) -> None:
    service = build_service(jobset(rjob("a"), network=network))
    assert service["metadata"]["name"] == name
    assert service["spec"]["publishNotReadyAddresses"] is publish


@pytest.mark.parametrize(
    ("policy", "owned"), [({}, True), ({"whenDeleted": "Delete"}, True), ({"whenDeleted": "Retain"}, False)]
)
def test_claims(policy: Obj, owned: bool) -> None:
    template = {"metadata": {"name": "work", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    claims = build_claims(jobset(volumeClaimPolicies=[{"templates": [template], "retentionPolicy": policy}]))
    assert [claim["metadata"]["name"] for claim in claims] == ["work-js"]
    assert claims[0]["metadata"]["labels"] == {"a": "b", names.JOBSET_NAME: "js"}
    assert ("ownerReferences" in claims[0]["metadata"]) is owned


# Children and status


@pytest.mark.parametrize(
    ("attempt", "restarts", "bucket"),
    [
        ("0", 0, "active"),
        ("0", 1, "previous"),
        ("1", 1, "active"),
        ("2", 1, "active"),
        ("x", 0, "previous"),
        ("", 0, "previous"),
    ],
)
def test_attempts(attempt: str, restarts: int, bucket: str) -> None:
    found = sort_children(jobset(rjob("a"), status={"restarts": restarts}), [job("a", attempt=attempt)])
    assert {name: len(getattr(found, name)) for name in ("active", "previous")} == {
        "active": int(bucket == "active"),
        "previous": int(bucket == "previous"),
    }


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (job("a"), {"ready": 0, "active": 0}),
        (job("a", active=2), {"ready": 0, "active": 1}),
        (job("a", active=2, ready=1), {"ready": 0, "active": 1}),
        (job("a", active=2, ready=2), {"ready": 1, "active": 1}),
        (job("a", active=1, ready=1, succeeded=1), {"ready": 1, "active": 1}),
        (job("a", active=1, ready=1, spec={"parallelism": 1, "completions": 5}), {"ready": 1}),
        (job("a", active=3, ready=3, spec={"parallelism": 3, "completions": None}), {"ready": 1}),
        (job("a", spec={"parallelism": 0, "completions": 0}), {"ready": 1, "active": 0}),
        (job("a", spec={"suspend": True}), {"suspended": 1}),
        (complete("a"), {"succeeded": 1, "ready": 0}),
        (failed("a"), {"failed": 1, "active": 0}),
    ],
)
def test_counts(found: Obj, expected: Obj) -> None:
    js = jobset(rjob("a"), rjob("b"))
    statuses = replicated_jobs_status(js, sort_children(js, [found]))
    assert [entry["name"] for entry in statuses] == ["a", "b"]
    zero = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
    assert statuses[0].keys() == {"name", *zero}
    assert {key: statuses[0][key] for key in expected} == expected
    assert statuses[1] == {"name": "b", **zero}


OLD = {
    "type": "Suspended",
    "status": "True",
    "reason": "SuspendedJobs",
    "message": "m",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("before", "kind", "on", "expected", "changed"),
    [
        ([], "Suspended", False, [], False),
        ([], "Suspended", True, [("Suspended", "True", "r")], True),
        ([OLD], "Suspended", True, [("Suspended", "True", "SuspendedJobs")], False),
        ([OLD], "Suspended", False, [("Suspended", "False", "r")], True),
        (
            [{"type": "StartupPolicyInProgress", "status": "True", "reason": "p"}],
            "StartupPolicyCompleted",
            True,
            [("StartupPolicyInProgress", "False", "p"), ("StartupPolicyCompleted", "True", "r")],
            True,
        ),
        (
            [{"type": "RestartingJobSet", "status": "False", "reason": "JobsReady"}],
            "RestartingJobSet",
            False,
            [("RestartingJobSet", "False", "r")],
            True,
        ),
    ],
)
def test_conditions(
    before: list[Obj], kind: str, on: bool, expected: list[tuple[str, str, str]], changed: bool
) -> None:
    found, differs = set_jobset_condition(before, kind, on, "r", "text", NOW)
    assert [(c["type"], c["status"], c["reason"]) for c in found] == expected
    assert differs is changed


# Success


@pytest.mark.parametrize(
    ("policy", "succeeded", "expected"),
    [
        (None, [], False),
        (None, [complete("a")], False),
        (None, [complete("a"), complete("b", 0), complete("b", 1)], True),
        ({"operator": "All", "targetReplicatedJobs": ["a"]}, [complete("a")], True),
        ({"operator": "All", "targetReplicatedJobs": ["b"]}, [complete("a"), complete("b")], False),
        ({"operator": "Any"}, [complete("b")], True),
        ({"operator": "Any", "targetReplicatedJobs": ["a"]}, [complete("b")], False),
        ({"operator": "Any", "targetReplicatedJobs": ["a"]}, [complete("b"), complete("a")], True),
    ],
)
def test_success_policy(policy: Obj | None, succeeded: list[Obj], expected: bool) -> None:
    js = jobset(rjob("a"), rjob("b", 2), successPolicy=policy)
    assert has_succeeded(js, Children(succeeded=succeeded)) is expected


# Failure


def rule(action: str, **fields: Any) -> Obj:
    return {"name": "r", "action": action, **fields}


EARLY, LATE = "2026-11-30T11:00:00Z", "2026-11-30T11:00:01Z"


@pytest.mark.parametrize(
    ("policy", "jobs", "status", "action", "reason", "cause", "first"),
    [
        (None, [failed("b", at=LATE), failed("a", at=EARLY)], {}, "FailJobSet", "FailedJobs", "", "js-a-0"),
        (
            {"maxRestarts": 2},
            [failed("a")],
            {},
            "RestartJobSet",
            "RestartJobSetFailurePolicyAction",
            "DefaultFailurePolicy",
            "js-a-0",
        ),
        (
            {"maxRestarts": 2},
            [failed("a")],
            {"restarts": 9, "restartsCountTowardsMax": 2},
            "FailJobSet",
            "ReachedMaxRestarts",
            "",
            "js-a-0",
        ),
        (
            {"maxRestarts": 2},
            [failed("a")],
            {"restarts": 9, "restartsCountTowardsMax": 1},
            "RestartJobSet",
            "RestartJobSetFailurePolicyAction",
            "DefaultFailurePolicy",
            "js-a-0",
        ),
        ({}, [failed("a")], {}, "FailJobSet", "ReachedMaxRestarts", "", "js-a-0"),
        (
            {"maxRestarts": 2, "rules": [rule("FailJobSet")]},
            [failed("a")],
            {},
            "FailJobSet",
            "FailJobSetFailurePolicyAction",
            "",
            "js-a-0",
        ),
        (
            {"maxRestarts": 0, "rules": [rule("RestartJobSetAndIgnoreMaxRestarts")]},
            [failed("a")],
            {"restarts": 99},
            "RestartJobSetAndIgnoreMaxRestarts",
            "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction",
            "FailurePolicy_r",
            "js-a-0",
        ),
        (
            {"maxRestarts": 1, "rules": [rule("FailJobSet", onJobFailureReasons=["PodFailurePolicy"])]},
            [failed("a")],
            {},
            "RestartJobSet",
            "RestartJobSetFailurePolicyAction",
            "DefaultFailurePolicy",
            "js-a-0",
        ),
        (
            {"maxRestarts": 1, "rules": [rule("FailJobSet", onJobFailureReasons=["PodFailurePolicy"])]},
            [failed("a", at=EARLY), failed("b", reason="PodFailurePolicy", at=LATE)],
            {},
            "FailJobSet",
            "FailJobSetFailurePolicyAction",
            "",
            "js-b-0",
        ),
        (
            {"maxRestarts": 1, "rules": [rule("FailJobSet", targetReplicatedJobs=["b"])]},
            [failed("a")],
            {},
            "RestartJobSet",
            "RestartJobSetFailurePolicyAction",
            "DefaultFailurePolicy",
            "js-a-0",
        ),
        (
            {"maxRestarts": 1, "rules": [rule("RestartJob"), rule("FailJobSet")]},
            [failed("b", 1)],
            {},
            "RestartJob",
            "RestartJobFailurePolicyAction",
            "FailurePolicy_r",
            "js-b-1",
        ),
        (
            {"maxRestarts": 1, "rules": [rule("RestartJob")]},
            [failed("b", 1)],
            {"replicatedJobsStatus": [{"name": "b", "jobRestarts": [0, 1], "jobRestartsCountTowardsMax": [0, 1]}]},
            "FailJobSet",
            "ReachedMaxRestarts",
            "",
            "js-b-1",
        ),
    ],
)
def test_failure_policy(
    policy: Obj | None, jobs: list[Obj], status: Obj, action: str, reason: str, cause: str, first: str
) -> None:
    js = jobset(rjob("a"), rjob("b", 2), failurePolicy=policy, status=status)
    verdict = failure.judge(js, jobs)
    assert verdict is not None
    assert (verdict.action, verdict.reason, verdict.cause) == (action, reason, cause)
    assert verdict.message.endswith(f"(first failed job: {first})")


def test_nothing_failed() -> None:
    assert failure.judge(jobset(rjob("a")), [complete("a"), job("a")]) is None


# Start-up and dependencies


def counts(name: str, ready: int = 0, succeeded: int = 0, failed_: int = 0) -> Obj:
    return {"name": name, "ready": ready, "succeeded": succeeded, "failed": failed_, "active": 0, "suspended": 0}


@pytest.mark.parametrize(
    ("status", "found", "expected"),
    [
        ("Ready", counts("a"), False),
        ("Ready", counts("a", ready=1), False),
        ("Ready", counts("a", ready=2), True),
        ("Ready", counts("a", ready=1, succeeded=1), True),
        ("Ready", counts("a", failed_=2), True),
        ("Complete", counts("a", ready=2), False),
        ("Complete", counts("a", succeeded=1, ready=1), False),
        ("Complete", counts("a", succeeded=2), True),
    ],
)
def test_dependencies(status: str, found: Obj, expected: bool) -> None:
    last = rjob("b", dependsOn=[{"name": "a", "status": status}])
    assert dependencies_met(jobset(rjob("a", 2), last), last, [found, counts("b")]) is expected


def test_unknown_dependency_is_never_met() -> None:
    last = rjob("b", dependsOn=[{"name": "nobody", "status": "Ready"}])
    assert not dependencies_met(jobset(last), last, [counts("b")])


@pytest.mark.parametrize(
    ("order", "found", "allowed", "in_progress"),
    [
        ("AnyOrder", [counts("a"), counts("b")], ["a", "b"], False),
        ("InOrder", [counts("a"), counts("b")], ["a"], True),
        ("InOrder", [counts("a", ready=1), counts("b")], ["a", "b"], True),
        ("InOrder", [counts("a", succeeded=1), counts("b", ready=1)], ["a", "b"], False),
    ],
)
def test_startup(order: str, found: list[Obj], allowed: list[str], in_progress: bool) -> None:
    turn = startup.whose_turn(jobset(rjob("a"), rjob("b"), startupPolicy={"startupPolicyOrder": order}), found)
    assert ([entry["name"] for entry in turn.allowed], turn.in_progress) == (allowed, in_progress)


# Suspension and time to live


def test_suspending_writes_once() -> None:
    assert suspended_job(job("a"))["spec"]["suspend"] is True
    assert suspended_job(job("a", spec={"suspend": True})) is None


def test_resuming_forgets_the_start_and_takes_the_template_over() -> None:
    node = rjob("a")
    node["template"]["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "b"}
    js = jobset(node)
    old = {"metadata": {"labels": {"controller-uid": "u", "batch.kubernetes.io/job-name": "n", "stale": "x"}}}
    found = job(
        "a",
        spec={"suspend": True, "template": {**old, "spec": {"nodeSelector": {"pool": "a"}}}},
        startTime="t",
        failed=1,
    )
    status, spec = resuming(js, node, 0, found)
    assert (status.subresource, "startTime" in status.obj["status"], status.obj["status"]["failed"]) == (
        "status",
        False,
        1,
    )
    template = spec.obj["spec"]["template"]
    assert spec.obj["spec"]["suspend"] is False
    assert template["spec"]["nodeSelector"] == {"pool": "b"}
    assert template["metadata"]["labels"] == {
        **names.marks(js, node, 0),
        "controller-uid": "u",
        "batch.kubernetes.io/job-name": "n",
    }
    assert resuming(js, node, 0, job("a")) == []


@pytest.mark.parametrize(
    ("limit", "conditions", "expected"),
    [
        (None, [{"type": "Completed", "status": "True", "lastTransitionTime": "2026-11-30T11:59:00Z"}], None),
        (90, [], None),
        (90, [{"type": "Failed", "status": "False", "lastTransitionTime": "2026-11-30T11:59:00Z"}], None),
        (90, [{"type": "Completed", "status": "True", "lastTransitionTime": "2026-11-30T11:59:00Z"}], 30.0),
        (0, [{"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-30T12:00:00Z"}], 0.0),
    ],
)
def test_time_to_live(limit: int | None, conditions: list[Obj], expected: float | None) -> None:
    spec = {} if limit is None else {"ttlSecondsAfterFinished": limit}
    assert ttl.seconds_left(jobset(status={"conditions": conditions}, **spec), NOW) == expected
