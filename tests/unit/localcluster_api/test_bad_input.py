"""Whatever is sent, the answer is a refusal or an object, never a failure of ours."""

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainui.localcluster.admission import admit
from trainui.localcluster.api.bodies import parse_document, shape
from trainui.localcluster.api.protobuf import MAGIC, Unreadable, read_object
from trainui.localcluster.api.target import Target
from trainui.localcluster.api.writing import placed
from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import check_envelope, editable, merge_patch
from trainui.localcluster.ownership.apply import apply, track
from trainui.localcluster.patches.json_patch import json_patch
from trainui.localcluster.patches.strategic import strategic_merge
from trainui.localcluster.resources import KINDS
from trainui.localcluster.schema.kinds import SCHEMAS
from trainui.localcluster.store import Store

POD_SPEC = {
    "containers": [
        {
            "name": "c",
            "image": "i",
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            "ports": [{"containerPort": 80}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
    "initContainers": [{"name": "i", "image": "i"}],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "tolerations": [{"key": "k"}],
    "restartPolicy": "Never",
}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
JOB_SPEC = {"parallelism": 1, "completions": 1, "template": TEMPLATE}
PATCH_SPEC = {
    "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"volumes": []}}}}}]}
}
SAMPLES: dict[str, dict[str, Any]] = {
    "Pod": {"spec": POD_SPEC, "status": {"phase": "Running"}},
    "Job": {"spec": JOB_SPEC},
    "JobSet": {
        "spec": {
            "replicatedJobs": [{"name": "a", "template": {"spec": JOB_SPEC}}],
            "failurePolicy": {"maxRestarts": 1, "rules": [{"action": "FailJobSet"}]},
            "successPolicy": {"operator": "All"},
            "network": {"subdomain": "s"},
            "coordinator": {"replicatedJob": "a"},
            "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "c"}}]}],
        }
    },
    "TrainJob": {
        "spec": {
            "runtimeRef": {"name": "r"},
            "trainer": {"numNodes": 1, "env": [{"name": "A"}]},
            "runtimePatches": [{"manager": "a.io/b", "trainingRuntimeSpec": {"template": PATCH_SPEC}}],
            "suspend": True,
        }
    },
    "TrainingRuntime": {
        "spec": {
            "mlPolicy": {"torch": {"envInjection": {"targets": [{"jobName": "j", "containerNames": ["c"]}]}}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": JOB_SPEC}}]}},
        }
    },
    "PodGroup": {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
    "ConfigMap": {"data": {"a": "1"}, "binaryData": {"b": "MQ=="}},
    "Secret": {"data": {"a": "MQ=="}, "stringData": {"b": "1"}},
    "Service": {"spec": {"ports": [{"port": 80}], "selector": {"a": "b"}}},
    "Event": {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "Node": {"status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]}},
    "Namespace": {"spec": {"finalizers": ["x.io/y"]}},
    "ResourceQuota": {"spec": {"hard": {"pods": "1"}}},
    "PriorityClass": {"value": 1},
    "Lease": {"spec": {"holderIdentity": "x"}},
}
METADATA = {
    "name": "a",
    "labels": {"a": "b"},
    "annotations": {"a": "b"},
    "finalizers": ["x.io/y"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
}

ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Set the value at a path."""
    if not path:
        return new
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> Any:
    """Return a sample of a kind with one or two values replaced by odd ones."""
    obj: Any = editable({"apiVersion": KINDS[kind].api_version, "kind": kind, "metadata": METADATA, **SAMPLES[kind]})
    for _ in range(draw(st.integers(1, 2))):
        obj = put(obj, draw(st.sampled_from(places(obj))), draw(ODD))
    return obj


def namespace_of(kind: str) -> str:
    return "default" if KINDS[kind].namespaced else ""


def submit(store: Store, kind: str, obj: Any) -> dict[str, Any]:
    """Carry out a POST as the API does."""
    check_envelope(KINDS[kind], obj, namespace_of(kind))
    shaped = shape(kind, obj, "").obj
    return store.create(kind, track(kind, None, placed(Target(KINDS[kind], namespace_of(kind)), shaped), "m", "t"))


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_samples_are_taken(kind: str) -> None:
    obj = {"metadata": {**METADATA, "ownerReferences": []}, **editable(SAMPLES[kind])}
    assert submit(Store(admit=admit), kind, obj)["metadata"]["uid"]


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_any_object(kind: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(damaged(kind))
    def refused_or_stored(obj: Any) -> None:
        store = Store(admit=admit)
        with contextlib.suppress(ApiError):
            made = submit(store, kind, obj)
            store.delete(kind, namespace_of(kind), made["metadata"]["name"], grace=0)

    refused_or_stored()


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_any_patch(kind: str) -> None:
    store = Store(admit=admit)
    sample = editable({"metadata": {**METADATA, "finalizers": []}, **SAMPLES[kind]})
    live = submit(store, kind, sample)
    target = Target(KINDS[kind], namespace_of(kind), "a")

    @settings(max_examples=60, deadline=None)
    @given(
        damaged(kind),
        st.sampled_from(["merge", "strategic", "apply", "json", "put"]),
        st.sampled_from([None, "status"]),
    )
    def refused_or_stored(body: Any, how: str, part: str | None) -> None:
        if not isinstance(body, dict):
            return
        with contextlib.suppress(ApiError), store.rehearsal():
            if how == "apply":
                check_envelope(KINDS[kind], body, namespace_of(kind), "a")
                new = apply(kind, live, shape(kind, body, "").obj, "n", "t", force=True, subresource=part or "")
            else:
                if how == "merge":
                    patched: Any = merge_patch(live, body)
                elif how == "strategic":
                    patched = strategic_merge(SCHEMAS[kind], live, body)
                elif how == "json":
                    patched = json_patch(live, [{"op": "replace", "path": "/metadata", "value": body.get("metadata")}])
                else:
                    patched = body
                check_envelope(KINDS[kind], patched, namespace_of(kind), "a")
                new = track(kind, live, placed(target, shape(kind, patched, "").obj), "n", "t", part or "")
            store.update(kind, placed(target, new), part if KINDS[kind].status else None)

    refused_or_stored()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", MAGIC, MAGIC + b"\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12"]))
def test_any_protobuf(body: bytes, start: bytes) -> None:
    with contextlib.suppress(Unreadable):
        assert isinstance(read_object(start + body), dict)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=60) | st.text(max_size=60).map(str.encode),
    st.sampled_from(["application/json", "application/yaml"]),
)
def test_any_text(body: bytes, media: str) -> None:
    with contextlib.suppress(ApiError):
        parse_document(body, media)
