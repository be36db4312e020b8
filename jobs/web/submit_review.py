"""The last step before a job is made: what will be created, with which values, and where each comes from."""

from dataclasses import dataclass
from typing import Any

from jobs import builders
from jobs.reconcile.runtimes import find_runtime
from jobs.services import DryRun
from jobs.spec.export import export_trainjob
from jobs.spec.manifest import dump_manifest
from jobs.spec.masking import mask_object
from jobs.spec.provenance import Origin
from jobs.web.forms import ParameterForm, sentence
from jobs.web.forms_text import shown, spoken_path, text_of
from jobs.web.job.manifests import Document, document
from jobs.web.job.origins import Configuration, arrange
from runtimes.spec.parameter import Parameter
from trainui.accounts.models import Project

YOURS, DEFAULT, RUNTIME = ("your value", "active"), ("blueprint default", ""), ("runtime", "")


@dataclass(frozen=True)
class Value:
    """One parameter as it will be: its value ("" for none), and who says so; the user's own stand out by a tone."""

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
    """What the page shows. manifest: the TrainJob without secrets. omitted: secrets it leaves out. objects: its children;
    keys: a Secret with keys made for this job is another one."""

    name: str
    namespace: str
    runtime: str
    facts: list[tuple[str, str]]
    manifest: str
    omitted: list[str]
    keys: bool
    objects: list[Document]
    values: list[Value]
    configuration: Configuration
    warnings: list[str]


def review_of(result: DryRun, project: Project, form: ParameterForm | None = None) -> Review:
    """Return the review of a dry run that nothing refused. form: where its values came from, None for a manifest."""
    runtime = find_runtime(result.manifest, project)
    manifest, _ = export_trainjob(result.manifest)
    _, secrets = mask_object(result.manifest)
    metadata = result.manifest.get("metadata", {})
    return Review(
        name=str(metadata.get("name", "")),
        namespace=str(metadata.get("namespace", "")),
        runtime=str(result.manifest["spec"]["runtimeRef"].get("name", "")),
        facts=facts(result.origins),
        manifest=dump_manifest(manifest),
        omitted=[spoken_path(result.manifest, path) for path in secrets],
        keys=runtime is not None and builders.needs_keys(runtime),
        objects=[document(obj) for obj in result.objects],
        values=values_of(form) if form else [],
        configuration=arrange(result.origins),
        warnings=[
            *(sentence(f.message) for f in result.findings.warnings),
            *_secret_warnings(result.manifest, secrets),
        ],
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
    runtimes = parameter.placeholder if parameter.common else ""
    return Value(parameter.title, runtimes, *(RUNTIME if runtimes else ("", "")))


_RESOURCES = {"cpu": "CPU", "memory": "Memory", "nvidia.com/gpu": "GPUs"}


def _resource(field: str) -> str:
    for part in ("requests[", "limits["):
        if field.startswith(part):
            return field.removeprefix(part).removesuffix("]")
    return ""


def _secret_warnings(manifest: dict[str, Any], paths: list[str]) -> list[str]:
    if not paths:
        return []
    where = ", ".join(spoken_path(manifest, path) for path in paths[:3]) + (" and more" if len(paths) > 3 else "")
    return [
        f"A value looks like a secret: {where}. Whoever may read TrainJobs in the cluster can read it. "
        "Better keep it in a Secret and refer to that."
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
