"""Blueprints: a runtime with a card that explains it and parameters that a form is made of."""

import copy
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from runtimes.spec.access import as_list, as_map, by_name, dig, maps
from runtimes.spec.blueprint_schema import BLUEPRINT
from runtimes.spec.common_parameters import common_parameters
from runtimes.spec.fields import parse_path
from runtimes.spec.findings import Finding, under
from runtimes.spec.kinds import API_VERSION, CLUSTER_TRAINING_RUNTIME, LABEL_FRAMEWORK
from runtimes.spec.parameter import Choice, Parameter
from runtimes.spec.parameter_values import ValueProblem, read_value
from runtimes.spec.schema import check, without_nulls
from runtimes.spec.templates import check_references, references, texts
from runtimes.spec.validation import unknown, validate_runtime
from runtimes.spec.yaml_reader import ReadError, read_document

DEFAULT_ICON = "cube"
DEFAULT_ACCELERATOR = "nvidia.com/gpu"


class BlueprintError(ValueError):
    """A file that is no blueprint. `findings` says what and where, with paths into the file."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(f"{f.path}: {f.message}" if f.path else f.message for f in findings))
        self.findings = findings


@dataclass(frozen=True)
class Needs:
    """What a job of a blueprint needs per node, and how many nodes."""

    accelerators: int = 0
    accelerator_resource: str = DEFAULT_ACCELERATOR
    memory: str = ""
    nodes: int = 1
    note: str = ""


@dataclass(frozen=True)
class Card:
    """How a blueprint is shown. `local`: the local cluster can run it; `extra`: the optional extra it needs there, or ""."""

    title: str
    summary: str
    framework: str
    description: str = ""
    icon: str = DEFAULT_ICON
    tags: tuple[str, ...] = ()
    needs: Needs = field(default_factory=Needs)
    local: bool = False
    extra: str = ""


@dataclass(frozen=True)
class Blueprint:
    """A blueprint as loaded.

    name: the name of its runtime. own_parameters: those of the file. hide: common parameters it leaves out. trainjob: what its TrainJobs
    start with, texts with templates. runtime: the manifest of the ClusterTrainingRuntime (or TrainingRuntime), as written.
    """

    name: str
    card: Card
    own_parameters: tuple[Parameter, ...]
    runtime: dict[str, Any]
    trainjob: dict[str, Any] = field(default_factory=dict)
    hide: tuple[str, ...] = ()

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters: those of the file, then the common ones that it neither hides nor defines itself."""
        own = {parameter.name for parameter in self.own_parameters}
        common = common_parameters(self.runtime, self.card.needs.accelerator_resource)
        return (*self.own_parameters, *(c for c in common if c.name not in own and c.name not in self.hide))

    def parameter(self, name: str) -> Parameter | None:
        """Return one parameter, or None."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def load_blueprint(source: str | bytes) -> Blueprint:
    """Return the blueprint in a YAML file; it is the caller's own, to change as he likes.

    Raises BlueprintError with every problem at once: what `read_document` refuses, unknown or missing fields, a runtime that
    `validate_runtime` refuses, references to parameters that there are not, parameters that nothing uses, defaults outside their range.
    """
    loaded = _loaded(source)
    return replace(loaded, runtime=copy.deepcopy(loaded.runtime), trainjob=copy.deepcopy(loaded.trainjob))


@lru_cache(maxsize=128)  # each form reads its blueprint, which takes tens of milliseconds
def _loaded(source: str | bytes) -> Blueprint:
    try:
        document = read_document(source)
    except ReadError as error:
        raise BlueprintError(error.findings) from None
    if not isinstance(document, dict):
        raise BlueprintError([Finding("", "wrong_type", "a blueprint is a map with card, parameters and runtime")])
    clean = without_nulls(document)
    findings = check(BLUEPRINT, clean) + unknown(BLUEPRINT, clean)
    if findings:
        raise BlueprintError(findings)
    blueprint, findings = _assembled(clean)
    findings += _problems(blueprint)
    if findings:
        raise BlueprintError(findings)
    return blueprint


def blueprint_of_runtime(runtime: dict[str, Any]) -> Blueprint:
    """Return a blueprint without own parameters for a runtime that has no file (Kubeflow's stock ones, or an admin's)."""
    name = str(dig(runtime, "metadata", "name") or "")
    framework = str(dig(runtime, "metadata", "labels", LABEL_FRAMEWORK) or "custom")
    summary = f"The runtime {name} as it stands in the cluster."
    return Blueprint(name, Card(title=name, summary=summary, framework=framework), (), runtime)


def _assembled(document: dict[str, Any]) -> tuple[Blueprint, list[Finding]]:
    runtime = document["runtime"]
    parameters, findings = [], []
    for index, raw in enumerate(maps(document.get("parameters"))):
        try:
            parameters.append(_parameter(raw))
        except ValueError as error:
            findings.append(Finding(f"parameters[{index}]", "invalid", str(error)))
    blueprint = Blueprint(
        name=str(dig(runtime, "metadata", "name") or ""),
        card=_card(document["card"]),
        own_parameters=tuple(parameters),
        runtime=runtime,
        trainjob=as_map(document.get("trainjob")),
        hide=tuple(as_list(document.get("hide"))),
    )
    return blueprint, findings


def _card(raw: dict[str, Any]) -> Card:
    needs = as_map(raw.get("needs"))
    return Card(
        title=raw["title"],
        summary=raw["summary"],
        framework=raw["framework"],
        description=raw.get("description", ""),
        icon=raw.get("icon") or DEFAULT_ICON,
        tags=tuple(raw.get("tags", ())),
        needs=Needs(
            accelerators=needs.get("accelerators", 0),
            accelerator_resource=needs.get("acceleratorResource", DEFAULT_ACCELERATOR),
            memory=str(needs.get("memory", "")),
            nodes=needs.get("nodes", 1),
            note=needs.get("note", ""),
        ),
        local=raw.get("local", False),
        extra=raw.get("extra", ""),
    )


def _parameter(raw: dict[str, Any]) -> Parameter:
    paths = raw.get("path", [])
    paths = [paths] if isinstance(paths, str) else as_list(paths)
    for path in paths:
        if not isinstance(path, str) or parse_path(path) is None:
            raise ValueError(f"path: {path} is no field path")
    try:
        re.compile(raw.get("pattern", ""))
    except re.error as error:
        raise ValueError(f"pattern: {error}") from None
    return Parameter(
        name=raw["name"],
        title=raw["title"],
        type=raw["type"],
        help=raw.get("help", ""),
        default=raw.get("default"),
        minimum=_bound(raw, "minimum"),
        maximum=_bound(raw, "maximum"),
        max_length=raw.get("maxLength"),
        pattern=raw.get("pattern", ""),
        multiline=raw.get("multiline", False),
        choices=tuple(_choice(choice) for choice in raw.get("choices", ())),
        required=raw.get("required", False),
        group=raw.get("group", "basic"),
        placeholder=raw.get("placeholder", ""),
        unit=raw.get("unit", ""),
        resource=raw.get("resource", "") or _resource_of(paths),
        flag=raw.get("flag", ""),
        key=raw.get("key", ""),
        paths=tuple(paths),
    )


def _bound(raw: dict[str, Any], name: str) -> Decimal | str | None:
    value = raw.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{name}: must be a number")
    return str(value) if raw["type"] == "quantity" else Decimal(str(value))


def _choice(raw: Any) -> Choice:
    if isinstance(raw, dict):
        if set(raw) - {"value", "label"} or "value" not in raw:
            raise ValueError("choices: give texts, or maps of value and label")
        return Choice(str(raw["value"]), str(raw.get("label", raw["value"])))
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ValueError("choices: quote words such as yes and on")
    return Choice(str(raw), str(raw))


def _resource_of(paths: list[str]) -> str:
    """The resource that a path under limits or requests names."""
    keys = parse_path(paths[0]) if paths else None
    return keys[-1] if keys and len(keys) > 1 and keys[-2] in ("limits", "requests") else "cpu"


def _problems(blueprint: Blueprint) -> list[Finding]:
    findings = _runtime_problems(blueprint.runtime)
    declared = [parameter.name for parameter in blueprint.parameters]
    findings += check_references(blueprint.trainjob, declared, "trainjob")
    used = {name for _keys, text in texts(blueprint.trainjob) for name in references(text)}
    common = {parameter.name for parameter in common_parameters(blueprint.runtime)}
    for name in blueprint.hide:
        if name not in common:
            findings.append(Finding("hide", "unknown_reference", f"there is no common parameter {name}"))
    for index, parameter in enumerate(blueprint.own_parameters):
        findings += under(f"parameters[{index}]", _parameter_problems(parameter, parameter.name in used))
    return findings


def _runtime_problems(runtime: dict[str, Any]) -> list[Finding]:
    if runtime.get("kind") != CLUSTER_TRAINING_RUNTIME or runtime.get("apiVersion") != API_VERSION:
        return [Finding("runtime.kind", "wrong_kind", f"must be a {CLUSTER_TRAINING_RUNTIME} of {API_VERSION}")]
    return under("runtime", validate_runtime(runtime).refused)


def _parameter_problems(parameter: Parameter, used: bool) -> list[Finding]:
    findings = []
    if not parameter.paths and not used:
        findings.append(Finding("", "unused", f"nothing uses {parameter.name}: give it a path, or name it in trainjob"))
    if parameter.type == "choice" and not parameter.choices:
        findings.append(Finding("choices", "required", "a choice needs choices"))
    if parameter.default is not None:
        try:
            read_value(replace(parameter, required=False), parameter.default, form=False)
        except ValueProblem as error:
            findings.append(Finding("default", error.code, error.message))
    return findings


def container_of(runtime: dict[str, Any], name: str = "node") -> dict[str, Any] | None:
    """Return the first container of that name in a runtime, or None."""
    jobs = maps(dig(runtime, "spec", "template", "spec", "replicatedJobs"))
    found = (by_name(maps(dig(job, "template", "spec", "template", "spec", "containers")), name) for job in jobs)
    return next((container for container in found if container is not None), None)
