from typing import Any

import pytest

from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import merge_patch
from trainui.localcluster.patches.json_patch import json_patch
from trainui.localcluster.patches.strategic import strategic_merge
from trainui.localcluster.schema.kinds import SCHEMAS

DOCUMENT = {"a": {"b": [1, 2, 3]}, "x/y": 1, "m~n": 2}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/c", "value": 1}, {**DOCUMENT, "c": 1}),
        ({"op": "add", "path": "/a/b/1", "value": 9}, {**DOCUMENT, "a": {"b": [1, 9, 2, 3]}}),
        ({"op": "add", "path": "/a/b/-", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3, 9]}}),
        ({"op": "add", "path": "/a/b/3", "value": 9}, {**DOCUMENT, "a": {"b": [1, 2, 3, 9]}}),
        ({"op": "remove", "path": "/a/b/0"}, {**DOCUMENT, "a": {"b": [2, 3]}}),
        ({"op": "remove", "path": "/x~1y"}, {"a": {"b": [1, 2, 3]}, "m~n": 2}),
        ({"op": "replace", "path": "/m~0n", "value": 5}, {**DOCUMENT, "m~n": 5}),
        ({"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "x/y": 1, "m~n": 2, "c": [1, 2, 3]}),
        ({"op": "copy", "from": "/a/b/0", "path": "/a/b/-"}, {**DOCUMENT, "a": {"b": [1, 2, 3, 1]}}),
        ({"op": "test", "path": "/a/b/0", "value": 1}, DOCUMENT),
        ({"op": "replace", "path": "", "value": {"z": 1}}, {"z": 1}),
    ],
)
def test_json_patch(operation: dict[str, Any], expected: dict[str, Any]) -> None:
    assert json_patch(DOCUMENT, [operation]) == expected
    assert DOCUMENT["a"] == {"b": [1, 2, 3]}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({}, 400),
        ([1], 400),
        ([{"op": "grow", "path": "/a"}], 400),
        ([{"op": "remove", "path": ""}], 422),
        ([{"op": "replace", "path": "/none", "value": 1}], 422),
        ([{"op": "remove", "path": "/a/b/3"}], 422),
        ([{"op": "remove", "path": "/a/b/-"}], 422),
        ([{"op": "add", "path": "/a/b/4", "value": 1}], 422),
        ([{"op": "add", "path": "a", "value": 1}], 422),
        ([{"op": "add", "path": "/a"}], 422),
        ([{"op": "test", "path": "/x~1y", "value": 2}], 422),
        ([{"op": "move", "from": "/a", "path": "/a/c"}], 422),
        ([{"op": "replace", "path": "", "value": 1}], 400),
    ],
)
def test_bad_json_patches(patch: Any, code: int) -> None:
    with pytest.raises(ApiError, check=lambda error: error.code == code):
        json_patch(DOCUMENT, patch)


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ],
)
def test_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


A, B = {"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        (containers({"name": "a", "image": "2"}), containers({**A, "image": "2"}, B)),
        (containers({"name": "c"}), containers(A, B, {"name": "c"})),
        (containers({"name": "a", "$patch": "delete"}), containers(B)),
        (containers({"$patch": "replace"}, {"name": "z"}), containers({"name": "z"})),
        (containers({"name": "a", "args": ["y"]}), containers({**A, "args": ["y"]}, B)),
        (containers({"name": "a", "args": None}), containers({"name": "a", "image": "1"}, B)),
        (containers({"name": "a", "$patch": "replace"}), containers({"name": "a"}, B)),
        ({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}, containers(B, A)),
        ({"spec": {"$patch": "delete"}}, {"spec": {}}),
        ({"metadata": {"labels": {"x": "y"}}}, {**containers(A, B), "metadata": {"labels": {"x": "y"}}}),
        (
            {"metadata": {"finalizers": ["f"]}},
            {**containers(A, B), "metadata": {"finalizers": ["f"]}},
        ),
    ],
)
def test_strategic_merge(patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert strategic_merge(SCHEMAS["Pod"], containers(A, B), patch) == expected


def test_strategic_sets() -> None:
    live = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"finalizers": ["c", "a"], "$deleteFromPrimitiveList/finalizers": ["b"]}}
    assert strategic_merge(SCHEMAS["Pod"], live, patch) == {"metadata": {"finalizers": ["a", "c"]}}


def test_strategic_retained_keys() -> None:
    live = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    patch = {"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}]}}
    expected = {"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}}
    assert strategic_merge(SCHEMAS["Pod"], live, patch) == expected


@pytest.mark.parametrize("patch", [containers({"image": "1"}), {"spec": {"$patch": "twist"}}])
def test_bad_strategic_patches(patch: dict[str, Any]) -> None:
    with pytest.raises(ApiError, check=lambda error: error.code == 400):
        strategic_merge(SCHEMAS["Pod"], containers(A), patch)
