import json
from pathlib import Path
from typing import Any

import pytest

from jobs.spec.validation import validate_trainjob
from runtimes.spec.blueprint import Blueprint, BlueprintError, blueprint_of_runtime, load_blueprint
from runtimes.spec.fields import assign, covers, is_named_entry, parse_path
from runtimes.spec.findings import Finding
from runtimes.spec.parameters import bind, field_sources, located
from runtimes.spec.templates import references, render
from tests.unit.spec.samples import Obj, mpi_runtime, replicated_job, runtime
from trainui.localcluster.agent.expansion import expand

DOCUMENT: Obj = {
    "card": {
        "title": "Torch",
        "summary": "Runs a script with torchrun.",
        "framework": "torch",
        "tags": ["torch"],
        "needs": {"accelerators": 1, "acceleratorResource": "amd.com/gpu", "memory": "2Gi"},
        "local": True,
        "extra": "torch",
    },
    "parameters": [
        {"name": "script", "title": "Script", "type": "text", "required": True},
        {"name": "epochs", "title": "Epochs", "type": "integer", "default": 3, "minimum": 1, "maximum": 100},
        {"name": "rate", "title": "Learning rate", "type": "number", "default": "3e-4", "minimum": 0},
        {
            "name": "mode",
            "title": "Mode",
            "type": "choice",
            "choices": ["a", {"value": "b", "label": "B!"}],
            "default": "a",
        },
        {"name": "resume", "title": "Resume", "type": "boolean", "flag": "--resume"},
        {"name": "more", "title": "More arguments", "type": "command"},
        {"name": "token", "title": "Token", "type": "secretRef", "key": "token", "path": "spec.trainer.env[HF_TOKEN]"},
        {"name": "level", "title": "Level", "type": "integer", "path": "spec.trainer.env[LEVEL]", "group": "advanced"},
        {"name": "deadline", "title": "Deadline", "type": "integer", "path": "spec.activeDeadlineSeconds"},
        {"name": "data", "title": "Data", "type": "text", "path": "spec.initializer.dataset.storageUri"},
        {"name": "queue", "title": "Queue", "type": "text", "path": "metadata.labels[kueue.x-k8s.io/queue-name]"},
    ],
    "trainjob": {
        "metadata": {"labels": {"team": "a"}},
        "spec": {
            "trainer": {
                "command": ["torchrun", "{{ script }}"],
                "args": [
                    "--epochs={{ epochs }}",
                    "--lr={{ rate }}",
                    "--mode={{mode}}",
                    "{{ resume }}",
                    "{{ more }}",
                    "-x",
                ],
            }
        },
    },
    "runtime": runtime({"numNodes": 2, "torch": {}}),
}


def document(**change: Any) -> str:
    return json.dumps(DOCUMENT | change)


def blueprint(**change: Any) -> Blueprint:
    return load_blueprint(document(**change))


def spec_of(values: Obj, channel: str = "form", **change: Any) -> Obj:
    job, findings = bind(blueprint(**change), "job", "team-a", {"script": "t.py", **values}, channel)
    assert findings.errors == []
    spec: Obj = job["spec"]
    return spec


def problems(values: Obj, channel: str = "form") -> list[tuple[str, str]]:
    found = bind(blueprint(), "job", "team-a", {"script": "t.py", **values}, channel)[1]
    return [(f.path.removeprefix("parameters."), f.code) for f in found.errors]


def test_a_blueprint_is_its_file() -> None:
    loaded = blueprint()
    assert (loaded.name, loaded.card.title, loaded.card.extra, loaded.card.needs.accelerators) == (
        "rt",
        "Torch",
        "torch",
        1,
    )
    epochs = loaded.parameter("epochs")
    assert epochs
    assert (epochs.type, epochs.default, epochs.group, epochs.common) == ("integer", 3, "basic", False)
    mode = loaded.parameter("mode")
    assert mode
    assert [(c.value, c.label) for c in mode.choices] == [("a", "a"), ("b", "B!")]


def test_common_parameters_show_what_the_runtime_does() -> None:
    names = [p.name for p in blueprint().parameters if p.common]
    assert names == ["nodes", "processes_per_node", "cpu", "memory", "accelerators", "environment"]
    nodes, accelerators = blueprint().parameter("nodes"), blueprint().parameter("accelerators")
    assert nodes
    assert nodes.placeholder == "2"
    assert accelerators
    assert accelerators.paths == ("spec.trainer.resourcesPerNode.limits[amd.com/gpu]",)


def test_common_parameters_can_be_hidden_or_replaced() -> None:
    own = {"name": "nodes", "title": "Machines", "type": "integer", "default": 4, "path": "spec.trainer.numNodes"}
    loaded = blueprint(hide=["cpu", "memory"], parameters=[*DOCUMENT["parameters"], own])
    names = [p.name for p in loaded.parameters]
    assert names.count("nodes") == 1
    assert not {"cpu", "memory"} & set(names)
    assert bind(loaded, "j", "n", {"script": "x"})[0]["spec"]["trainer"]["numNodes"] == 4


def test_a_request_also_moves_a_limit_that_the_runtime_sets() -> None:
    job = replicated_job("node", "trainer", {"resources": {"limits": {"cpu": 1}, "requests": {"amd.com/gpu": 1}}})
    spec = spec_of({"cpu": "2", "memory": "1Gi", "accelerators": "4"}, runtime=runtime({"torch": {}}, job))
    assert spec["trainer"]["resourcesPerNode"] == {
        "requests": {"cpu": "2", "memory": "1Gi", "amd.com/gpu": "4"},
        "limits": {"cpu": "2", "amd.com/gpu": "4"},
    }


def test_the_whole_job() -> None:
    given = {
        "epochs": " 5 ",
        "rate": "1e-5",
        "resume": "on",
        "more": "--a 'b c'",
        "token": "hf",
        "level": "7",
        "deadline": "60",
    }
    job, findings = bind(
        blueprint(), " job ", "team-a", {**given, "script": "t.py", "queue": "q", "environment": "B=x=y\r\n"}
    )
    assert findings.errors == []
    assert job == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": "job",
            "namespace": "team-a",
            "labels": {"team": "a", "kueue.x-k8s.io/queue-name": "q"},
            "annotations": {"trainui.dev/blueprint": "rt"},
        },
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": "rt"},
            "activeDeadlineSeconds": 60,
            "trainer": {
                "command": ["torchrun", "t.py"],
                "args": ["--epochs=5", "--lr=1e-5", "--mode=a", "--resume", "--a", "b c", "-x"],
                "env": [
                    {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
                    {"name": "LEVEL", "value": "7"},
                    {"name": "B", "value": "x=y"},
                ],
            },
        },
    }
    assert validate_trainjob(job, DOCUMENT["runtime"]).refused == []


def test_what_has_no_value_leaves_its_argument_out() -> None:
    assert spec_of({})["trainer"]["args"] == ["--epochs=3", "--lr=3e-4", "--mode=a", "-x"]
    assert spec_of({"resume": "false"})["trainer"]["args"][3:] == ["-x"]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"nodes": 2, "epochs": "7"}, {"numNodes": 2}),
        ({"environment": {"A": "1"}}, {"env": [{"name": "A", "value": "1"}]}),
        ({"environment": [{"name": "A", "value": " x\r\n"}]}, {"env": [{"name": "A", "value": " x\r\n"}]}),
        (
            {"token": {"name": "hf"}},
            {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}]},
        ),
        ({"cpu": 2}, {"resourcesPerNode": {"requests": {"cpu": "2"}}}),
    ],
)
def test_typed_values_of_the_api(values: Obj, wanted: Obj) -> None:
    assert spec_of(values, "api")["trainer"].items() >= wanted.items()


@pytest.mark.parametrize(
    ("values", "channel", "wanted"),
    [
        ({"script": " "}, "form", [("script", "required")]),
        ({"script": "a\nb"}, "form", [("script", "control_char")]),
        (
            {"epochs": "0", "rate": "x", "mode": "c"},
            "form",
            [("epochs", "out_of_range"), ("rate", "invalid_number"), ("mode", "not_supported")],
        ),
        ({"nodes": "0"}, "form", [("nodes", "out_of_range")]),
        ({"nodes": "2147483648"}, "form", [("nodes", "out_of_range")]),
        ({"nodes": " 2"}, "api", [("nodes", "invalid_number")]),
        ({"nodes": True}, "api", [("nodes", "wrong_type")]),
        ({"cpu": "1 Gi"}, "form", [("cpu", "invalid_quantity")]),
        ({"accelerators": "1.5"}, "form", [("accelerators", "not_integer")]),
        ({"memory": "0.5"}, "form", [("memory", "fractional_bytes")]),
        ({"more": "a 'b"}, "form", [("more", "invalid_command")]),
        ({"more": [1]}, "api", [("more", "wrong_type")]),
        ({"token": "My_Secret"}, "form", [("token", "invalid_name")]),
        ({"token": {"name": "s", "key": "a/b"}}, "api", [("token", "invalid_name")]),
        ({"resume": "maybe"}, "form", [("resume", "wrong_type")]),
        ({"resume": "on"}, "api", [("resume", "wrong_type")]),
        ({"environment": "A=1\nA=2"}, "form", [("environment", "duplicate_env")]),
        ({"environment": "PET_NNODES=2"}, "form", [("environment", "reserved_env")]),
        ({"environment": "HF_TOKEN=x"}, "form", [("environment", "duplicate_env")]),
        ({"environment": [1]}, "api", [("environment", "wrong_type")]),
        ({"environment": 5}, "api", [("environment", "wrong_type")]),
        ({"nope": 1, "also": 2}, "api", [("nope", "unknown_parameter"), ("also", "unknown_parameter")]),
    ],
)
def test_bad_values_are_all_named_at_once(values: Obj, channel: str, wanted: list[tuple[str, str]]) -> None:
    assert problems(values, channel) == wanted


def test_findings_about_the_job_move_to_the_parameter_that_set_the_field() -> None:
    loaded = blueprint()
    job, _ = bind(loaded, "job", "n", {"script": "x", "data": "gs://b", "environment": "A=1", "nodes": "2"})
    found = validate_trainjob(job, loaded.runtime).refused
    moved = {f.path: f.code for f in located(loaded, found)}
    assert moved["parameters.data"] == "unsupported_scheme"
    more = [
        Finding("spec.trainer.numNodes", "x", ""),
        Finding("spec.trainer.env[1].name", "x", "", {"name": "HF_TOKEN"}),
        Finding("metadata.name", "x", ""),
    ]
    assert [f.path for f in located(loaded, more)] == ["parameters.nodes", "parameters.token", "metadata.name"]


def test_field_sources() -> None:
    sources = field_sources(blueprint())
    assert sources["spec.trainer.numNodes"] == "nodes"
    assert sources["spec.trainer.args[1]"] == "rate"
    assert sources["spec.trainer.env[HF_TOKEN]"] == "token"


def parameters(**change: Any) -> Obj:
    return {
        "parameters": [{"name": "script", "title": "S", "type": "text", "path": "spec.trainer.image", **change}],
        "trainjob": {},
    }


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"card": {"title": "x"}}, "card.summary", "required"),
        ({"colour": 1}, "colour", "unknown_field"),
        ({"runtime": {**mpi_runtime(), "kind": "TrainingRuntime"}}, "runtime.kind", "wrong_kind"),
        ({"runtime": runtime({"torch": {}, "jax": {}})}, "runtime.spec.mlPolicy", "conflict"),
        ({"runtime": runtime({"torch": {}}, typo=1)}, "runtime.spec.typo", "unknown_field"),
        ({"hide": ["everything"]}, "hide", "unknown_reference"),
        (
            {"trainjob": {"spec": {"trainer": {"args": ["{{ gone }}"]}}}},
            "trainjob.spec.trainer.args[0]",
            "unknown_reference",
        ),
        ({"trainjob": {"spec": {"trainer": {"args": ["{{ script"]}}}}, "trainjob.spec.trainer.args[0]", "invalid"),
        (parameters(path=None), "parameters[0]", "unused"),
        (parameters(path="spec..x"), "parameters[0]", "invalid"),
        (parameters(pattern="("), "parameters[0]", "invalid"),
        (parameters(type="choice"), "parameters[0].choices", "required"),
        (parameters(type="choice", choices=[True]), "parameters[0]", "invalid"),
        (parameters(type="integer", default="x"), "parameters[0].default", "invalid_number"),
        (parameters(type="colour"), "parameters[0].type", "not_supported"),
        (parameters(name="Bad"), "parameters[0].name", "invalid"),
        (parameters(minimum=[1], type="integer"), "parameters[0]", "invalid"),
    ],
)
def test_bad_files(change: Obj, path: str, code: str) -> None:
    with pytest.raises(BlueprintError) as caught:
        blueprint(**change)
    assert (path, code) in [(f.path, f.code) for f in caught.value.findings]


@pytest.mark.parametrize("source", ["", "- a", "a: 1\na: 2", b"\xff"])
def test_what_is_no_file_of_a_blueprint(source: str | bytes) -> None:
    with pytest.raises(BlueprintError):
        load_blueprint(source)


def test_a_runtime_alone_is_a_blueprint_without_own_parameters() -> None:
    made = blueprint_of_runtime(mpi_runtime())
    assert (made.name, made.own_parameters, made.card.framework) == ("rt", (), "custom")
    job, findings = bind(made, "job", "n", {"nodes": "3"})
    assert findings.errors == []
    assert job["spec"]["trainer"] == {"numNodes": 3}


def test_templates() -> None:
    assert references("{{a}} x {{ b | sh }} {{ a }} { c }") == ["a", "b"]
    values = {"n": 5, "yes": True, "list": ["x", "y z"], "odd": "it's $X"}
    rendered = render(
        {
            "a": "{{ n }}",
            "b": "n={{ n }} {{ yes }}",
            "c": ["{{ list }}", "{{ none }}", "--{{ none }}", "end"],
            "d": "{{ none }}",
            "e": "run {{ odd | sh }} {{ list | sh }}",
            "f": "{{ list }} joined",
            "g": 7,
        },
        values.get,
    )
    assert rendered == {
        "a": 5,
        "b": "n=5 true",
        "c": ["x", "y z", "end"],
        "e": "run 'it'\"'\"'s $X' x 'y z'",
        "f": "x y z joined",
        "g": 7,
    }
    assert render("{{ v }}", {"v": "{{ w }}"}.get) == "{{ w }}"


@pytest.mark.parametrize("script", ["kill $$", "a $(date) $X ${Y} $$(Z) $$$ x$", "$$$$", "no dollar"])
def test_a_literal_template_survives_what_kubernetes_expands(script: str) -> None:
    written = render("{{ s | literal }}", {"s": script}.get)
    assert expand(written, {"date": "expanded", "Z": "expanded"}) == script


def test_paths() -> None:
    assert parse_path("a.b[c.d/e].f") == ["a", "b", "c.d/e", "f"]
    assert [parse_path(p) for p in ("", ".a", "a..b", "a[", "a[]", "a b", "a.")] == [None] * 7
    obj: Obj = {}
    assign(obj, "x.limits[nvidia.com/gpu]", 2)
    assign(obj, "x.env[A]", "1")
    assign(obj, "x.env[B]", {"valueFrom": {}})
    assign(obj, "x.env[A]", "2")
    assert obj == {
        "x": {"limits": {"nvidia.com/gpu": 2}, "env": [{"name": "A", "value": "2"}, {"name": "B", "valueFrom": {}}]}
    }
    assert covers("spec.a", "spec.a.b")
    assert not covers("spec.a", "spec.ab")
    assert is_named_entry("x.env[A]")
    assert not is_named_entry("x.env")
    with pytest.raises(ValueError, match="no field path"):
        assign(obj, "a..b", 1)


SHIPPED = sorted((Path(__file__).resolve().parents[3] / "runtimes" / "blueprints").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_blueprints_make_jobs_that_can_run(path: Path) -> None:
    loaded = load_blueprint(path.read_bytes())
    given = {p.name: "main.py" for p in loaded.parameters if p.required and p.type in ("text", "command")}
    job, findings = bind(loaded, "job", "team-a", given)
    assert findings.errors == []
    assert validate_trainjob(job, loaded.runtime).refused == []
