"""What is refused: 4xx as a problem document with a pointer to each field, and nothing is stored."""

import json
from typing import Any

import pytest

from jobs.models import TrainJob
from tests.unit.api.world import API, World, manifest
from trainui.audit.models import AuditEntry

Case = tuple[Any, str, str]


def trainer(**fields: Any) -> Any:
    return manifest("new-job", **fields)


def spec(**fields: Any) -> Any:
    return manifest("new-job") | {"spec": manifest("new-job")["spec"] | fields}


def top(**fields: Any) -> Any:
    return manifest("new-job") | fields


def named(name: Any) -> Any:
    return top(metadata={"name": name, "namespace": "team-a"})


def requests(**amounts: str) -> Any:
    return trainer(resourcesPerNode={"requests": amounts})


MANIFESTS: dict[str, Case] = {
    "upper case": (named("Upper"), "/metadata/name", "invalid_name"),
    "a dot": (named("a.b"), "/metadata/name", "invalid_name"),
    "a digit first": (named("1a"), "/metadata/name", "invalid_name"),
    "empty": (named(""), "/metadata/name", "required"),
    "64 characters": (named("a" * 64), "/metadata/name", "too_long"),
    "over the budget": (named("a" * 55), "/metadata/name", "too_long"),
    "a number": (named(5), "/metadata/name", "wrong_type"),
    "no name": (top(metadata={"namespace": "team-a"}), "/metadata/name", "required"),
    "no namespace": (top(metadata={"name": "x"}), "/metadata/namespace", "required"),
    "another project": (manifest("x", "elsewhere"), "/metadata/namespace", "unknown_reference"),
    "zero nodes": (trainer(numNodes=0), "/spec/trainer/numNodes", "out_of_range"),
    "negative nodes": (trainer(numNodes=-1), "/spec/trainer/numNodes", "out_of_range"),
    "half a node": (trainer(numNodes=2.5), "/spec/trainer/numNodes", "wrong_type"),
    "nodes in words": (trainer(numNodes="two"), "/spec/trainer/numNodes", "wrong_type"),
    "too many nodes": (trainer(numNodes=10**12), "/spec/trainer/numNodes", "wrong_type"),
    "no processes": (trainer(numProcPerNode=0), "/spec/trainer/numProcPerNode", "out_of_range"),
    "cpu in words": (requests(cpu="lots"), "/spec/trainer/resourcesPerNode/requests/cpu", "invalid_quantity"),
    "two points": (requests(memory="1.5.5Gi"), "/spec/trainer/resourcesPerNode/requests/memory", "invalid_quantity"),
    "unknown unit": (requests(memory="1GB"), "/spec/trainer/resourcesPerNode/requests/memory", "unknown_unit"),
    "negative memory": (requests(memory="-1Gi"), "/spec/trainer/resourcesPerNode/requests/memory", "negative"),
    "above the limit": (
        trainer(resourcesPerNode={"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}),
        "/spec/trainer/resourcesPerNode/requests/cpu",
        "request_exceeds_limit",
    ),
    "a variable with a blank": (
        trainer(env=[{"name": "A B", "value": "x"}]),
        "/spec/trainer/env/0/name",
        "invalid_env_name",
    ),
    "a variable twice": (
        trainer(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]),
        "/spec/trainer/env/1",
        "duplicate",
    ),
    "a variable that is a number": (
        trainer(env=[{"name": "A", "value": 5}]),
        "/spec/trainer/env/0/value",
        "wrong_type",
    ),
    "NUL in a variable": (
        trainer(env=[{"name": "A", "value": "x\0y"}]),
        "/spec/trainer/env/0/value",
        "control_char",
    ),
    "NUL in an argument": (trainer(args=["x", "\0"]), "/spec/trainer/args/1", "control_char"),
    "variables as a map": (trainer(env={"A": "5"}), "/spec/trainer/env", "wrong_type"),
    "unknown field": (top(extra=1), "/extra", "unknown_field"),
    "unknown field of the spec": (spec(numNodes=3), "/spec/numNodes", "unknown_field"),
    "unknown field of the trainer": (trainer(nodes=3), "/spec/trainer/nodes", "unknown_field"),
    "unknown runtime": (spec(runtimeRef={"name": "no-such"}), "/spec/runtimeRef", "runtime_not_found"),
    "no runtime": (spec(runtimeRef=None), "/spec/runtimeRef", "required"),
    "no spec": (top(spec=None), "/spec", "required"),
    "spec is a list": (top(spec=[]), "/spec", "wrong_type"),
    "metadata is a list": (top(metadata=[]), "/metadata", "wrong_type"),
    "another kind": (top(kind="Job"), "/kind", "wrong_kind"),
    "another version": (top(apiVersion="batch/v1"), "/apiVersion", "wrong_kind"),
    "a command as text": (trainer(command="true"), "/spec/trainer/command", "wrong_type"),
    "a bad label": (
        top(metadata={"name": "x", "namespace": "team-a", "labels": {"a b": "c"}}),
        "/metadata/labels/a b",
        "invalid_name",
    ),
}
RAW: dict[str, tuple[bytes | str, str, str]] = {
    "cut JSON": (b'{"a":', "", "invalid_yaml"),
    "nothing": (b"", "", "empty_document"),
    "null": (b"null", "", "empty_document"),
    "a list": (b"[]", "", "wrong_type"),
    "a text": (b'"x"', "", "wrong_type"),
    "NaN": (b'{"a":NaN}', "", "ambiguous_scalar"),
    "bytes": (bytes(range(256)), "", "invalid_encoding"),
    "deep": (b"[" * 100_000, "", "too_complex"),
    "two documents": ("a: 1\n---\nb: 2\n", "", "multiple_documents"),
    "a key twice": ("kind: TrainJob\nkind: TrainJob\n", "/kind", "duplicate_key"),
    "a tab": ("a:\n\t- b", "", "invalid_yaml"),
    "an endless alias": ("a: &x [*x]\n", "", "too_complex"),
    "a Pod": ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "/kind", "wrong_kind"),
    "code": ("a: !!python/object/apply:os.system ['true']", "/a", "invalid_yaml"),
}


def blueprint(**fields: Any) -> dict[str, Any]:
    return {
        "project": "team-a",
        "blueprint": "plain-command",
        "name": "new-job",
        "parameters": {"script": "true"},
    } | fields


BLUEPRINTS: dict[str, Case] = {
    "unknown parameter": (blueprint(parameters={"nope": 1}), "/parameters/nope", "unknown_parameter"),
    "zero nodes": (blueprint(parameters={"nodes": 0}), "/parameters/nodes", "out_of_range"),
    "nodes in words": (blueprint(parameters={"nodes": "two"}), "/parameters/nodes", "invalid_number"),
    "cpu in words": (blueprint(parameters={"cpu": "lots"}), "/parameters/cpu", "invalid_quantity"),
    "negative memory": (blueprint(parameters={"memory": "-1Gi"}), "/parameters/memory", "negative"),
    "a variable with a blank": (
        blueprint(parameters={"environment": "A B=1"}),
        "/parameters/environment",
        "invalid_env_name",
    ),
    "a script that is a number": (blueprint(parameters={"script": 5}), "/parameters/script", "wrong_type"),
    "a NUL": (blueprint(parameters={"script": "a\x00b"}), "/parameters/script", "control_char"),
    "a required one": (blueprint(blueprint="torch-distributed", parameters={}), "/parameters/program", "required"),
    "parameters as a list": (blueprint(parameters=[1]), "/parameters", "wrong_type"),
    "unknown field": (blueprint(more=1), "/more", "unknown_field"),
    "unknown blueprint": (blueprint(blueprint="no-such"), "/blueprint", "unknown_reference"),
    "unknown project": (blueprint(project="nowhere"), "/project", "unknown_reference"),
    "project of others": (blueprint(project="elsewhere"), "/project", "unknown_reference"),
    "a bad name": (blueprint(name="Bad Name"), "/name", "invalid_name"),
    "a name over the budget": (blueprint(name="a" * 55), "/name", "too_long"),
    "a name that is a number": (blueprint(name=5), "/name", "required"),
}


def check_refused(world: World, answer: Any, pointer: str, code: str, status: int = 422) -> dict[str, Any]:
    """The answer is a problem document that points at the field, and nothing was stored."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert body["instance"] == f"{API}/trainjobs"
    assert {"type", "title", "code", "detail", "request_id"} <= set(body)
    places = [(e["pointer"], e["code"]) for e in body["errors"]]
    assert (pointer, code) in places
    assert len(places) == len(set(places))
    assert all(e["detail"] for e in body["errors"])
    assert list(TrainJob.objects.values_list("pk", flat=True)) == [world.job.pk]
    assert not AuditEntry.objects.filter(verb="job.submit").exists()
    return body


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_as_json(world: World, case: str) -> None:
    body, pointer, code = MANIFESTS[case]
    check_refused(world, world.post("/trainjobs", body), pointer, code)


@pytest.mark.parametrize("case", ["zero nodes", "unknown runtime", "over the budget", "unknown field of the trainer"])
def test_a_manifest_as_yaml(world: World, case: str) -> None:
    body, pointer, code = MANIFESTS[case]
    check_refused(world, world.post("/trainjobs", json.dumps(body), content_type="application/yaml"), pointer, code)


@pytest.mark.parametrize("case", RAW)
def test_a_body_that_is_no_manifest(world: World, case: str) -> None:
    body, pointer, code = RAW[case]
    kind = "application/json" if isinstance(body, bytes) else "application/yaml"
    check_refused(world, world.post("/trainjobs", body, content_type=kind), pointer, code)


@pytest.mark.parametrize("case", BLUEPRINTS)
def test_a_blueprint(world: World, case: str) -> None:
    body, pointer, code = BLUEPRINTS[case]
    check_refused(world, world.post("/trainjobs", body), pointer, code)


def test_all_bad_parameters_are_told_at_once(world: World) -> None:
    body = blueprint(parameters={"nodes": 0, "cpu": "lots", "nope": 1})
    told = check_refused(world, world.post("/trainjobs", body), "/parameters/nodes", "out_of_range")
    assert {e["pointer"] for e in told["errors"]} == {"/parameters/nodes", "/parameters/cpu", "/parameters/nope"}


@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
def test_ten_megabytes(world: World, kind: str) -> None:
    answer = world.post("/trainjobs", b"x" * (10 << 20), content_type=kind)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert TrainJob.objects.count() == 1


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data; boundary=x", "application/octet-stream"])
def test_other_forms_of_a_body(world: World, kind: str) -> None:
    answer = world.post("/trainjobs", b"x", content_type=kind)
    assert (answer.status_code, answer["Content-Type"]) == (415, "application/problem+json")


def test_an_idempotency_key_that_is_too_long(world: World) -> None:
    answer = world.post("/trainjobs", manifest("keyed"), **{"Idempotency-Key": "k" * 201})
    check_refused(world, answer, "/Idempotency-Key", "too_long")


def test_a_name_that_is_taken(world: World) -> None:
    for body, pointer in ((manifest(world.job.name), "/metadata/name"), (blueprint(name=world.job.name), "/name")):
        check_refused(world, world.post("/trainjobs", body), pointer, "name_taken", 409)


@pytest.mark.parametrize("case", ["zero nodes", "over the budget", "unknown runtime"])
def test_a_dry_run_says_the_same(world: World, case: str) -> None:
    body, pointer, code = MANIFESTS[case]
    answer = world.post("/trainjobs?dry_run=1", body).json()
    assert answer["accepted"] is False
    assert (pointer, code) in [(e["pointer"], e["code"]) for e in answer["errors"]]
    assert TrainJob.objects.count() == 1


QUERIES = {
    "/trainjobs?limit=0": "/limit",
    "/trainjobs?limit=201": "/limit",
    "/trainjobs?limit=x": "/limit",
    "/trainjobs?limit=99999999999999999999": "/limit",
    "/trainjobs?phase=Nope": "/phase",
    "/trainjobs?status=Nope": "/status",
    "/trainjobs?since=yesterday": "/since",
    "/trainjobs?until=2026-01-01T00:00:00": "/until",
    "/trainjobs?cursor=abc": "/cursor",
    "{at}/logs/rows?start=x": "/start",
    "{at}/logs/tail?cursor=zzz": "/cursor",
    "{at}/logs/text?ranks=a": "/ranks",
    "{at}/logs/text?tail=x": "/tail",
    "{at}/logs/search?q=": "/q",
    "{at}/events?before=x": "/before",
    "/trainjobs/removed?before=x": "/before",
    "/metrics?jobs=x": "/jobs",
}


@pytest.mark.parametrize("path", QUERIES)
def test_parameters_of_an_address(world: World, path: str) -> None:
    answer = world.client("alice").get(API + path.format(at=world.at))
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert [e["pointer"] for e in answer.json()["errors"]] == [QUERIES[path]]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("get", "/nope", 404),
        ("get", "/trainjobs/123", 404),
        ("put", "/trainjobs", 405),
        ("get", "{at}/cancel", 405),
        ("post", "{at}/explode", 404),
        ("get", "{at}/artifacts/no-such-file", 404),
        ("get", "{at}/artifacts/../../secret-key", 404),
        ("get", "{at}/logs/download?stream=99999", 404),
        ("get", "{at}/logs/rows/99999/0", 404),
        ("get", "/runtimes/no-such", 404),
    ],
)
def test_what_is_not_there(world: World, method: str, path: str, status: int) -> None:
    answer = getattr(world.client("alice"), method)(API + path.format(at=world.at))
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["status"] == status


def test_an_answer_in_another_form(world: World) -> None:
    answer = world.client("alice").get(f"{API}/trainjobs", headers={"accept": "text/csv"})
    assert (answer.status_code, answer["Content-Type"]) == (406, "application/problem+json")
