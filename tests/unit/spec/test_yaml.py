import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.spec.manifest import ManifestError, check_manifest, dump_manifest, load_manifest
from runtimes.spec.scalars import AmbiguousScalar, needs_quotes, resolve
from runtimes.spec.yaml_reader import MAX_BYTES, ReadError, read_document
from tests.unit.spec.samples import trainjob


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("on", True),
        ("n", False),
        ("12", 12),
        ("-0", 0),
        ("0x10", 16),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("12:30:45", "12:30:45"),
        ("2026-03-01", "2026-03-01"),
        ("1.2.3", "1.2.3"),
        ("1Gi", "1Gi"),
        ("-", "-"),
        ("--lr", "--lr"),
        ("...", "..."),
    ],
)
def test_resolve(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["012", "0o17", "0b11", "1_000", "1_0.5", ".inf", "-.INF", ".nan", "1e999", "9" * 500, "0x1_f"]
)
def test_ambiguous(text: str) -> None:
    with pytest.raises(AmbiguousScalar):
        resolve(text)
    assert needs_quotes(text)


@pytest.mark.parametrize(
    ("source", "code", "path"),
    [
        ("a: 1\na: 2\n", "duplicate_key", "a"),
        ('{"a": {"b": 1, "b": 2}}', "duplicate_key", "a.b"),
        ("a: [1, {b: 1, b: 2}]", "duplicate_key", "a[1].b"),
        ("x: {on: 1}", "wrong_type", "x"),
        ("x: {1: 1}", "wrong_type", "x"),
        ("? [a]\n: 1", "wrong_type", ""),
        ("a: *nowhere", "invalid_yaml", ""),
        ("a: &x [*x]", "too_complex", ""),
        ("a: !!timestamp 2026-01-01", "invalid_yaml", "a"),
        ("a: !!int x", "invalid_yaml", "a"),
        ("a: !mine x", "invalid_yaml", "a"),
        ("a: !!set {x, y}", "invalid_yaml", "a"),
        ("<<: 1", "invalid_yaml", ""),
        ("a: 'open", "invalid_yaml", ""),
        ("a: \x00", "invalid_yaml", ""),
        ('{"a": NaN}', "ambiguous_scalar", ""),
        ("a: 1\n---\nb: 2", "multiple_documents", ""),
        ("---\n---\n", "empty_document", ""),
        (b"\xff\xfea\x00", "invalid_encoding", ""),
        ("a: \ud800", "invalid_encoding", ""),
        ("[" * 200 + "]" * 200, "too_complex", ""),
        ("{" + '"a":{' * 200 + "}" * 201, "too_complex", ""),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "too_complex", ""),
        ("- " * 500 + "a", "too_complex", ""),
        ("[" * 5000, "too_complex", ""),
        ("{" * 5000, "too_complex", ""),
        ("x" * (MAX_BYTES + 1), "too_large", ""),
    ],
)
def test_refused_documents(source: str | bytes, code: str, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_document(source)
    assert (caught.value.findings[0].code, caught.value.findings[0].path) == (code, path)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("a: {b: 1}\nc: &x [1]\nd: *x", {"a": {"b": 1}, "c": [1], "d": [1]}),
        ("base: &b {x: 1, z: 2}\nd: {<<: *b, x: 9}", {"base": {"x": 1, "z": 2}, "d": {"x": 9, "z": 2}}),
        ("a: {x: 1}\nb: {<<: [{x: 1}, {x: 2, z: 3}]}", {"a": {"x": 1}, "b": {"x": 1, "z": 3}}),
        ('"<<": 1', {"<<": 1}),
        ("&k a: 1\nb: *k", {"a": 1, "b": "a"}),
        ("a: !!str 012", {"a": "012"}),
        ("a: ! 012", {"a": "012"}),
        ("a: !!float 1", {"a": 1}),
        ('{"a": 1.0, "b": [true, null]}', {"a": 1.0, "b": [True, None]}),
        ('{"a":\t1}', {"a": 1}),
        ("{a: 1}", {"a": 1}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_documents(source: str, value: object) -> None:
    assert read_document(source) == value


def test_aliases_do_not_share_what_they_copy() -> None:
    document = read_document("a: &x {k: [1]}\nb: *x")
    document["a"]["k"].append(2)
    assert document["b"] == {"k": [1]}


def test_findings_of_syntax_errors_carry_line_and_column() -> None:
    with pytest.raises(ReadError) as caught:
        read_document("a: 1\nb: [1\nc: 2")
    assert caught.value.findings[0].params["line"] == 3


def test_a_bomb_is_refused_while_it_is_small() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    with pytest.raises(ReadError) as caught:
        read_document("\n".join(lines))
    assert caught.value.findings[0].code == "too_complex"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_dumped_objects_read_back_equal(value: dict[str, Any]) -> None:
    surrogate_free = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    if surrogate_free:
        assert read_document(dump_manifest(surrogate_free)) == surrogate_free
        assert read_document(json.dumps(surrogate_free)) == surrogate_free


TRICKY = [
    *[
        "on",
        "yes",
        "y",
        "n",
        "no",
        "Off",
        "~",
        "null",
        "Null",
        "NULL",
        "true",
        "1_000",
        "012",
        "0o7",
        "0x1f",
        "1e3",
        ".5",
        "5.",
        "+1",
        "-1",
        ".inf",
        "12:30:45",
        "2026-03-01",
        "=",
        "<<",
        "-",
        "?",
        ":",
        "#",
        "%",
        "@",
        "`",
        "!",
        "&",
        "*",
    ],
    *(
        " lead",
        "trail ",
        "a: b",
        "a #b",
        "[x]",
        "{x}",
        "x\n",
        "\nx",
        "x\n\n",
        "x\n y\n",
        "x \ny",
        "\tx\ny",
        "\n",
        " ",
        "\t",
        "x\ty",
    ),
    *(
        "é",
        "🙂",
        "a\u2028b",
        "a\x85b\nc",
        "\x7f",
        "a\rb",
        "a\r\nb",
        "\ufeffx",
        "'",
        '"',
        "it's\n'quoted'",
        "---",
        "...",
        "--- x\ny",
        "null\n",
    ),
    "#!/bin/bash\nset -e\n\techo $X # c\n",
    "x" * 5000,
]


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_texts_stay_texts_for_every_reader(text: str) -> None:
    job = trainjob({"trainer": {"args": [text], "env": [{"name": "X", "value": text}]}}, labels={"k": "v"})
    dumped = dump_manifest(job)
    assert load_manifest(dumped) == job
    # YAML 1.1 as PyYAML reads it must find the same text.
    assert yaml.safe_load(dumped)["spec"]["trainer"]["args"] == [text]


def test_dump_puts_the_usual_fields_first_and_shows_scripts_as_blocks() -> None:
    job = {"spec": {"a": "x\ny\n"}, "metadata": {"name": "j"}, "kind": "K", "apiVersion": "v1", "status": {}}
    assert (
        dump_manifest(job) == "apiVersion: v1\nkind: K\nmetadata:\n  name: j\nspec:\n  a: |\n    x\n    y\nstatus: {}\n"
    )


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"kind": "Pod"}, "wrong_kind", "kind"),
        ({"kind": None}, "wrong_kind", "kind"),
        ({"kind": ["TrainJob"]}, "wrong_kind", "kind"),
        ({"apiVersion": "trainer.kubeflow.org/v2"}, "wrong_kind", "apiVersion"),
        ({"spec": []}, "wrong_type", "spec"),
        ({"spec": {"trainer": {"numNodes": True}}}, "wrong_type", "spec.trainer.numNodes"),
        ({"spec": {"trainer": {"numNodes": 2.5}}}, "wrong_type", "spec.trainer.numNodes"),
        ({"spec": {"trainer": {"args": [None]}}}, "wrong_type", "spec.trainer.args[0]"),
        ({"spec": {"trainer": {"gpus": 2}}}, "unknown_field", "spec.trainer.gpus"),
        ({"meta": {}}, "unknown_field", "meta"),
    ],
)
def test_manifests_that_are_none(change: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(ManifestError) as caught:
        check_manifest(trainjob() | change)
    assert [(f.code, f.path) for f in caught.value.findings] == [(code, path)]


def test_all_unknown_fields_are_named_at_once() -> None:
    with pytest.raises(ManifestError) as caught:
        check_manifest({**trainjob({"a": 1}), "b": 2})
    assert [f.path for f in caught.value.findings] == ["spec.a", "b"]


def test_nulls_are_absent_and_runtimes_are_welcome_on_request() -> None:
    assert "trainer" not in load_manifest(json.dumps(trainjob({"trainer": None})))["spec"]
    source = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec: {}\n"
    assert load_manifest(source, kinds=("TrainingRuntime",))["kind"] == "TrainingRuntime"
    with pytest.raises(ManifestError):
        load_manifest(source)
