"""Strategic merge of runtime patches, and what is wrong with them."""

import copy

import pytest

from jobs.builders import BuildError, build
from jobs.builders.patches import apply_patches, check_patches, strategic_merge
from tests.unit.builders.samples import REAL, one, pod, rjob, runtime, trainjob

MERGES = [
    ("maps merge", {"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
    ("null changes nothing", {"a": {"x": 1}}, {"a": {"x": None}}, {"a": {"x": 1}}),
    ("atomic lists are replaced", {"tolerations": [1, 2]}, {"tolerations": [3]}, {"tolerations": [3]}),
    (
        "an element merges by its key",
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"env": [{"name": "B", "value": "3"}]},
        {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]},
    ),
    (
        "a new element goes to the front",
        {"containers": [{"name": "node"}]},
        {"containers": [{"name": "side"}]},
        {"containers": [{"name": "side"}, {"name": "node"}]},
    ),
    (
        "mounts merge by path",
        {"volumeMounts": [{"mountPath": "/a", "name": "x"}]},
        {"volumeMounts": [{"mountPath": "/a", "name": "y"}]},
        {"volumeMounts": [{"mountPath": "/a", "name": "y"}]},
    ),
    (
        "patched elements stand in the order of the patch",
        {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"containers": [{"name": "c", "image": "i"}, {"name": "a"}]},
        {"containers": [{"name": "b"}, {"name": "c", "image": "i"}, {"name": "a"}]},
    ),
    ("the same key twice in a patch", {"env": []}, {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
     {"env": [{"name": "A", "value": "2"}]}),
    ("a list where there was none", {}, {"env": [{"name": "A"}]}, {"env": [{"name": "A"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("original", "patch", "merged"), [m[1:] for m in MERGES], ids=[m[0] for m in MERGES])
def test_merge(original, patch, merged):
    before = copy.deepcopy(original), copy.deepcopy(patch)
    assert strategic_merge(original, patch) == merged
    assert (original, patch) == before


def changes(**template):
    return {"manager": "acme.example/m", "trainingRuntimeSpec": {"template": template}}


def job_changes(name, **pod_spec):
    job = {"name": name, "template": {"spec": {"template": {"spec": pod_spec}}}}
    return changes(spec={"replicatedJobs": [job]})


def test_later_managers_win_and_jobs_keep_their_order():
    template = {"spec": {"replicatedJobs": [rjob("first"), rjob("node")]}}
    patches = [job_changes("node", nodeSelector={"pool": "a"}), job_changes("node", nodeSelector={"pool": "b"})]
    result = apply_patches(template, patches)
    names = [job["name"] for job in result["spec"]["replicatedJobs"]]
    assert names == ["first", "node"]
    assert pod(result, "node")["nodeSelector"] == {"pool": "b"}
    assert "nodeSelector" not in pod(template, "node")


def test_metadata_goes_to_the_jobset():
    patched = changes(metadata={"labels": {"a": "2", "b": "1"}, "annotations": {"c": "3"}})
    rt = runtime(rjob("node", "trainer"))
    rt["spec"]["template"]["metadata"] = {"labels": {"a": "1", "z": "1"}}
    metadata = one(build(trainjob(runtimePatches=[patched]), rt, REAL), "JobSet")["metadata"]
    assert {"a": "2", "b": "1", "z": "1"}.items() <= metadata["labels"].items()
    assert metadata["annotations"] == {"c": "3"}


WRONG = [
    ("unknown job", job_changes("nope", nodeSelector={"a": "b"}), "spec.replicatedJobs[0].name", "unknown_reference"),
    ("unknown container", job_changes("node", containers=[{"name": "x"}]), "containers[0].name", "unknown_reference"),
    ("main as init", job_changes("node", initContainers=[{"name": "node"}]), "initContainers[0].name", "unknown_reference"),
    ("volume without name", job_changes("node", volumes=[{"emptyDir": {}}]), "volumes[0].name", "required"),
    (
        "mount without path",
        job_changes("node", containers=[{"name": "node", "volumeMounts": [{"name": "v"}]}]),
        "containers[0].volumeMounts[0].mountPath",
        "required",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("patch", "path", "code"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_patches_that_fit_nothing(patch, path, code):
    rt = runtime(rjob("node", "trainer"))
    [finding] = check_patches(rt["spec"]["template"], [patch])
    assert finding.code == code
    assert finding.path.startswith("spec.runtimePatches[0].trainingRuntimeSpec.template.")
    assert finding.path.endswith(path)
    with pytest.raises(BuildError):
        build(trainjob(runtimePatches=[patch]), rt, REAL)
