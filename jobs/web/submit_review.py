"""The last step before a job is made: what will be created, with which values, and where each comes from."""

from dataclasses import dataclass
from typing import Any

from jobs.services import DryRun
from jobs.spec.export import export_trainjob
from jobs.spec.manifest import dump_manifest
from jobs.spec.masking import mask_object
from jobs.spec.provenance import Origin
from jobs.web.forms import ParameterForm, sentence
from jobs.web.forms_text import shown, text_of
from jobs.web.job.manifests import Document, document
from jobs.web.job.origins import Configuration, arrange
from runtimes.spec.parameter import Parameter

YOURS, DEFAULT, RUNTIME = ("your value", "active"), ("blueprint default", "neutral"), ("runtime", "info")


@dataclass(frozen=True)
class Value:
    """One parameter as it will be: its value ("" for none), who says so, and whether it takes several lines."""

    title: str
    text: str
    word: str
    tone: str

    @property
    def long(self) -> bool:
        """Whether it is shown as a block."""
        return "\n" in self.text or len(self.text) > 60


@dataclass(frozen=True)
class Review:
    """What the page shows. manifest: the TrainJob without secrets. omitted: secrets it leaves out. objects: the TrainJob and its children."""

    name: str
    namespace: str
    runtime: str
    facts: list[tuple[str, str]]
    manifest: str
    omitted: list[str]
    objects: list[Document]
    values: list[Value]
    configuration: Configuration
    warnings: list[str]


def review_of(result: DryRun, form: ParameterForm | None = None) -> Review:
    """Return the review of a dry run that nothing refused. form: where its values came from, None for a manifest."""
    manifest, omissions = export_trainjob(result.manifest)
    _, secrets = mask_object(result.manifest)
    metadata = result.manifest.get("metadata", {})
    return Review(
        name=str(metadata.get("name", "")),
        namespace=str(metadata.get("namespace", "")),
        runtime=str(result.manifest["spec"]["runtimeRef"].get("name", "")),
        facts=facts(result.origins),
        manifest=dump_manifest(manifest),
        omitted=[o.path for o in omissions if o.path in secrets],
        objects=[document(result.manifest), *(document(obj) for obj in result.objects)],
        values=values_of(form) if form else [],
        configuration=arrange(result.origins),
        warnings=[*(sentence(f.message) for f in result.findings.warnings), *_secret_warnings(secrets)],
    )


def facts(origins: list[Origin]) -> list[tuple[str, str]]:
    """Return the size of the job at a glance: nodes, processes, and what each node asks for."""
    found = {origin.field: origin.value for origin in origins}
    facts = [("Nodes", str(found.get("nodes", 1)))]
    if "processes per node" in found:
        facts.append(("Processes per node", str(found["processes per node"])))
    for resource in dict.fromkeys(_resource(field) for field in found if _resource(field)):
        amount = found.get(f"requests[{resource}]", found.get(f"limits[{resource}]"))
        facts.append((f"{_RESOURCES.get(resource, resource)} per node", str(amount)))
    return facts


def values_of(form: ParameterForm) -> list[Value]:
    """Return every parameter with its value: the user's, else the blueprint's, else what the runtime has."""
    given = form.given()
    return [_value(parameter, given.get(parameter.name, "")) for parameter in form.blueprint.parameters]


def _value(parameter: Parameter, text: str) -> Value:
    default = text_of(parameter, parameter.default)
    text = text.replace("\r\n", "\n")
    if text.strip() and text.strip() != default.strip():
        return Value(parameter.title, shown(parameter, text).strip(), *YOURS)
    if default:
        return Value(parameter.title, shown(parameter, default).strip(), *DEFAULT)
    return Value(parameter.title, parameter.placeholder if parameter.common else "", *RUNTIME)


_RESOURCES = {"cpu": "CPU", "memory": "Memory", "nvidia.com/gpu": "GPUs"}


def _resource(field: str) -> str:
    for part in ("requests[", "limits["):
        if field.startswith(part):
            return field.removeprefix(part).removesuffix("]")
    return ""


def _secret_warnings(paths: list[str]) -> list[str]:
    if not paths:
        return []
    where = ", ".join(paths[:3]) + (" and more" if len(paths) > 3 else "")
    return [
        f"A value looks like a secret ({where}). Whoever may read the TrainJob in the cluster can read it: better keep it in a Secret and refer to that."
    ]


def changes_since(form: ParameterForm, before: dict[str, Any]) -> list[str]:
    """Return which parameters differ from those of an earlier job, one line each."""
    changed = []
    for parameter in form.blueprint.parameters:
        old = text_of(parameter, before.get(parameter.name, parameter.default)).replace("\r\n", "\n").strip()
        new = (
            form.given().get(parameter.name, "").replace("\r\n", "\n").strip()
            or text_of(parameter, parameter.default).strip()
        )
        if old == new:
            continue
        brief = parameter.type in ("integer", "number", "quantity", "choice", "boolean")
        changed.append(f"{parameter.title}: {old or 'none'} → {new or 'none'}" if brief else parameter.title)
    return changed
