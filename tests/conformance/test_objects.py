"""Every recorded case of conformance/objects.json through the production build."""

import importlib.util
from typing import Any

import pytest

from jobs.builders import BuildError, Capabilities, build, generate_keys
from tests.shared_data import shared_file, shared_json

CASES = shared_json("conformance/objects.json")
_spec = importlib.util.spec_from_file_location("must", shared_file("conformance/must.py"))
assert _spec
assert _spec.loader
must = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(must)

# Upstream leaves schedulerName to the runtime.
CAPABILITIES = Capabilities(
    gang_schedulers=frozenset({"coscheduling", "volcano"}), coscheduling_scheduler="", volcano_scheduler=""
)
KEYS = generate_keys()


def built(case: dict[str, Any]) -> dict[str, Any]:
    runtime = {**(case["runtime"] or {}), "spec": case.get("runtimeStored")}
    try:
        objects = build(case["trainJob"], runtime, CAPABILITIES, KEYS)
    except BuildError as error:
        return {"objects": [], "refused": error}
    jobset = next((o for o in objects if o["kind"] == "JobSet"), None)
    return {"objects": [o for o in objects if o["kind"] != "JobSet"], "jobSetApplied": jobset}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_objects(case):
    assert must.check(case, built(case), parts=("objects", "jobSetApplied")) == []
