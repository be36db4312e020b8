from typing import Any

import pytest

from runtimes.spec.defaults import default_runtime
from runtimes.spec.validation import validate_runtime
from tests.shared_data import shared_json
from tests.unit.spec.samples import Obj, mpi_runtime, replicated_job, runtime


def errors(obj: Obj) -> list[tuple[str, str]]:
    return [(f.path, f.code) for f in validate_runtime(obj).errors]


def checks(obj: Obj) -> list[tuple[str, str]]:
    return [(f.path, f.code) for f in validate_runtime(obj).submit_checks]


JOBS = "spec.template.spec.replicatedJobs"


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        (runtime({"torch": {}, "jax": {}}), [("spec.mlPolicy", "conflict")]),
        (runtime({"numNodes": 0}), [("spec.mlPolicy.numNodes", "out_of_range")]),
        (runtime({"flux": {"numProcPerNode": 0}}), [("spec.mlPolicy.flux.numProcPerNode", "out_of_range")]),
        (runtime({"mpi": {"numProcPerNode": 0}}), [("spec.mlPolicy.mpi.numProcPerNode", "out_of_range")]),
        (runtime({"mpi": {"sshAuthMountPath": "keys"}}), [("spec.mlPolicy.mpi.sshAuthMountPath", "invalid")]),
        (runtime({"mpi": {"mpiImplementation": "Intel"}}), [("spec.mlPolicy.mpi.mpiImplementation", "not_supported")]),
        (runtime({}, podGroupPolicy={"coscheduling": {}, "volcano": {}}), [("spec.podGroupPolicy", "conflict")]),
        (runtime({}, replicated_job("n", "trainer", replicas=2)), [(f"{JOBS}[0].replicas", "out_of_range")]),
        (
            runtime({}, replicated_job("n", "trainer", {"name": "other"})),
            [(f"{JOBS}[0].template.spec.template.spec.containers", "required")],
        ),
        ({**runtime(), "spec": None}, [("spec", "required")]),
        ({**runtime(), "metadata": {"name": "Rt"}}, [("metadata.name", "invalid_name")]),
        ({**runtime(), "metadata": {}}, [("metadata.name", "required")]),
        ({**runtime(), "metadata": {"generateName": "x-"}}, []),
        (runtime({"torch": {}}), []),
        (mpi_runtime(), []),
    ],
)
def test_errors(obj: Obj, wanted: list[tuple[str, str]]) -> None:
    assert errors(obj) == wanted


def edge(name: str) -> Obj:
    return {"dependsOn": [{"name": name, "status": "Ready"}]}


@pytest.mark.parametrize(
    ("jobs", "wanted"),
    [
        ([replicated_job("a"), replicated_job("b", **edge("a"))], []),
        ([replicated_job("a", **edge("b")), replicated_job("b")], [(f"{JOBS}[0].dependsOn[0].name", "cycle")]),
        (
            [replicated_job("a", **edge("b")), replicated_job("b", **edge("a"))],
            [(f"{JOBS}[0].dependsOn[0].name", "cycle")],
        ),
        ([replicated_job("a", **edge("a"))], [(f"{JOBS}[0].dependsOn[0].name", "cycle")]),
        (
            [replicated_job("a"), replicated_job("b", **edge("c"))],
            [(f"{JOBS}[1].dependsOn[0].name", "unknown_reference")],
        ),
    ],
)
def test_dependencies(jobs: list[Obj], wanted: list[tuple[str, str]]) -> None:
    assert errors(runtime(None, *jobs)) == wanted


def test_the_label_switches_off_the_webhook_rules_only() -> None:
    off = {"trainer.kubeflow.org/webhook-validation": "disabled"}
    obj = runtime({"numNodes": 0}, replicated_job("n", "trainer", {"name": "x"}, replicas=2))
    obj["metadata"]["labels"] = off
    assert errors(obj) == [("spec.mlPolicy.numNodes", "out_of_range")]


def test_what_jobset_would_refuse_later_is_said_with_the_runtime() -> None:
    obj = runtime({}, replicated_job("Node"), replicated_job("b", **edge("Node")))
    obj["spec"]["template"]["spec"] |= {
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["gone"]},
        "failurePolicy": {"rules": [{"name": "r", "action": "FailJobSet", "targetReplicatedJobs": ["b", "lost"]}]},
        "startupPolicy": {"startupPolicyOrder": "InOrder"},
        "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "a", "namespace": "x"}}]}],
    }
    assert errors(obj) == [
        ("spec.template.spec.startupPolicy.startupPolicyOrder", "conflict"),
        ("spec.template.spec.volumeClaimPolicies[0].templates[0].metadata.namespace", "forbidden"),
        (f"{JOBS}[0].name", "invalid_name"),
        ("spec.template.spec.successPolicy.targetReplicatedJobs[0]", "unknown_reference"),
        ("spec.template.spec.failurePolicy.rules[0].targetReplicatedJobs[1]", "unknown_reference"),
    ]


def test_submit_checks_are_unknown_fields_and_runtimes_without_jobs() -> None:
    obj = runtime({"torch": {}}, typo=1)
    obj["spec"]["template"]["spec"]["replicatedJobs"] = []
    assert checks(obj) == [("spec.typo", "unknown_field"), (JOBS, "required")]
    assert errors(obj) == []


def test_a_deprecated_cluster_runtime_warns() -> None:
    obj = runtime({"torch": {}})
    obj["metadata"]["labels"] = {"trainer.kubeflow.org/support": "deprecated"}
    assert [w.code for w in validate_runtime(obj).warnings] == ["deprecated"]
    assert validate_runtime({**obj, "kind": "TrainingRuntime"}).warnings == []


def test_nothing_is_changed_in_what_is_validated() -> None:
    obj: dict[str, Any] = mpi_runtime()
    before = repr(obj)
    validate_runtime(obj)
    default_runtime(obj)
    assert repr(obj) == before


def test_defaulting_twice_is_defaulting_once() -> None:
    once = default_runtime(mpi_runtime())
    assert default_runtime(once) == once
    assert once["spec"]["mlPolicy"]["mpi"] == {
        "runLauncherAsNode": True,
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/root/.ssh",
    }


RECORDED = [c for c in shared_json("conformance/objects.json") if c["runtime"]]


@pytest.mark.parametrize("case", RECORDED, ids=lambda c: c["id"])
def test_defaults_are_those_a_real_api_server_stored(case: Obj) -> None:
    def full(value: Any) -> Any:
        """The README's rule: an absent map or list and an empty one are equal."""
        if isinstance(value, dict):
            return {k: full(v) for k, v in value.items() if v not in ({}, [], None) or k in ("emptyDir",)}
        return [full(v) for v in value] if isinstance(value, list) else value

    assert full(default_runtime(case["runtime"])["spec"]) == full(case["runtimeStored"])


def test_no_recorded_runtime_has_unknown_fields() -> None:
    unknown = [
        (c["id"], f.path)
        for c in RECORDED
        for f in validate_runtime(c["runtime"]).submit_checks
        if f.code == "unknown_field"
    ]
    assert unknown == []
