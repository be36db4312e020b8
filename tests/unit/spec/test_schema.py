from typing import Any

import pytest

from jobs.spec.schema import TRAIN_JOB
from runtimes.spec.findings import Finding
from runtimes.spec.runtime_schema import RUNTIME
from runtimes.spec.schema import (
    QUANTITY,
    Schema,
    anything,
    array,
    check,
    field_path,
    flag,
    integer,
    mapping,
    obj,
    prune,
    text,
    unknown_fields,
    with_defaults,
    without_nulls,
)

SAMPLE: Schema = obj(
    {
        "count": integer(minimum=0, maximum=9),
        "big": integer("int64"),
        "name": text(minLength=1, maxLength=3),
        "mode": text(enum=["a", "b"], default="a"),
        "on": flag(),
        "when": text(format="date-time"),
        "limits": mapping(QUANTITY),
        "env": array(obj({"name": text(), "value": text()}, ["name"]), ["name"], maxItems=2, minItems=1),
        "set": array(text(), **{"x-kubernetes-list-type": "set"}),
        "nested": obj({"deep": obj({"x": integer(default=1)})}, minProperties=1),
        "free": anything(),
    },
    ["name"],
)


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"name": ""}, "name", "too_short"),
        ({"name": "abcd"}, "name", "too_long"),
        ({"count": -1}, "count", "out_of_range"),
        ({"count": 10}, "count", "out_of_range"),
        ({"count": True}, "count", "wrong_type"),
        ({"count": 1.5}, "count", "wrong_type"),
        ({"count": "1"}, "count", "wrong_type"),
        ({"count": 2**31}, "count", "wrong_type"),
        ({"big": 2**63}, "big", "wrong_type"),
        ({"mode": "c"}, "mode", "not_supported"),
        ({"on": "true"}, "on", "wrong_type"),
        ({"when": "yesterday"}, "when", "invalid"),
        ({"when": "2026-13-01T00:00:00Z"}, "when", "invalid"),
        ({"limits": {"nvidia.com/gpu": "two"}}, "limits[nvidia.com/gpu]", "invalid_quantity"),
        ({"limits": {"cpu": 1.5}}, "limits.cpu", "wrong_type"),
        ({"limits": {"cpu": True}}, "limits.cpu", "wrong_type"),
        ({"env": []}, "env", "too_few"),
        ({"env": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}, "env", "too_many"),
        ({"env": [{"name": "A"}, {"name": "A"}]}, "env[1]", "duplicate"),
        ({"env": [{"value": "x"}]}, "env[0].name", "required"),
        ({"env": [1]}, "env[0]", "wrong_type"),
        ({"env": {}}, "env", "wrong_type"),
        ({"set": ["a", "b", "a"]}, "set[2]", "duplicate"),
        ({"nested": {}}, "nested", "required"),
    ],
)
def test_one_problem(change: dict[str, Any], path: str, code: str) -> None:
    assert [(f.path, f.code) for f in check(SAMPLE, {"name": "x", **change})] == [(path, code)]


@pytest.mark.parametrize(
    "change",
    [
        {"count": 2.0},
        {"big": 2**63 - 1},
        {"when": "2026-01-01T00:00:00.123456Z"},
        {"when": "2026-01-01T00:00:00+02:00"},
        {"limits": {"cpu": 1, "memory": "1Gi"}},
        {"set": ["a", "b"]},
        {"free": {"any": [1, {"x": None}]}},
    ],
)
def test_no_problem(change: dict[str, Any]) -> None:
    assert check(SAMPLE, {"name": "x", **change}) == []


def test_wrong_types_hide_everything_else() -> None:
    found = check(SAMPLE, {"count": -1, "on": 1, "limits": []})
    assert {(f.path, f.code) for f in found} == {("on", "wrong_type"), ("limits", "wrong_type")}


def test_unknown_fields_prune_and_defaults() -> None:
    value = {"name": "x", "y": 1, "env": [{"name": "A", "z": 2}], "nested": {"deep": {}}, "free": {"q": 1}, "on": None}
    assert [field_path(keys) for keys in unknown_fields(SAMPLE, value)] == ["y", "env[0].z"]
    pruned = prune(SAMPLE, value)
    assert pruned == {"name": "x", "env": [{"name": "A"}], "nested": {"deep": {}}, "free": {"q": 1}}
    assert with_defaults(SAMPLE, pruned) == {**pruned, "nested": {"deep": {"x": 1}}, "mode": "a"}
    assert value["env"] == [{"name": "A", "z": 2}]


def test_nulls_go_from_maps_and_stay_in_lists() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None}]}) == {"b": [None, {}]}


def test_field_paths_put_odd_keys_in_brackets() -> None:
    assert field_path(["a", 0, "b-c", "x.y/z", "d"]) == "a[0].b-c[x.y/z].d"


@pytest.mark.parametrize("schema", [TRAIN_JOB, RUNTIME])
@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"metadata": 1, "spec": 2}, {"metadata": {}, "spec": []}])
def test_any_json_gets_an_answer(schema: Schema, value: Any) -> None:
    assert check(schema, value)
    prune(schema, value)
    with_defaults(schema, value)
    unknown_fields(schema, value)


def test_findings_do_not_send_overlong_input_back() -> None:
    long = "x" * 100_000
    found = check(SAMPLE, {"name": "a", "mode": long, "limits": {long: "?"}, "set": [long, long]})
    assert len(found) == 3
    assert all(len(f.path) + len(f.message) < 3000 for f in found)
    assert len(Finding(long, "x", long, {"name": long}).params["name"]) < 2000


def test_findings_of_one_object_are_not_endless() -> None:
    assert len(check(SAMPLE, {"name": "a", "env": [1] * 1000})) == 100
    assert len(unknown_fields(SAMPLE, {str(i): 1 for i in range(1000)})) == 100


def test_pointers_lead_to_the_field_of_a_path() -> None:
    paths = {
        "": "",
        "spec.trainer.env[2].name": "/spec/trainer/env/2/name",
        "metadata.labels[a.io/b~c]": "/metadata/labels/a.io~1b~0c",
        "parameters.epochs": "/parameters/epochs",
    }
    assert {path: Finding(path, "x", "").pointer for path in paths} == paths
