"""The recorded answers of a real API server with the Trainer's and JobSet's CRDs and JobSet's webhook."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest

from tests.shared_data import shared_file, shared_json
from trainui.localcluster.admission import admit
from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import editable, merge_patch
from trainui.localcluster.store import Store

ADMISSION = shared_json("conformance/admission.json")
OBJECTS = [case for case in shared_json("conformance/objects.json") if case.get("jobSetApplied")]

STRICTER = {
    # numbers below the least that later releases of the CRDs allow
    *("adm-trainer-003", "adm-trainer-008", "adm-trainer-009", "adm-runtime-policy-020", "adm-runtime-policy-025"),
    # a volume without a name and a mount without a path: accepted upstream, and refused by the Job later
    *("adm-patch-039", "adm-patch-040"),
}
NEGATIVE = {"obj-torch-074", "obj-plain-046", "obj-mpi-068"}
"""JobSets with a negative number of pods: accepted upstream, then no Job can be made of them."""


def _evaluator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("must", shared_file("conformance/must.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MUST = _evaluator()


def _store(case: dict[str, Any]) -> Store:
    store = Store(admit=admit)
    store.create("Namespace", {"metadata": {"name": "team-a"}})
    for obj in case.get("setup") or []:
        store.create(obj["kind"], obj)
    return store


def _carry_out(case: dict[str, Any]) -> tuple[int, set[str], dict[str, Any]]:
    store = _store(case)
    kind = case["kind"]
    try:
        if case["op"] == "create":
            return 201, set(), store.create(kind, case["object"])
        old = store.create(kind, case["old"])
        new = merge_patch(old, case["patch"])
        return 200, set(), store.update(kind, new, "status" if case["op"] == "updateStatus" else None)
    except ApiError as error:
        return error.code, {cause.field for cause in error.causes}, {}


@pytest.mark.parametrize("case", [c for c in ADMISSION if not c.get("query")], ids=lambda case: case["id"])
def test_admission(case: dict[str, Any]) -> None:
    code, fields, stored = _carry_out(case)
    verdict = case["verdict"]
    if verdict["accepted"] and case["id"] not in STRICTER:
        assert code < 300, fields
        if "stored" in case:
            assert MUST.diff(case["stored"], stored.get("spec")) == []
        if "storedStatus" in case:
            assert MUST.diff(case["storedStatus"], stored.get("status")) == []
    elif verdict.get("stage") == "schema":
        assert code == verdict["code"]
        assert fields - {""} == {cause["field"] for cause in verdict["causes"]} - {""}
    elif case["id"] in STRICTER:
        assert code == 422
    # The Trainer's own webhook (stage "webhook") is not part of an API server: trainui's validator is, in its own tests.


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case["id"])
def test_jobset_defaults(case: dict[str, Any]) -> None:
    applied = editable(case["jobSetApplied"])
    for owner in applied["metadata"].get("ownerReferences", []):
        owner["uid"] = "0"
    store = _store({})
    if case["id"] in NEGATIVE:
        with pytest.raises(ApiError, check=lambda error: error.code == 422):
            store.create("JobSet", applied)
        return
    recorded = next(obj for obj in case["objects"] if obj["kind"] == "JobSet")
    assert MUST.diff(recorded["spec"], store.create("JobSet", applied)["spec"]) == []
