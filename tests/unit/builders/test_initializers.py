"""Initializers: URI, environment, Secret, and claims that are mounted instead of downloaded."""

import pytest

from jobs.builders import build
from tests.unit.builders.samples import REAL, env, main, one, pod, rjob, runtime, trainjob


def with_initializers():
    return runtime(
        rjob("dataset-initializer", "dataset-initializer", "dataset-initializer", env=[{"name": "STORAGE_URI", "value": "hf://a/b"}]),
        rjob("model-initializer", "model-initializer", "model-initializer", args=["x"]),
        rjob("node", "trainer"),
        policy={"torch": {}},
    )  # fmt: skip


def jobset_of(**initializer):
    return one(build(trainjob({}, initializer=initializer), with_initializers(), REAL), "JobSet")


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [("hf://x/y", "hf://x/y"), ("", "hf://a/b"), ("s3://b/p", "s3://b/p"), ("cache://s/t", "cache://s/t")],
)
def test_storage_uri(uri, wanted):
    assert env(main(jobset_of(dataset={"storageUri": uri}), "dataset-initializer"))["STORAGE_URI"] == wanted


def test_environment_and_secret():
    jobset = jobset_of(model={"env": [{"name": "E", "value": "1"}], "secretRef": {"name": "hub"}})
    target = main(jobset, "model-initializer")
    assert env(target) == {"E": "1"}
    assert target["envFrom"] == [{"secretRef": {"name": "hub"}}]
    assert "envFrom" not in main(jobset, "dataset-initializer")


@pytest.mark.parametrize(
    ("uri", "inside"), [("pvc://data/a/b", {"subPath": "a/b"}), ("pvc://data", {}), ("pvc://data/", {})]
)
def test_a_claim_is_mounted(uri, inside):
    jobset = jobset_of(model={"storageUri": uri})
    volume = {"name": "trainui-model", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}
    mounted = {"name": "trainui-model", "mountPath": "/workspace/model", "readOnly": True, **inside}
    for name in ("model-initializer", "node"):
        assert volume in pod(jobset, name)["volumes"]
        assert mounted in main(jobset, name)["volumeMounts"]
    initializer = main(jobset, "model-initializer")
    assert initializer["command"] == ["/bin/sh", "-c", "ls -d /workspace/model"]
    assert "args" not in initializer
    assert "volumes" not in pod(jobset, "dataset-initializer")
