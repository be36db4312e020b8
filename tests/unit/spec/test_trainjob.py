import datetime
from typing import Any

import pytest

from jobs.spec.admission import review_create, review_runtime, review_status, review_update
from jobs.spec.defaults import default_trainjob
from jobs.spec.validation import validate_status, validate_trainjob, validate_update
from tests.unit.spec.samples import Obj, mpi_runtime, replicated_job, runtime, trainjob

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
LATER = NOW + datetime.timedelta(hours=1)
TORCH = runtime({"torch": {}})


def errors(job: Obj, of: Obj | None = TORCH, **more: Any) -> list[tuple[str, str]]:
    return [(f.path, f.code) for f in validate_trainjob(job, of, **more).errors]


def checks(job: Obj, of: Obj | None = TORCH) -> list[tuple[str, str]]:
    return [(f.path, f.code) for f in validate_trainjob(job, of).submit_checks]


def env(*names: str) -> Obj:
    return {"trainer": {"env": [{"name": n, "value": "1"} for n in names]}}


def patched(pod: Obj, job: str = "node", manager: str = "acme.io/x") -> Obj:
    template = {"spec": {"replicatedJobs": [{"name": job, "template": {"spec": {"template": {"spec": pod}}}}]}}
    return {"runtimePatches": [{"manager": manager, "trainingRuntimeSpec": {"template": template}}]}


POD = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec"


@pytest.mark.parametrize(
    ("spec", "of", "wanted"),
    [
        ({}, TORCH, []),
        ({"runtimeRef": None}, TORCH, [("spec.runtimeRef", "required")]),
        ({"runtimeRef": {"name": ""}}, TORCH, [("spec.runtimeRef.name", "too_short")]),
        ({"runtimeRef": {"name": "rt", "kind": "Pod"}}, TORCH, [("spec.runtimeRef.kind", "unsupported_runtime")]),
        ({}, None, [("spec.runtimeRef", "runtime_not_found")]),
        ({"managedBy": "acme.io/x"}, TORCH, [("spec.managedBy", "not_supported")]),
        ({"trainer": {"numNodes": -1}}, TORCH, [("spec.trainer.numNodes", "out_of_range")]),
        ({"trainer": {"numNodes": "2"}}, TORCH, [("spec.trainer.numNodes", "wrong_type")]),
        (
            {"initializer": {"dataset": {"storageUri": "x"}}},
            None,
            [("spec.initializer.dataset.storageUri", "invalid_uri"), ("spec.runtimeRef", "runtime_not_found")],
        ),
        (env("PET_NNODES", "OK"), TORCH, [("spec.trainer.env[0].name", "reserved_env")]),
        (env("PET_NNODES"), runtime({"jax": {}}), []),
        (env("JAX_PROCESS_ID"), runtime({"jax": {}}), [("spec.trainer.env[0].name", "reserved_env")]),
        ({"trainer": {"numNodes": 2}}, mpi_runtime(), []),
        (
            {"trainer": {"numNodes": 2}},
            runtime({"mpi": {}}, replicated_job("launcher", "trainer")),
            [("spec.trainer.numNodes", "out_of_range")],
        ),
        (
            {"trainer": {"resourcesPerNode": {"limits": {"cpu": "-1"}}}},
            TORCH,
            [("spec.trainer.resourcesPerNode.limits.cpu", "negative")],
        ),
        ({}, runtime({"torch": {}, "jax": {}}), [("spec.runtimeRef", "runtime_invalid")]),
        ({"initializer": {"model": {}}}, TORCH, [("spec.runtimeRef", "initializer_missing")]),
        ({"runtimePatches": [{"manager": "kueue"}]}, TORCH, [("spec.runtimePatches[0].manager", "invalid_name")]),
        (patched({"containers": [{"name": "gone"}]}), TORCH, [(f"{POD}.containers[0].name", "unknown_reference")]),
        (
            patched({"initContainers": [{"name": "node"}]}),
            TORCH,
            [(f"{POD}.initContainers[0].name", "unknown_reference")],
        ),
        (
            patched({"containers": [{"name": "node", "env": [{"name": "A"}]}]}),
            TORCH,
            [(f"{POD}.containers[0].env", "forbidden")],
        ),
        (patched({"volumes": [{"emptyDir": {}}]}), TORCH, [(f"{POD}.volumes[0].name", "required")]),
    ],
)
def test_errors(spec: Obj, of: Obj | None, wanted: list[tuple[str, str]]) -> None:
    assert errors(trainjob(spec), of) == wanted


def test_a_patch_for_an_unknown_job_names_it() -> None:
    assert errors(trainjob(patched({}, job="gone"))) == [
        (POD.split(".template.spec.template")[0] + ".name", "unknown_reference")
    ]


def initializer(step: str, name: str = "", mounts: list[Obj] | None = None, uri: str = "hf://a/b") -> Obj:
    mounts = [{"name": "initializer", "mountPath": "/workspace"}] if mounts is None else mounts
    container = {"name": step, "env": [{"name": "STORAGE_URI", "value": uri}], "volumeMounts": mounts}
    return replicated_job(name or step, step, container)


@pytest.mark.parametrize(
    ("job", "uri", "accepted"),
    [
        (initializer("dataset-initializer"), "hf://x", True),
        (initializer("dataset-initializer", "prepare"), "hf://x", True),
        (initializer("dataset-initializer", mounts=[]), "hf://x", False),
        (initializer("dataset-initializer", mounts=[]), "cache://s/t", True),
        (initializer("dataset-initializer", mounts=[], uri="cache://s/t"), None, True),
        (initializer("model-initializer"), "hf://x", False),
    ],
)
def test_dataset_initializers(job: Obj, uri: str | None, accepted: bool) -> None:
    of = runtime({"torch": {}}, job, replicated_job("node", "trainer"))
    spec = {"initializer": {"dataset": {"storageUri": uri} if uri else {}}}
    assert (errors(trainjob(spec), of) == []) == accepted


def tune(
    *args: str, name: str = "torchtune-llama3.2-1b", resources: Obj | None = None, **trainer: Any
) -> list[tuple[str, str]]:
    of = runtime({"torch": {}}, replicated_job("node", "trainer", {"resources": resources or {}}))
    of["metadata"]["name"] = name
    spec = {"runtimeRef": {"name": name}, "trainer": {"command": ["tune", "run"], "args": list(args), **trainer}}
    return errors(trainjob(spec), of)


GPU2 = {"limits": {"nvidia.com/gpu": 2}}
QLORA = ("model.lora_attn_modules=[q_proj]", "model.quantize_base=True")


def test_torchtune() -> None:
    nodes, model = ("spec.trainer.numNodes", "out_of_range"), ("spec.runtimeRef.name", "not_supported")
    assert tune() == []
    assert tune(name="torchtune-gemma2-2b") == [model]
    assert tune(numNodes=2) == [nodes]
    assert tune(name="torchtune-llama3.3-70b", numNodes=2) == []
    assert tune("model.lora_attn_modules=x", name="torchtune-llama3.3-70b", numNodes=2) == [nodes]
    assert tune("epochs=1", "output_dir=/x") == [("spec.trainer.args[1]", "reserved_argument")]
    assert tune(*QLORA, name="torchtune-qwen2.5-1.5b") == [model]
    assert tune(*QLORA) == []
    assert len(tune(*QLORA, resources=GPU2)) == 2
    assert tune(*QLORA, "model.use_dora=True", resources=GPU2) == []
    assert tune(*QLORA, resources=GPU2, numProcPerNode=1) == []
    assert tune(*QLORA, resources=GPU2, resourcesPerNode={"limits": {"nvidia.com/gpu": 1}}) == []


def test_our_annotation_names_the_model_where_the_runtime_does_not() -> None:
    of = runtime({"torch": {}})
    job = trainjob({"trainer": {"command": ["tune", "run"]}})
    assert errors(job, of) == [("spec.runtimeRef.name", "not_supported")]
    job["metadata"]["annotations"] = {"trainui.dev/torchtune-model": "gemma2/2B"}
    assert errors(job, of) == []


def test_priority_classes_count_only_where_they_are_known() -> None:
    node = replicated_job("node", "trainer")
    node["template"]["spec"]["template"]["spec"]["priorityClassName"] = "high"
    of = runtime({"torch": {}}, node, podGroupPolicy={"volcano": {}})
    assert errors(trainjob(), of) == []
    assert errors(trainjob(), of, priority_classes=["high"]) == []
    assert errors(trainjob(), of, priority_classes=[]) == [("spec.runtimeRef", "unknown_reference")]


@pytest.mark.parametrize(
    ("spec", "metadata", "wanted"),
    [
        ({"trainer": {"numNodes": 0}}, {}, [("spec.trainer.numNodes", "out_of_range")]),
        ({"trainer": {"image": ""}}, {}, [("spec.trainer.image", "invalid")]),
        ({"trainer": {"image": "a b"}}, {}, [("spec.trainer.image", "invalid")]),
        ({"trainer": {"gpus": 1}}, {}, [("spec.trainer.gpus", "unknown_field")]),
        (env("A B"), {}, [("spec.trainer.env[0].name", "invalid_env_name")]),
        (
            {"trainer": {"env": [{"name": "A", "value": "", "valueFrom": {}}]}},
            {},
            [("spec.trainer.env[0].valueFrom", "conflict")],
        ),
        (
            {"trainer": {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]}},
            {},
            [("spec.trainer.env[0].valueFrom.secretKeyRef", "required")],
        ),
        (
            {"trainer": {"resourcesPerNode": {"requests": {"nvidia.com/gpu": 1}}}},
            {},
            [("spec.trainer.resourcesPerNode.requests[nvidia.com/gpu]", "extended_resource_limit_required")],
        ),
        ({"trainer": {"args": ["a" * 131_071]}}, {}, []),
        ({"trainer": {"args": ["a", "a" * 131_072]}}, {}, [("spec.trainer.args[1]", "too_large")]),
        ({"trainer": {"command": ["é" * 65_536]}}, {}, [("spec.trainer.command[0]", "too_large")]),
        ({}, {"labels": {"a b": "x"}}, [("metadata.labels[a b]", "invalid_name")]),
        ({}, {"labels": {"a": "x y"}}, [("metadata.labels[a]", "invalid_name")]),
        (
            {},
            {"annotations": {"trainui.dev/num-nodes": "0"}},
            [("metadata.annotations[trainui.dev/num-nodes]", "out_of_range")],
        ),
        ({}, {"name": "n" * 49}, [("metadata.name", "too_long")]),
        ({}, {"name": None, "generateName": "n" * 44}, [("metadata.generateName", "too_long")]),
        ({"trainer": {"numNodes": 11}}, {"name": "n" * 48}, [("metadata.name", "too_long")]),
        ({}, {"name": "n" * 48, "annotations": {"trainui.dev/num-nodes": "11"}}, [("metadata.name", "too_long")]),
        (
            patched({"tolerations": [{"key": "a", "operator": "Maybe", "effect": "No"}]}),
            {},
            [(f"{POD}.tolerations[0].operator", "not_supported"), (f"{POD}.tolerations[0].effect", "not_supported")],
        ),
        (patched({"nodeSelector": {"a b": "x"}}), {}, [(f"{POD}.nodeSelector[a b]", "invalid_name")]),
        (patched({"volumes": [{"name": "V"}]}), {}, [(f"{POD}.volumes[0].name", "invalid_name")]),
    ],
)
def test_submit_checks(spec: Obj, metadata: Obj, wanted: list[tuple[str, str]]) -> None:
    job = trainjob(spec, **metadata)
    assert errors(job) == []
    assert checks(job) == wanted


def test_resources_are_judged_laid_over_those_of_the_runtime() -> None:
    of = runtime({"torch": {}}, replicated_job("node", "trainer", {"resources": {"limits": {"cpu": 1}}}))
    job = trainjob({"trainer": {"resourcesPerNode": {"requests": {"cpu": 2}}}})
    assert checks(job, of) == [("spec.trainer.resourcesPerNode.requests.cpu", "request_exceeds_limit")]


def test_defaults() -> None:
    stored = default_trainjob(trainjob({"x": 1, "trainer": None, "runtimePatches": [{"manager": "a.b/c"}]}), NOW)
    assert stored["spec"] == {
        "runtimeRef": {"name": "rt", "apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime"},
        "runtimePatches": [{"manager": "a.b/c", "time": "2026-05-01T12:00:00Z"}],
        "suspend": False,
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
    }
    assert default_trainjob(stored, LATER, stored) == stored


def update(old_spec: Obj, new_spec: Obj, jobset: Obj | None = None, of: Obj | None = TORCH) -> list[tuple[str, str]]:
    old = default_trainjob(trainjob(old_spec), NOW)
    new = default_trainjob(trainjob(new_spec), LATER, old)
    return [(f.path, f.code) for f in validate_update(old, new, of, jobset).errors]


ACTIVE = {"status": {"replicatedJobsStatus": [{"name": "node", "active": 1}]}}
SELECT = {"suspend": True, **patched({"nodeSelector": {"a": "1"}})}


@pytest.mark.parametrize(
    ("old", "new", "jobset", "wanted"),
    [
        ({}, {"suspend": True}, ACTIVE, []),
        ({}, {"trainer": {"numNodes": 2}}, None, [("spec.trainer", "immutable")]),
        ({}, {"trainer": {}}, None, []),
        ({"trainer": {"numNodes": 2}}, {}, None, [("spec.trainer", "immutable")]),
        ({}, {"activeDeadlineSeconds": 5}, None, [("spec.activeDeadlineSeconds", "immutable")]),
        ({}, {"managedBy": "kueue.x-k8s.io/multikueue"}, None, [("spec.managedBy", "immutable")]),
        ({}, patched({}), None, [("spec.runtimePatches", "forbidden")]),
        ({}, SELECT, None, []),
        ({}, SELECT, ACTIVE, [("spec.runtimePatches", "forbidden")]),
        (SELECT, {**SELECT, "suspend": False}, None, []),
        (SELECT, {"suspend": False, **patched({"nodeSelector": {"a": "2"}})}, None, []),
        (
            {"suspend": True, **patched({"volumes": [{"name": "a"}]})},
            {"suspend": True, **patched({"volumes": [{"name": "b"}]})},
            None,
            [(f"{POD}.volumes", "immutable")],
        ),
        ({"suspend": True, **patched({"volumes": [{"name": "a"}]})}, {"suspend": True, **patched({})}, None, []),
        ({"trainer": {"numNodes": -1}}, {"trainer": {"numNodes": -1}, "suspend": True}, None, []),
        ({"trainer": {"numNodes": 2}}, {"trainer": {"numNodes": "2"}}, None, [("spec.trainer.numNodes", "wrong_type")]),
    ],
)
def test_updates(old: Obj, new: Obj, jobset: Obj | None, wanted: list[tuple[str, str]]) -> None:
    assert update(old, new, jobset) == wanted


def test_no_update_needs_the_runtime() -> None:
    assert update({}, {"suspend": True}, of=None) == []
    assert update(env("PET_NNODES"), {**env("PET_NNODES"), "suspend": True}) == []


def test_unknown_fields_of_a_request() -> None:
    job = trainjob({"trainer": {"gpus": 2}})
    assert review_create(job, TORCH, NOW, field_validation="Strict").stored is None
    warned = review_create(job, TORCH, NOW)
    assert [w.message for w in warned.findings.warnings] == ['unknown field "spec.trainer.gpus"']
    assert warned.stored is not None
    assert warned.stored["spec"]["trainer"] == {}
    assert review_create(job, TORCH, NOW, field_validation="Ignore").findings.warnings == []
    old = default_trainjob(trainjob(), NOW)
    assert review_update(old, {**old, "extra": 1}, TORCH, NOW, field_validation="Strict").stored is None
    assert review_update(old, {**old, "extra": 1}, TORCH, NOW).stored == old
    assert review_runtime({**TORCH, "extra": 1}, field_validation="Strict").stored is None


def test_status() -> None:
    old = default_trainjob(trainjob(), NOW)
    review = review_status(old, {"trainerStatus": {"progressPercentage": 101}})
    assert review.stored is None
    assert [(f.path, f.code) for f in review.findings.errors] == [
        ("status.trainerStatus.progressPercentage", "out_of_range"),
        ("status.trainerStatus.lastUpdatedTime", "required"),
    ]
    good = {"trainerStatus": {"progressPercentage": 5, "lastUpdatedTime": "2026-05-01T12:00:00Z"}}
    assert review_status(old, good).stored == {**old, "status": good}
    assert validate_status([]).errors


@pytest.mark.parametrize(
    "job", [None, [], "x", {}, {"spec": 1}, {"metadata": [], "spec": {}}, trainjob({"runtimePatches": [1]})]
)
@pytest.mark.parametrize(
    "of", [None, {}, {"spec": {}}, {"spec": {"template": 5}}, {"metadata": 1, "spec": {"mlPolicy": []}}]
)
def test_any_json_is_refused_and_nothing_crashes(job: Any, of: Any) -> None:
    assert validate_trainjob(job, of).errors


def test_nothing_is_changed_in_what_is_validated() -> None:
    job, of = trainjob({"trainer": {"numNodes": 2}, **SELECT}), mpi_runtime()
    before = repr((job, of))
    validate_trainjob(job, of)
    default_trainjob(job, NOW)
    validate_update(job, job, of)
    assert repr((job, of)) == before
