"""Tables of the Job's pure policies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainui.localcluster.controllers.job import failure_policy, verdict
from trainui.localcluster.controllers.job.backoff import BackoffRecord, finished_at, next_record, seconds_left
from trainui.localcluster.controllers.job.index import first_pending, format_indexes, parse_indexes, valid_index
from trainui.localcluster.controllers.job.per_index import awaiting_replacement, failures_after, newly_failed_indexes
from trainui.localcluster.controllers.job.pod_template import build_pod
from trainui.localcluster.controllers.job.pods import (
    TRACKING,
    backoff_limit_of,
    completions_of,
    replaces_only_failed,
    sort_pods,
    surplus,
)
from trainui.localcluster.controllers.job.success_policy import met_rule

Obj = dict[str, Any]
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def job(name: str = "j", status: Obj | None = None, **spec: Any) -> Obj:
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
    metadata = {"name": name, "namespace": "team-a", "uid": "u-job"}
    found = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "status": status or {}}
    return found | {
        "spec": {"template": template, "completionMode": "Indexed", "parallelism": 3, "completions": 3, **spec}
    }


def pod(
    index: int | str | None = 0, phase: str = "Pending", uid: str = "", counted: bool = False, **fields: Any
) -> Obj:
    metadata: Obj = {"name": f"p-{index}-{uid}", "namespace": "team-a", "uid": uid or f"u{index}", "annotations": {}}
    if index is not None:
        metadata["annotations"]["batch.kubernetes.io/job-completion-index"] = str(index)
    metadata["annotations"].update(fields.pop("annotations", {}))
    if not counted:
        metadata["finalizers"] = [TRACKING]
    if fields.pop("deleting", False):
        metadata |= {"deletionTimestamp": "2026-11-30T12:00:10Z", "deletionGracePeriodSeconds": 30}
    metadata["creationTimestamp"] = fields.pop("created", "2026-11-30T11:00:00Z")
    node = fields.pop("node", "m")
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}, "status": {"phase": phase, **fields}}


def exited(code: int, at: str = "2026-11-30T11:59:00Z", name: str = "c") -> Obj:
    return {"name": name, "state": {"terminated": {"exitCode": code, "finishedAt": at}}}


# Indexes


@pytest.mark.parametrize(
    ("text", "completions", "expected"),
    [
        ("", 5, set()),
        (None, 5, set()),
        ("0", 5, {0}),
        ("0,2-4", 5, {0, 2, 3, 4}),
        ("0,2-4", 3, {0, 2}),
        ("7", 5, set()),
        ("x,1,2-y,3", 5, {1, 3}),
    ],
)
def test_reading_indexes(text: str | None, completions: int, expected: set[int]) -> None:
    assert parse_indexes(text, completions) == expected


@pytest.mark.parametrize(
    ("indexes", "text"),
    [([], ""), ([3], "3"), ([1, 0], "0,1"), ([0, 1, 2], "0-2"), ([0, 1, 3, 4, 5, 9, 5], "0,1,3-5,9")],
)
def test_writing_indexes(indexes: list[int], text: str) -> None:
    assert format_indexes(indexes) == text


@given(st.sets(st.integers(0, 60)))
def test_indexes_survive_being_written_down(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes), 61) == indexes


@pytest.mark.parametrize(
    ("taken", "count", "expected"),
    [(set(), 2, [0, 1]), ({0, 2}, 2, [1, 3]), ({0, 1, 2, 3}, 2, []), ({1}, 9, [0, 2, 3])],
)
def test_pending_indexes(taken: set[int], count: int, expected: list[int]) -> None:
    assert first_pending(taken, count, 4) == expected


@pytest.mark.parametrize(("index", "expected"), [(0, 0), (2, 2), (3, None), ("-1", None), ("x", None), (None, None)])
def test_valid_index(index: int | str | None, expected: int | None) -> None:
    assert valid_index(pod(index), 3) == expected


# Back-off


@pytest.mark.parametrize(
    ("failures", "ago", "base", "expected"),
    [
        (0, 0, 10, 0),
        (1, 0, 10, 10),
        (1, 4, 10, 6),
        (1, 10, 10, 0),
        (2, 0, 10, 20),
        (3, 5, 10, 35),
        (7, 0, 10, 600),
        (99, 0, 10, 600),
        (1, -3600, 10, 0),
        (2, 0, 0.5, 1.0),
        (5, 0, 0, 0),
    ],
)
def test_backoff(failures: int, ago: float, base: float, expected: float) -> None:
    assert seconds_left(failures, NOW - timedelta(seconds=ago), NOW, base) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(phase="Failed", containerStatuses=[exited(1), exited(0, "2026-11-30T11:59:30Z")]), "2026-11-30T11:59:30Z"),
        (
            pod(
                phase="Failed",
                containerStatuses=[exited(1), {"name": "d", "state": {"running": {}}}],
                conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-30T11:58:00Z"}],
            ),
            "2026-11-30T11:58:00Z",
        ),
        (pod(deleting=True), "2026-11-30T11:59:40Z"),
        (pod(), "2026-11-30T11:00:00Z"),
    ],
)
def test_when_a_pod_ended(found: Obj, expected: str) -> None:
    assert finished_at(found) == datetime.fromisoformat(expected)


def ended(at: str) -> Obj:
    return pod(phase="Failed", containerStatuses=[exited(1, at)])


FIRST, SECOND, THIRD = (f"2026-11-30T11:59:{second}Z" for second in ("10", "20", "30"))


@pytest.mark.parametrize(
    ("record", "succeeded", "failed", "failures", "last"),
    [
        (BackoffRecord(), [], [], 0, None),
        (BackoffRecord(), [], [FIRST, SECOND], 2, SECOND),
        (BackoffRecord(3, NOW), [], [], 3, "2026-11-30T12:00:00Z"),
        (BackoffRecord(3, NOW - timedelta(hours=1)), [], [FIRST], 4, FIRST),
        (BackoffRecord(3, NOW), [FIRST], [], 0, None),
        (BackoffRecord(3, NOW), [SECOND], [FIRST, THIRD], 1, THIRD),
        (BackoffRecord(), [], ["2026-11-30T13:00:00Z"], 1, "2026-11-30T12:00:00Z"),
    ],
)
def test_backoff_record(
    record: BackoffRecord, succeeded: list[str], failed: list[str], failures: int, last: str | None
) -> None:
    found = next_record(record, map(ended, succeeded), map(ended, failed), NOW)
    assert found == BackoffRecord(failures, datetime.fromisoformat(last) if last else None)


# podFailurePolicy


def exit_rule(action: str, operator: str, *values: int, container: str | None = None) -> Obj:
    requirement = {"operator": operator, "values": list(values)}
    return {"action": action, "onExitCodes": requirement | ({"containerName": container} if container else {})}


DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("rules", "found", "action"),
    [
        ([], pod(phase="Failed"), "Count"),
        ([exit_rule("FailJob", "In", 42)], pod(containerStatuses=[exited(42)]), "FailJob"),
        ([exit_rule("FailJob", "In", 42)], pod(containerStatuses=[exited(1)]), "Count"),
        ([exit_rule("Ignore", "NotIn", 1)], pod(containerStatuses=[exited(2)]), "Ignore"),
        ([exit_rule("Ignore", "NotIn", 1)], pod(containerStatuses=[exited(0)]), "Count"),
        ([exit_rule("FailJob", "In", 42, container="d")], pod(containerStatuses=[exited(42)]), "Count"),
        ([exit_rule("FailIndex", "In", 42)], pod(initContainerStatuses=[exited(42)]), "FailIndex"),
        ([DISRUPTED], pod(conditions=[{"type": "DisruptionTarget", "status": "True"}]), "Ignore"),
        ([DISRUPTED], pod(conditions=[{"type": "DisruptionTarget", "status": "False"}]), "Count"),
        ([exit_rule("Count", "In", 42), exit_rule("FailJob", "In", 42)], pod(containerStatuses=[exited(42)]), "Count"),
    ],
)
def test_pod_failure_policy(rules: list[Obj], found: Obj, action: str) -> None:
    assert failure_policy.match({"rules": rules}, found).action == action


def test_words_of_a_failed_job() -> None:
    rules = {"rules": [DISRUPTED | {"action": "FailJob"}]}
    found = failure_policy.match(rules, pod(conditions=[{"type": "DisruptionTarget", "status": "True"}]))
    assert found.message == "Pod team-a/p-0- has condition DisruptionTarget matching FailJob rule at index 0"


# Pods


@pytest.mark.parametrize(
    ("found", "spec", "bucket"),
    [
        (pod(), {}, {"active"}),
        (pod(phase="Running"), {}, {"active"}),
        (pod(phase="Succeeded"), {}, {"new_succeeded"}),
        (pod(phase="Succeeded", counted=True), {}, set()),
        (pod(phase="Failed"), {}, {"new_failed"}),
        (pod(phase="Failed", counted=True), {}, set()),
        (pod(deleting=True), {}, {"terminating", "new_failed"}),
        (pod(deleting=True, counted=True), {}, {"terminating"}),
        (pod(deleting=True), {"podReplacementPolicy": "Failed"}, {"terminating"}),
        (pod(deleting=True, phase="Failed"), {"podReplacementPolicy": "Failed"}, {"new_failed"}),
        (pod(deleting=True, phase="Succeeded"), {}, {"new_succeeded"}),
        (pod(7, phase="Succeeded"), {}, set()),
        (pod(None, phase="Succeeded"), {"completionMode": "NonIndexed"}, {"new_succeeded"}),
    ],
)
def test_sorting_pods(found: Obj, spec: Obj, bucket: set[str]) -> None:
    result = sort_pods(job(**spec), [found])
    names = ("active", "terminating", "new_succeeded", "new_failed")
    assert {name for name in names if getattr(result, name)} == bucket


@pytest.mark.parametrize(
    ("spec", "completions", "limit", "only_failed"),
    [
        ({"completionMode": "NonIndexed", "completions": None, "parallelism": None}, 1, 6, False),
        ({"completionMode": "NonIndexed", "completions": None, "parallelism": 4}, None, 6, False),
        ({"completions": 0, "parallelism": 0, "backoffLimit": 0}, 0, 0, False),
        ({"completions": None, "parallelism": 4}, 4, 6, False),
        ({"backoffLimitPerIndex": 1}, 3, 2**31 - 1, False),
        ({"podFailurePolicy": {"rules": []}}, 3, 6, False),
        ({"podFailurePolicy": {"rules": [DISRUPTED]}}, 3, 6, True),
        ({"podFailurePolicy": {"rules": [DISRUPTED]}, "podReplacementPolicy": "TerminatingOrFailed"}, 3, 6, False),
    ],
)
def test_defaults(spec: Obj, completions: int | None, limit: int, only_failed: bool) -> None:
    found = job(**spec)
    assert (completions_of(found), backoff_limit_of(found)) == (completions, limit)
    if spec.get("podFailurePolicy") != {"rules": []}:
        assert replaces_only_failed(found) is only_failed


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("pods", "too_many", "removed"),
    [
        ([pod(0, uid="a"), pod(1, uid="b")], 0, set()),
        ([pod(0, uid="a"), pod(7, uid="b"), pod(None, uid="c")], 0, {"b", "c"}),
        ([pod(0, uid="a", phase="Running"), pod(0, uid="b", node=None)], 0, {"b"}),
        ([pod(0, "Running", uid="a", **READY), pod(0, "Running", uid="b"), pod(0, "Running", uid="c")], 0, {"b", "c"}),
        ([pod(0, "Running", uid="a"), pod(1, uid="b"), pod(2, uid="c", node=None)], 2, {"b", "c"}),
        ([pod(0, uid="a", created="2026-11-30T11:00:00Z"), pod(0, uid="b", created="2026-11-30T11:30:00Z")], 0, {"b"}),
    ],
)
def test_surplus(pods: list[Obj], too_many: int, removed: set[str]) -> None:
    assert {found["metadata"]["uid"] for found in surplus(job(), pods, too_many)} == removed


# Limits per index


def counted(index: int, failures: int, code: int = 1, ignored: int = 0) -> Obj:
    prefix = "batch.kubernetes.io/job-index"
    annotations = {f"{prefix}-failure-count": str(failures), f"{prefix}-ignored-failure-count": str(ignored)}
    return pod(
        index, "Failed", uid=f"{index}-{failures}-{ignored}", annotations=annotations, containerStatuses=[exited(code)]
    )


RULES = {"rules": [exit_rule("FailIndex", "In", 42), exit_rule("Ignore", "In", 7)]}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (counted(0, 0), set()),
        (counted(0, 1), {0}),
        (counted(1, 0, 42), {1}),
        (counted(1, 9, 7), set()),
        (counted(8, 9), set()),
    ],
)
def test_failed_indexes(found: Obj, expected: set[int]) -> None:
    assert newly_failed_indexes(job(backoffLimitPerIndex=1, podFailurePolicy=RULES), [found]) == expected


def test_a_replacement_carries_the_count_on() -> None:
    limited = job(backoffLimitPerIndex=3, podFailurePolicy=RULES)
    found = awaiting_replacement(limited, [counted(0, 0), counted(0, 1), counted(1, 0), counted(2, 0, 7)], {1})
    assert {index: p["metadata"]["uid"] for index, p in found.items()} == {0: "0-1-0", 2: "2-0-0"}
    assert failures_after(limited, found[0]) == (2, 0)
    assert failures_after(limited, found[2]) == (0, 1)
    assert failures_after(limited, None) == (0, 0)


# Success and failure of the whole


@pytest.mark.parametrize(
    ("rules", "succeeded", "expected"),
    [
        ([], {0}, None),
        ([{"succeededIndexes": "0"}], {1}, None),
        ([{"succeededIndexes": "0,2-3"}], {0, 2}, None),
        ([{"succeededIndexes": "0,2-3"}], {0, 2, 3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0,2-3", "succeededCount": 2}], {0, 3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "9"}, {"succeededCount": 2}], {1, 4}, "Matched rules at index 1"),
        ([{"succeededCount": 1}], set(), None),
    ],
)
def test_success_policy(rules: list[Obj], succeeded: set[int], expected: str | None) -> None:
    assert met_rule({"rules": rules}, succeeded, 5) == expected


@pytest.mark.parametrize(
    ("spec", "status", "pods", "failures", "reason"),
    [
        ({}, {}, [], 6, None),
        ({}, {}, [], 7, "BackoffLimitExceeded"),
        ({"backoffLimit": 0}, {}, [], 1, "BackoffLimitExceeded"),
        ({"activeDeadlineSeconds": 60}, {"startTime": "2026-11-30T11:59:00Z"}, [], 0, "DeadlineExceeded"),
        ({"activeDeadlineSeconds": 61}, {"startTime": "2026-11-30T11:59:00Z"}, [], 0, None),
        ({"activeDeadlineSeconds": 60, "suspend": True}, {"startTime": "2026-11-30T11:59:00Z"}, [], 0, None),
        (
            {"podFailurePolicy": {"rules": [exit_rule("FailJob", "In", 3)]}},
            {},
            [pod(0, "Failed", containerStatuses=[exited(3)])],
            1,
            "PodFailurePolicy",
        ),
        (
            {"podFailurePolicy": {"rules": [exit_rule("FailJob", "In", 3)]}},
            {},
            [pod(0, "Running", containerStatuses=[exited(3)])],
            0,
            None,
        ),
    ],
)
def test_failure_of_the_whole(spec: Obj, status: Obj, pods: list[Obj], failures: int, reason: str | None) -> None:
    found = verdict.failed_for_all(job(status=status, **spec), pods, failures, NOW)
    assert (found.reason if found else None) == reason


@pytest.mark.parametrize(
    ("limit", "restarts", "policy", "over"),
    [
        (0, 0, "OnFailure", False),
        (0, 1, "OnFailure", True),
        (2, 1, "OnFailure", False),
        (2, 2, "OnFailure", True),
        (2, 9, "Never", False),
    ],
)
def test_restarts_in_place_count(limit: int, restarts: int, policy: str, over: bool) -> None:
    template = {"spec": {"containers": [], "restartPolicy": policy}}
    running = pod(0, "Running", containerStatuses=[{"name": "c", "restartCount": restarts}])
    finished = pod(1, "Succeeded", containerStatuses=[{"name": "c", "restartCount": 99}])
    found = verdict.failed_for_all(job(template=template, backoffLimit=limit), [running, finished], 0, NOW)
    assert (found is not None) is over


@pytest.mark.parametrize(
    ("most", "succeeded", "failed", "reason"),
    [
        (None, {0}, {1}, None),
        (None, {0, 2}, {1}, "FailedIndexes"),
        (None, {0, 1, 2}, set(), None),
        (0, set(), {1}, "MaxFailedIndexesExceeded"),
        (1, set(), {1}, None),
    ],
)
def test_failure_by_index(most: int | None, succeeded: set[int], failed: set[int], reason: str | None) -> None:
    found = verdict.failed_by_index(job(backoffLimitPerIndex=1, maxFailedIndexes=most), succeeded, failed)
    assert (found.reason if found else None) == reason


# The pod


def test_an_indexed_pod() -> None:
    template = {
        "metadata": {"labels": {"mine": "1"}, "annotations": {"note": "2"}},
        "spec": {
            "containers": [{"name": "c", "env": [{"name": "A"}]}],
            "initContainers": [{"name": "i", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "9"}]}],
        },
    }
    found = build_pod(job(template=template), 2, (1, 0))
    metadata, spec = found["metadata"], found["spec"]
    assert metadata["generateName"] == "j-2-"
    assert metadata["labels"] == {
        "mine": "1",
        "batch.kubernetes.io/controller-uid": "u-job",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u-job",
        "job-name": "j",
        "batch.kubernetes.io/job-completion-index": "2",
    }
    prefix = "batch.kubernetes.io/job"
    assert metadata["annotations"] == {
        "note": "2",
        f"{prefix}-completion-index": "2",
        f"{prefix}-index-failure-count": "1",
    }
    assert metadata["finalizers"] == [TRACKING]
    assert metadata["ownerReferences"][0]["uid"] == "u-job"
    assert spec["hostname"] == "j-2"
    assert [entry["name"] for entry in spec["containers"][0]["env"]] == ["A", "JOB_COMPLETION_INDEX"]
    assert spec["initContainers"][0]["env"] == [{"name": "JOB_COMPLETION_INDEX", "value": "9"}]
    assert template["spec"]["containers"][0]["env"] == [{"name": "A"}], "the template stays as it is"


def test_long_names_keep_the_index() -> None:
    assert build_pod(job("x" * 60), 12)["metadata"]["generateName"] == "x" * 54 + "-12-"
    assert build_pod(job("x" * 60, completionMode="NonIndexed"))["metadata"]["generateName"] == "x" * 58
    assert "hostname" not in build_pod(job(completionMode="NonIndexed"))["spec"]
