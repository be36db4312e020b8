"""Every recorded attempt to create or change an object, through production code (shared/conformance/README.md)."""

import copy
import datetime
import re
from typing import Any

import pytest

from jobs.spec.admission import Review, review_create, review_runtime, review_status, review_update
from jobs.spec.defaults import default_trainjob, timestamp
from runtimes.spec.kinds import CLUSTER_TRAINING_RUNTIME
from tests.conformance.corpus import Case, cases, evaluator

MUST = evaluator()
CASES = cases("admission")
CREATED = datetime.datetime(2026, 5, 1, 12, 0, 0, tzinfo=datetime.UTC)
NOW = CREATED + datetime.timedelta(minutes=5)
# Where the recorded field is no field of the object (a Go name, or one of the webhook's own) and ours is a real one.
OTHER_FIELDS = {
    "spec.annotations[scheduling.volcano.sh/queue-name]": ("spec.runtimeRef", "spec.runtimePatches"),
    "spec.templateSpec.priorityClassName": ("spec.runtimeRef",),
    "spec.trainer.initContainers": ("spec.runtimeRef",),
}


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def runtime_of(trainjob: dict[str, Any], setup: list[dict[str, Any]]) -> dict[str, Any] | None:
    reference = {"kind": CLUSTER_TRAINING_RUNTIME, **((trainjob.get("spec") or {}).get("runtimeRef") or {})}
    return next(
        (o for o in setup if o["kind"] == reference["kind"] and o["metadata"]["name"] == reference.get("name")), None
    )


def reviewed(case: Case) -> Review:
    """The production code's answer to the request of a case."""
    setup = case.get("setup") or []
    query = case.get("query") or {}
    validation = query.get("fieldValidation", "Warn")
    classes = [o["metadata"]["name"] for o in setup if o["kind"] == "PriorityClass"]
    if case["kind"] != "TrainJob":
        runtime = case["object"] if case["op"] == "create" else merge_patch(case["old"], case["patch"])
        return review_runtime(runtime, field_validation=validation)
    if case["op"] == "create":
        found = runtime_of(case["object"], setup)
        return review_create(case["object"], found, NOW, field_validation=validation, priority_classes=classes)
    old = default_trainjob(case["old"], NOW)
    new = merge_patch(copy.deepcopy(old), case["patch"])
    if case["op"] == "updateStatus":
        return review_status(old, new.get("status"))
    prepared = case.get("prep") or []
    gone = "the referenced runtime was deleted" in prepared
    jobset = None
    if "the JobSet reports active jobs" in prepared:
        jobset = {"status": {"replicatedJobsStatus": [{"name": "node", "active": 1}]}}
    found = None if gone else runtime_of(case["old"], setup)
    return review_update(old, new, found, NOW, jobset=jobset, priority_classes=classes)


def result_of(case: Case, review: Review) -> dict[str, Any]:
    """The answer in the shape of a case."""
    accepted = review.stored is not None
    verdict: dict[str, Any] = {"accepted": accepted}
    if not accepted:
        verdict["causes"] = [{"field": f.path, "reason": f.code, "message": f.message} for f in review.findings.errors]
    result: dict[str, Any] = {"verdict": verdict, "submit_checks": [f.path for f in review.findings.refused]}
    if review.stored is None:
        return result
    if case["op"] == "updateStatus":
        return {**result, "storedStatus": review.stored.get("status")}
    result["stored"] = review.stored.get("spec")
    metadata = {k: v for k, v in review.stored["metadata"].items() if k in ("labels", "annotations")}
    if metadata:
        result["storedMetadata"] = metadata
    if "patchTimes" in case:
        times = [patch["time"] for patch in review.stored["spec"].get("runtimePatches") or []]
        result["patchTimes"] = ["now" if time == timestamp(NOW) else time for time in times]
    return result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_admission(case: Case) -> None:
    review = reviewed(case)
    assert MUST.check(case, result_of(case, review)) == []


def names(field: str, ours: str) -> bool:
    """Whether one of our paths is at or under a recorded field. Recorded fields leave out indexes when the webhook decodes."""

    def plain(path: str) -> str:
        return re.sub(r"\[\d+\]", "", path).lower()

    wanted = OTHER_FIELDS.get(field, (field,))
    return any(plain(ours).startswith(plain(w)) or plain(w).startswith(plain(ours)) for w in wanted)


REFUSED = [c for c in CASES if not c["verdict"]["accepted"] and "must" not in c]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_every_recorded_cause_is_found_at_its_field(case: Case) -> None:
    paths = [finding.path for finding in reviewed(case).findings.errors]
    missing = [c["field"] for c in case["verdict"].get("causes") or [] if not any(names(c["field"], p) for p in paths)]
    assert missing == [], paths


ACCEPTED = [c for c in CASES if c["verdict"]["accepted"] and "must" not in c]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["id"])
def test_warnings_are_those_recorded(case: Case) -> None:
    warned = [finding.message for finding in reviewed(case).findings.warnings]
    assert sorted(warned) == sorted(case["verdict"].get("warnings") or [])
