"""What is shown of objects: without secrets, exported, merged, with the origin of each value; and what the cluster refused."""

from typing import Any

import pytest

from jobs.spec.export import export_trainjob
from jobs.spec.manifest import dump_manifest, load_manifest
from jobs.spec.masking import MASK, is_secret, mask_argument, mask_arguments, mask_object, mask_text
from jobs.spec.merge import merge3
from jobs.spec.provenance import Origin, provenance
from jobs.spec.rejections import findings_of_status, is_final
from tests.shared_data import shared_file, shared_json
from tests.unit.spec.samples import Obj, mpi_runtime, replicated_job, runtime, trainjob

SECRETS = [
    "HF_TOKEN",
    "hfToken",
    "DB_PASSWORD",
    "API_KEY",
    "apiKey",
    "AWS_SECRET_ACCESS_KEY",
    "MYSQL_PWD",
    "SSH_PASSPHRASE",
    "token",
]
HARMLESS = [
    *(
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "EOS_TOKEN",
        "MONKEY",
        "TOKEN_FILE",
        "SECRET_NAME",
        "PARTITION_KEY",
        "PWD",
        "PATH",
    ),
    *("KEY", "NUM_TOKEN", "TOKEN_LIMIT", "AWS_ACCESS_KEY_ID", "PASSES"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_secret_names(name: str) -> None:
    assert is_secret(name, "abc")
    assert not is_secret(name, "")
    assert not is_secret(name, None)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_names(name: str) -> None:
    assert not is_secret(name, "abc")


SHAPES = [
    *(
        "hf_FAKEFAKEFAKE",
        "ghp_FAKEFAKEFAKEFAKE1234",
        "sk-FAKEFAKEFAKEFAKEFAKE",
        "AKIAFAKEFAKEFAKEFAKE",
        "glpat-FAKEFAKEFAKEFAKE",
    ),
    *("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "-----BEGIN RSA PRIVATE KEY-----\nFAKE\n-----END RSA PRIVATE KEY-----"),
]


@pytest.mark.parametrize("secret", SHAPES)
def test_secret_shapes_vanish_wherever_they_stand(secret: str) -> None:
    assert is_secret("NOTE", f"x {secret} y")
    assert mask_text(f"x {secret} y") == f"x {MASK} y"
    masked, paths = mask_object(trainjob({"trainer": {"args": ["--note", secret], "image": "i"}}))
    assert secret not in str(masked)
    assert paths == ["spec.trainer.args[1]"]


def test_passwords_in_urls_and_headers() -> None:
    assert mask_text("postgres://u:FAKE@db/x") == f"postgres://u:{MASK}@db/x"
    assert mask_text("https://host:8080/a@b") == "https://host:8080/a@b"
    assert mask_text("Authorization: Bearer FAKEFAKEFAKE12") == f"Authorization: Bearer {MASK}"


def test_arguments() -> None:
    assert mask_argument("--api-key=abc") == f"--api-key={MASK}"
    assert mask_argument("HF_TOKEN=abc") == f"HF_TOKEN={MASK}"
    assert mask_argument("--max-tokens=10") == "--max-tokens=10"
    assert mask_arguments(["--token", "abc", "--token", "--x", "--token=", "b", 5]) == [
        "--token",
        MASK,
        "--token",
        "--x",
        "--token=",
        "b",
        5,
    ]


def test_masking_names_the_places_and_keeps_references() -> None:
    job = trainjob(
        {
            "trainer": {"env": [{"name": "A", "value": "1"}, {"name": "HF_TOKEN", "value": "x"}]},
            "initializer": {
                "model": {"env": [{"name": "ACCESS_TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}
            },
        },
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"},
    )
    masked, paths = mask_object(job)
    assert paths == [
        "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
        "spec.trainer.env[1].value",
    ]
    assert masked["spec"]["trainer"]["env"] == [{"name": "A", "value": "1"}, {"name": "HF_TOKEN", "value": MASK}]
    assert masked["spec"]["initializer"] == job["spec"]["initializer"]
    assert job["spec"]["trainer"]["env"][1]["value"] == "x"


def test_secrets_show_their_keys_only() -> None:
    masked, paths = mask_object({"kind": "Secret", "data": {"a.b": "eA=="}, "stringData": {"c": "d"}})
    assert masked == {"kind": "Secret", "data": {"a.b": MASK}, "stringData": {"c": MASK}}
    assert paths == ["data[a.b]", "stringData.c"]


LIVE = {
    **trainjob(
        {"trainer": {"numNodes": 2, "env": [{"name": "A", "value": "on"}]}, "suspend": False},
        uid="u",
        resourceVersion="5",
        generation=1,
        creationTimestamp="2026-01-01T00:00:00Z",
        managedFields=[{}],
        labels={"team": "a"},
        annotations={"trainui.dev/submission-id": "x"},
    ),
    "status": {"conditions": []},
}


def test_an_export_is_what_was_meant_and_names_what_it_omits() -> None:
    manifest, omitted = export_trainjob(LIVE)
    assert manifest == trainjob(LIVE["spec"], labels={"team": "a"})
    paths = {o.path for o in omitted}
    assert {
        "status",
        "metadata.uid",
        "metadata.managedFields",
        "metadata.annotations[trainui.dev/submission-id]",
    } <= paths
    assert load_manifest(dump_manifest(manifest)) == manifest
    assert export_trainjob(manifest) == (manifest, [])


def test_an_export_holds_no_secret_and_says_so() -> None:
    spec = {"trainer": {"env": [{"name": "HF_TOKEN", "value": "x"}], "args": ["--token=abc"]}}
    manifest, omitted = export_trainjob(trainjob(spec))
    assert manifest["spec"]["trainer"] == {"args": [f"--token={MASK}"]}
    assert {o.path for o in omitted} == {"spec.trainer.env[0].value", "spec.trainer.args[0]"}


JOBS = shared_json("fixtures/manifests/trainjobs.json")["cases"]


@pytest.mark.parametrize("case", JOBS, ids=lambda c: c["id"])
def test_shared_manifests_load_and_come_back(case: Obj) -> None:
    job = load_manifest(shared_file(f"fixtures/manifests/{case['input']['file']}").read_bytes())
    assert load_manifest(dump_manifest(job)) == job
    assert job["metadata"]["name"] == case["expect"]["facts"]["name"]


def test_merge_escapes_pointers_and_reports_every_conflict() -> None:
    base = {"a/b": 1, "m": {"x": 1, "y": 1}, "gone": 1, "l": [1]}
    mine = {"a/b": 2, "m": {"x": 2, "y": 2}, "gone": 2, "l": [1, 2], "new": 1}
    theirs = {"a/b": 3, "m": {"x": 1, "y": 3}, "l": [1, 3], "new": 2}
    merged, conflicts = merge3(base, mine, theirs)
    assert sorted(conflicts) == ["/a~1b", "/gone", "/l", "/m/y", "/new"]
    assert merged == {"a/b": 3, "m": {"x": 2, "y": 3}, "l": [1, 3], "new": 2}


def test_merge_of_additions_and_removals() -> None:
    assert merge3({"a": 1, "b": 1}, {"a": 1, "c": 1}, {"a": 1, "b": 1, "d": 1}) == ({"a": 1, "d": 1, "c": 1}, [])
    assert merge3({}, {"a": {"x": 1}}, {"a": {"y": 1}}) == ({"a": {"x": 1, "y": 1}}, [])


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (
            {
                "code": 403,
                "message": 'admission webhook "v.trainer" denied the request: spec.trainer.env: Invalid value: must not have reserved envs',
            },
            [("spec.trainer.env", "Invalid value: must not have reserved envs")],
        ),
        (
            {"code": 403, "message": "[spec.runtimeRef: Invalid value: a, b, spec.trainer.args[1]: Forbidden: no]"},
            [("spec.runtimeRef", "Invalid value: a, b"), ("spec.trainer.args[1]", "Forbidden: no")],
        ),
        (
            {
                "code": 400,
                "message": "json: cannot unmarshal string into Go struct field Trainer.spec.trainer.numNodes of type int32",
            },
            [("spec.trainer.numNodes", "must be of type int32, not string")],
        ),
        (
            {"code": 400, "message": 'strict decoding error: unknown field "spec.a", unknown field "spec.b"'},
            [("spec.a", 'unknown field "spec.a"'), ("spec.b", 'unknown field "spec.b"')],
        ),
        ({"code": 403, "message": "exceeded quota: x"}, [("", "exceeded quota: x")]),
        ({"details": {"causes": [{"field": "spec.RuntimeRef", "message": "m"}]}}, [("spec.runtimeRef", "m")]),
        ({}, [("", "the API server refused the object without a reason")]),
    ],
)
def test_refusals_of_the_cluster(status: Obj, wanted: list[tuple[str, str]]) -> None:
    found = findings_of_status(status)
    assert [(f.path, f.message) for f in found] == wanted
    assert {f.code for f in found} == {"rejected_by_cluster"}


def test_only_a_bad_request_is_final() -> None:
    assert [is_final({"code": code}) for code in (400, 422, 403, 409, 500, None)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def origins(job: Obj, of: Obj | None, parameters: dict[str, str] | None = None) -> dict[tuple[str, str], Origin]:
    return {(o.replicated_job, o.field): o for o in provenance(job, of, parameters)}


def brief(origin: Origin) -> tuple[Any, ...]:
    return origin.value, origin.source, origin.name, origin.overrides


def test_counts_come_from_default_runtime_job_or_annotation() -> None:
    nodes = ("", "nodes")
    assert brief(origins(trainjob(), runtime(None))[nodes]) == (1, "default", "", ())
    torch = runtime({"numNodes": 2, "torch": {}})
    assert brief(origins(trainjob(), torch)[nodes]) == (2, "runtime", "rt", ("default",))
    job = trainjob({"trainer": {"numNodes": 3}})
    assert brief(origins(job, torch)[nodes]) == (3, "job", "", ("default", "runtime"))
    assert brief(origins(job, torch, {"spec.trainer.numNodes": "nodes"})[nodes])[1:3] == ("parameter", "nodes")
    job["metadata"]["annotations"] = {"trainui.dev/num-nodes": "5"}
    assert brief(origins(job, torch)[nodes])[:2] == (5, "job")


@pytest.mark.parametrize(
    ("of", "trainer", "wanted"),
    [
        (runtime({"torch": {}}), {}, (1, "policy", "torch")),
        (runtime({"torch": {}}), {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}, (4, "policy", "torch")),
        (runtime({"torch": {}}), {"resourcesPerNode": {"requests": {"cpu": "2500m"}}}, (3, "policy", "torch")),
        (runtime({"torch": {}}), {"numProcPerNode": 7}, (7, "job", "")),
        (runtime({"mpi": {"numProcPerNode": 2}}), {}, (2, "runtime", "rt")),
        (
            runtime({"mpi": {"numProcPerNode": 1}}),
            {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}},
            (4, "policy", "mpi"),
        ),
        (runtime({"jax": {}}), {}, (1, "default", "")),
    ],
)
def test_processes_per_node(of: Obj, trainer: Obj, wanted: tuple[Any, ...]) -> None:
    assert brief(origins(trainjob({"trainer": trainer}), of)[("", "processes per node")])[:3] == wanted


def test_values_of_the_main_container() -> None:
    container = {
        "args": ["--token=abc"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
    }
    of = runtime({"torch": {}}, replicated_job("main", "trainer", container))
    trainer = {
        "image": "mine:2",
        "env": [{"name": "B", "value": "3"}, {"name": "HF_TOKEN", "value": "secret"}],
        "resourcesPerNode": {"limits": {"cpu": 2}},
    }
    found = origins(trainjob({"trainer": trainer}), of, {"spec.trainer.env": "environment"})
    assert brief(found[("main", "image")]) == ("mine:2", "job", "", ("runtime",))
    assert brief(found[("main", "args")]) == ([f"--token={MASK}"], "runtime", "rt", ())
    assert brief(found[("main", "env[A]")]) == ("1", "runtime", "rt", ())
    assert brief(found[("main", "env[B]")]) == ("3", "parameter", "environment", ("runtime",))
    assert found[("main", "env[HF_TOKEN]")].value == MASK
    assert brief(found[("main", "env[PET_NNODES]")])[1:3] == ("policy", "torch")
    assert brief(found[("main", "limits[cpu]")]) == (2, "job", "", ("runtime",))
    assert brief(found[("main", "limits[memory]")]) == ("1Gi", "runtime", "rt", ())


def test_initializers_and_patches() -> None:
    init = replicated_job(
        "get-data",
        "dataset-initializer",
        {"name": "dataset-initializer", "env": [{"name": "STORAGE_URI", "value": "hf://a"}]},
    )
    pod = {
        "nodeSelector": {"pool": "a"},
        "containers": [{"name": "node", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
    }

    def patch(manager: str) -> Obj:
        job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
        return {
            "manager": manager,
            "trainingRuntimeSpec": {
                "template": {"metadata": {"labels": {"l": manager}}, "spec": {"replicatedJobs": [job]}}
            },
        }

    spec = {
        "initializer": {"dataset": {"storageUri": "s3://u:FAKE@b/c", "secretRef": {"name": "s"}}},
        "runtimePatches": [patch("a.b/c"), patch("d.e/f")],
    }
    found = origins(trainjob(spec), runtime({"torch": {}}, init, replicated_job("node", "trainer")))
    uri = found[("get-data", "storage URI")]
    assert (uri.source, uri.overrides) == ("job", ("runtime",))
    assert "FAKE" not in uri.value
    assert found[("get-data", "secret")].value == "s"
    assert brief(found[("", "labels[l]")]) == ("d.e/f", "patch", "d.e/f", ("patch a.b/c",))
    assert brief(found[("node", "nodeSelector")]) == ({"pool": "a"}, "patch", "d.e/f", ("patch a.b/c",))
    assert ("node", "node volumeMounts") in found


def test_provenance_without_a_runtime() -> None:
    found = origins(trainjob({"trainer": {"image": "i"}}), None)
    assert found[("node", "image")].source == "job"
    assert origins(trainjob(), mpi_runtime())[("launcher", "image")].source == "runtime"
