"""From the values of a form or request to a TrainJob, and back from a field of the TrainJob to the parameter that set it."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from runtimes.spec.access import policies
from runtimes.spec.blueprint import Blueprint
from runtimes.spec.env import reserved_by, reserved_message
from runtimes.spec.fields import assign, covers, is_named_entry, put_named
from runtimes.spec.findings import Finding, Findings
from runtimes.spec.kinds import API_VERSION, CLUSTER_TRAINING_RUNTIME, GROUP, TRAIN_JOB
from runtimes.spec.parameter import Parameter
from runtimes.spec.parameter_values import ValueProblem, read_value
from runtimes.spec.schema import field_path
from runtimes.spec.templates import as_text, references, render, texts

ANNOTATION_BLUEPRINT = "trainui.dev/blueprint"


def bind(
    blueprint: Blueprint, name: str, namespace: str, values: Mapping[str, Any], channel: str = "form"
) -> tuple[dict[str, Any], Findings]:
    """Return the TrainJob that a blueprint makes of these values, and what is wrong with them.

    values: parameter name to value; what is absent, None or (in a form) empty takes the parameter's default. channel: `form` (texts, outer
    blanks trimmed) or `api` (typed JSON values, nothing trimmed). There is one finding per bad parameter, with path `parameters.NAME`, for
    all of them at once; a name that is no parameter is `unknown_parameter`. The TrainJob leaves out what is wrong, so that it can be shown;
    whether it can run is asked of the TrainJob validator (see `located`).
    """
    findings = Findings()
    for given in values:
        if blueprint.parameter(given) is None:
            findings.error(
                f"parameters.{given}", "unknown_parameter", f"{blueprint.card.title} has no parameter {given}"
            )
    read = _read_all(blueprint, values, channel == "form", findings)
    trainjob = _start(blueprint, name.strip() if channel == "form" else name, namespace, read)
    for parameter in blueprint.parameters:
        if (value := read.get(parameter.name)) is not None:
            for path in parameter.paths:
                _set(trainjob, parameter, path, value)
    return trainjob, findings


def _read_all(blueprint: Blueprint, values: Mapping[str, Any], form: bool, findings: Findings) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for parameter in blueprint.parameters:
        try:
            value = read_value(parameter, values.get(parameter.name), form)
            if value is None and parameter.default is not None:
                value = read_value(parameter, parameter.default, form=False)
            if parameter.type == "env":
                _check_variables(blueprint, parameter, value or [])
        except ValueProblem as problem:
            findings.error(f"parameters.{parameter.name}", problem.code, problem.message, **problem.params)
        else:
            read[parameter.name] = value
    return read


def _check_variables(blueprint: Blueprint, parameter: Parameter, pairs: list[tuple[str, str]]) -> None:
    """Refuse variables that the policy of the runtime, or another parameter, sets."""
    taken = {path for p in blueprint.parameters for path in p.paths if is_named_entry(path)}
    for name, _value in pairs:
        if policy := reserved_by(name, policies(blueprint.runtime)):
            raise ValueProblem("reserved_env", reserved_message(name, policy), name=name)
        if f"spec.trainer.env[{name}]" in taken:
            raise ValueProblem("duplicate_env", f"{name} is set by another field of this form", name=name)


def _start(blueprint: Blueprint, name: str, namespace: str, read: Mapping[str, Any]) -> dict[str, Any]:
    """The TrainJob before the paths of parameters are set: reference, metadata, and the blueprint's own start with its templates."""
    by_name = {parameter.name: parameter for parameter in blueprint.parameters}
    start = render(copy.deepcopy(blueprint.trainjob), lambda key: _template_value(by_name[key], read.get(key)))
    metadata = {"name": name, "namespace": namespace, **(start.get("metadata") or {})}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION_BLUEPRINT: blueprint.name}
    kind = blueprint.runtime.get("kind", CLUSTER_TRAINING_RUNTIME)
    reference = {"apiGroup": GROUP, "kind": kind, "name": blueprint.name}
    spec = {**(start.get("spec") or {}), "runtimeRef": reference}
    return {"apiVersion": API_VERSION, "kind": TRAIN_JOB, "metadata": metadata, "spec": spec}


def _template_value(parameter: Parameter, value: Any) -> Any:
    if parameter.type == "boolean" and parameter.flag and value is not None:
        return parameter.flag if value else None
    if parameter.type == "env" and value is not None:
        return [f"{name}={text}" for name, text in value]
    return value[0] if parameter.type == "secretRef" and value is not None else value


def _set(trainjob: dict[str, Any], parameter: Parameter, path: str, value: Any) -> None:
    if parameter.type == "env":
        trainer = trainjob["spec"].setdefault("trainer", {})
        entries = trainer.setdefault("env", [])
        for name, text in value:
            put_named(entries, name, {"value": text})
    elif parameter.type == "secretRef":
        secret, key = value
        reference = {"name": secret, "key": key} if key else {"name": secret}
        assign(trainjob, path, {"valueFrom": {"secretKeyRef": reference}} if is_named_entry(path) else {"name": secret})
    elif is_named_entry(path):
        assign(trainjob, path, {"value": as_text(value)})
    else:
        assign(trainjob, path, value)


def field_sources(blueprint: Blueprint) -> dict[str, str]:
    """Return which parameter sets which field of the TrainJob: field path to parameter name, templates included.

    Arguments are listed by the place they have in the blueprint; a parameter without a value moves the later ones up.
    """
    sources = {path: parameter.name for parameter in blueprint.parameters for path in parameter.paths}
    for keys, text in texts(blueprint.trainjob):
        for name in references(text):
            sources.setdefault(field_path(keys), name)
    return sources


def value_sources(blueprint: Blueprint, values: Mapping[str, Any]) -> dict[str, str]:
    """Return `field_sources` of the parameters that have a value: one of `values`, or their default."""
    there = {p.name for p in blueprint.parameters if p.default is not None or values.get(p.name) not in (None, "")}
    return {path: name for path, name in field_sources(blueprint).items() if name in there}


def located(blueprint: Blueprint, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings about a TrainJob with those about fields that a parameter sets moved to `parameters.NAME`.

    A form and a request made of parameters know no TrainJob fields. A finding about a variable that came from `environment` has its name in
    the params.
    """
    # A list index of the blueprint need not be the one of the TrainJob: items without a value are left out.
    paths = {
        path: name for path, name in field_sources(blueprint).items() if not path.endswith("]") or is_named_entry(path)
    }
    paths |= {path: p.name for p in blueprint.parameters for path in p.paths}
    moved = []
    for finding in findings:
        variable = finding.params.get("name")
        entry = f"spec.trainer.env[{variable}]"
        name = paths.get(entry) if finding.path.startswith("spec.trainer.env[") else None
        name = name or next((owner for path, owner in paths.items() if covers(path, finding.path)), None)
        moved.append(Finding(f"parameters.{name}", finding.code, finding.message, finding.params) if name else finding)
    return moved
