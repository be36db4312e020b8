"""What pages make of a runtime: picture, drift, parameters, YAML."""

from decimal import Decimal
from typing import Any

import pytest
import yaml

from runtimes.drift import differences
from runtimes.spec.parameter import Choice, Parameter
from runtimes.web.cards import needs_of, paragraphs
from runtimes.web.drifts import _ABSENT, value_at
from runtimes.web.parameter_rows import parameter_rows
from runtimes.web.picture import picture_of
from runtimes.web.yaml_text import runtime_yaml


def replicated(name: str, step: str = "", **more: Any) -> dict[str, Any]:
    labels = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}}} if step else {}
    container = {"name": "node", "image": f"{name}:1", "command": ["run", "a b"], "resources": {"limits": {"cpu": 2}}}
    spec = {"spec": {"template": {"spec": {"containers": [container]}}}}
    return {"name": name, "template": {**labels, **spec}, **more}


def runtime(*jobs: dict[str, Any], policy: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"spec": {"mlPolicy": policy or {}, "template": {"spec": {"replicatedJobs": list(jobs)}}}}


def drawn(picture) -> list[list[tuple[str, str, str]]]:
    return [[(box.name, box.role, box.pods) for box in stage] for stage in picture.stages]


CASES = {
    "plain": (runtime(replicated("node", "trainer"), policy={"numNodes": 3}), [[("node", "Training nodes", "3 pods")]]),
    "initializers": (
        runtime(
            replicated("data", "dataset-initializer"),
            replicated("node", "trainer", dependsOn=[{"name": "data", "status": "Complete"}]),
            policy={"torch": {}},
        ),
        [[("data", "Dataset initializer", "1 pod")], [("node", "Training nodes", "1 pod")]],
    ),
    "mpi": (
        runtime(replicated("launcher", "trainer"), replicated("node"), policy={"numNodes": 4, "mpi": {}}),
        [[("launcher", "Launcher", "1 pod"), ("node", "Training nodes", "4 pods")]],
    ),
    "mpi, launcher trains": (
        runtime(
            replicated("launcher", "trainer"),
            replicated("node"),
            policy={"numNodes": 4, "mpi": {"runLauncherAsNode": True}},
        ),
        [[("launcher", "Launcher, trains too", "1 pod"), ("node", "Training nodes", "3 pods")]],
    ),
    "helper": (
        runtime(replicated("cache", replicas=3), replicated("node", "trainer")),
        [[("cache", "Helper", "3 pods"), ("node", "Training nodes", "1 pod")]],
    ),
    "a ring": (
        runtime(replicated("a", dependsOn=[{"name": "b"}]), replicated("b", dependsOn=[{"name": "a"}])),
        [[("a", "Helper", "1 pod"), ("b", "Helper", "1 pod")]],
    ),
    "depends on nothing there": (
        runtime(replicated("a", dependsOn=[{"name": "gone"}])),
        [[("a", "Helper", "1 pod")]],
    ),
    "nothing": ({}, []),
    "holes": ({"spec": {"template": {"spec": {"replicatedJobs": [None, {}, 3]}}}}, [[("", "Helper", "1 pod")]]),
}


@pytest.mark.parametrize(("given", "wanted"), CASES.values(), ids=CASES)
def test_pictures(given, wanted):
    assert drawn(picture_of(given)) == wanted


def test_a_box_tells_what_runs():
    box = picture_of(runtime(replicated("node", "trainer", dependsOn=[{"name": "x", "status": "Ready"}]))).stages[0][0]
    assert (box.image, box.command, box.detail) == ("node:1", "run 'a b'", [("CPU", "2")])
    assert box.waits == ["x is ready"]


PAIRS = [
    ({"a": {"b": 1}}, {"a": {"b": 2}}),
    ({"labels": {"trainer.kubeflow.org/step": "x", "trainer": 1}}, {"labels": {"trainer.kubeflow.org/step": "y", "trainer": 1}}),
    ({"jobs": [{"name": "a"}, {"x.y[0]": 1}]}, {"jobs": [{"name": "a"}, {"x.y[0]": 2}]}),
    ({"list": [1, 2]}, {"list": [1]}),
    ({"a": {"b": 1}}, {}),
    ({"a": None}, {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "found"), PAIRS)
def test_every_difference_leads_to_two_values(wanted, found):
    paths = differences(wanted, found)
    assert paths
    for path in paths:
        assert value_at(wanted, path) is not _ABSENT
        assert value_at(wanted, path) != value_at(found, path)


@pytest.mark.parametrize("path", ["x", "a.x", "l[3]", "l[0].x", "a[0]"])
def test_paths_that_lead_nowhere(path):
    assert value_at({"a": {"b": 1}, "l": [1]}, path) is _ABSENT


@pytest.mark.parametrize(
    ("parameter", "kind", "default", "limits"),
    [
        (Parameter("x", "X", "integer", default=5, minimum=Decimal(1), maximum=Decimal(9)), "integer", "5", "1 to 9"),
        (Parameter("x", "X", "integer", minimum=Decimal(1), maximum=Decimal(2**31 - 1)), "integer", "", "1 or more"),
        (Parameter("x", "X", "quantity", maximum="64Gi"), "quantity", "", "64Gi or less"),
        (Parameter("x", "X", "boolean", default=False), "boolean", "false", ""),
        (Parameter("x", "X", "choice", choices=(Choice("a", "A"), Choice("b", "B"))), "choice", "", "a · b"),
        (Parameter("x", "X", "command", default=["a", "b"]), "command line", "a b", ""),
        (Parameter("x", "X", "text", max_length=8), "text", "", "at most 8 characters"),
    ],
)
def test_parameters_in_words(parameter, kind, default, limits):
    row = parameter_rows([parameter])[0]
    assert (row.kind, row.default, row.limits) == (kind, default, limits)


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ({}, ["1 node"]),
        ({"nodes": 2, "memory": "4Gi"}, ["2 nodes", "4Gi memory per node"]),
        ({"accelerators": 8, "accelerator_resource": "nvidia.com/gpu"}, ["1 node", "8 GPUs per node"]),
        ({"accelerators": 1, "accelerator_resource": "amd.com/gpu"}, ["1 node", "1 GPU per node"]),
        ({"accelerators": 2, "accelerator_resource": "google.com/tpu"}, ["1 node", "2 google.com/tpu per node"]),
        ({"note": "A fast disk."}, ["1 node", "A fast disk."]),
    ],
)
def test_needs_in_words(needs, said):
    assert needs_of(needs) == said


def test_paragraphs():
    assert paragraphs("a\nb\n\n\n c \n") == ["a b", "c"]


def test_yaml_reads_back_without_what_the_server_added():
    given = {
        "spec": {"text": "a\n  b\n", "same": [1], "again": [1]},
        "metadata": {
            "name": "x",
            "uid": "1",
            "resourceVersion": "2",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "kind": "ClusterTrainingRuntime",
        "apiVersion": "v1",
    }
    text = runtime_yaml(given)
    assert text.startswith("apiVersion: v1\nkind: ")
    assert yaml.safe_load(text) == {
        "apiVersion": "v1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "x"},
        "spec": given["spec"],
    }
