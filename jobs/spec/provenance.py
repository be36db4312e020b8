"""Where each effective value of a job comes from: default, policy, runtime, blueprint parameter, the job itself, a patch."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.spec.accelerators import cpu_count, device_count, merged_resources
from jobs.spec.masking import mask_arguments, mask_text, masked_value
from jobs.spec.names import num_nodes
from jobs.spec.rules.accounted import find_trainer
from jobs.spec.rules.initializers import ROLES, find_initializer
from runtimes.spec.access import as_list, as_map, by_name, containers, dig, maps, numbered, policies
from runtimes.spec.env import RESERVED
from runtimes.spec.fields import covers
from runtimes.spec.kinds import ANNOTATION_NUM_NODES, NODE

DEFAULT, POLICY, RUNTIME, PARAMETER, JOB, PATCH = "default", "policy", "runtime", "parameter", "job", "patch"


@dataclass(frozen=True)
class Origin:
    """One effective value and its source.

    replicated_job: which pods it is about ("" for the job as a whole). field: `image`, `command`, `env[NAME]`, `requests[cpu]`, `nodes`, ...
    value: as it may be shown, secrets hidden. source: default, policy, runtime, parameter, job or patch. name: which one: of the parameter,
    the runtime, the policy, or the manager of the patch. path: the field that sets it, in the TrainJob or (from `runtime`) the runtime.
    overrides: the sources whose value it replaces, weakest first.
    """

    replicated_job: str
    field: str
    value: Any
    source: str
    name: str = ""
    path: str = ""
    overrides: tuple[str, ...] = ()


class _Sources:
    """Names the source of what a TrainJob sets: the parameter that set the field, or the job."""

    def __init__(self, trainjob: dict[str, Any], runtime: dict[str, Any] | None, parameters: Mapping[str, str]) -> None:
        self.trainjob, self.runtime, self.parameters = trainjob, runtime, parameters
        self.runtime_name = str(dig(runtime, "metadata", "name") or dig(trainjob, "spec", "runtimeRef", "name") or "")

    def of_job(self, path: str) -> tuple[str, str]:
        owners = [name for field, name in self.parameters.items() if field == path]
        owners = owners or [
            name for field, name in self.parameters.items() if covers(field, path) or covers(path, field)
        ]
        return (PARAMETER, ", ".join(dict.fromkeys(owners))) if owners else (JOB, "")

    def _named(self, source: str) -> str:
        if source == POLICY:
            return next(iter(policies(self.runtime)), "")
        return self.runtime_name if source == RUNTIME else ""

    def origin(self, where: str, field: str, layers: Iterable[tuple[str, Any, str]]) -> Origin | None:
        """The origin of the last layer that sets something. Layers are (source, value, path), weakest first; None sets nothing."""
        found: list[Origin] = []
        for source, value, path in layers:
            if value is None:
                continue
            kind, name = self.of_job(path) if source == JOB else (source, self._named(source))
            found.append(Origin(where, field, value, kind, name, path, tuple(origin.source for origin in found)))
        return found[-1] if found else None


def provenance(
    trainjob: dict[str, Any], runtime: dict[str, Any] | None, parameters: Mapping[str, str] | None = None
) -> list[Origin]:
    """Return the origins of image, command, args, env, resources, counts, initializers and patches of a job.

    runtime: the job's snapshot, else its runtime; None leaves out what only it would tell. parameters: which parameter of the blueprint set
    which field (`runtimes.spec.parameters.field_sources`, for those that were given a value). The order is fixed: counts first.
    """
    sources = _Sources(trainjob, runtime, parameters or {})
    found = [_nodes(sources), _processes(sources), *_trainer(sources), *_initializers(sources)]
    return [*(origin for origin in found if origin is not None), *_patches(trainjob)]


def _nodes(sources: _Sources) -> Origin | None:
    annotated = dig(sources.trainjob, "metadata", "annotations", ANNOTATION_NUM_NODES)
    return sources.origin(
        "",
        "nodes",
        [
            (DEFAULT, 1, ""),
            (RUNTIME, dig(sources.runtime, "spec", "mlPolicy", "numNodes"), "spec.mlPolicy.numNodes"),
            (JOB, dig(sources.trainjob, "spec", "trainer", "numNodes") or None, "spec.trainer.numNodes"),
            (JOB, num_nodes(sources.trainjob) if annotated else None, f"metadata.annotations[{ANNOTATION_NUM_NODES}]"),
        ],
    )


def _processes(sources: _Sources) -> Origin | None:
    """Processes per node: stated, or derived from the merged resources by the policy."""
    policy = next(iter(policies(sources.runtime)), "")
    path = f"spec.mlPolicy.{policy}.numProcPerNode"
    stated = dig(sources.runtime, "spec", "mlPolicy", policy, "numProcPerNode")
    resources = _resources(sources)
    devices = device_count(resources)
    derived = None
    if policy == "torch":
        derived = devices or max(1, cpu_count(resources))
    elif policy in ("mpi", "xgboost") and devices > 1 and stated in (None, 1):
        derived = devices
    layers = [(DEFAULT, 1 if policy else None, ""), (RUNTIME, stated, path), (POLICY, derived, "")]
    layers.append((JOB, dig(sources.trainjob, "spec", "trainer", "numProcPerNode"), "spec.trainer.numProcPerNode"))
    return sources.origin("", "processes per node", layers)


def _resources(sources: _Sources) -> dict[str, dict[str, Any]]:
    _job, container = find_trainer(sources.runtime) or ("", {})
    return merged_resources(container.get("resources"), dig(sources.trainjob, "spec", "trainer", "resourcesPerNode"))


def _trainer(sources: _Sources) -> Iterator[Origin | None]:
    where, container = find_trainer(sources.runtime) or (NODE, {})
    trainer = as_map(dig(sources.trainjob, "spec", "trainer"))
    image = [
        (RUNTIME, container.get("image") or None, "image"),
        (JOB, trainer.get("image") or None, "spec.trainer.image"),
    ]
    yield sources.origin(where, "image", image)
    for field in ("command", "args"):
        layers = [
            (RUNTIME, _shown(container.get(field)), field),
            (JOB, _shown(trainer.get(field)), f"spec.trainer.{field}"),
        ]
        yield sources.origin(where, field, layers)
    yield from _env(sources, where, container.get("env"), trainer.get("env"), "spec.trainer.env")
    resources = as_map(trainer.get("resourcesPerNode"))
    for part in ("requests", "limits"):
        own, base = as_map(resources.get(part)), as_map(as_map(container.get("resources")).get(part))
        for name in sorted({*own, *base}):
            key = f"[{name}]" if "." in name or "/" in name else f".{name}"
            path = f"spec.trainer.resourcesPerNode.{part}{key}"
            layers = [(RUNTIME, base.get(name), f"resources.{part}{key}"), (JOB, own.get(name), path)]
            yield sources.origin(where, f"{part}[{name}]", layers)


def _shown(values: Any) -> list[Any] | None:
    return mask_arguments(values) if isinstance(values, list) and values else None


def _env(sources: _Sources, where: str, base: Any, own: Any, path: str) -> Iterator[Origin | None]:
    before, after = {e.get("name"): e for e in maps(base)}, {e.get("name"): e for e in maps(own)}
    policy = next(iter(policies(sources.runtime)), "") if path == "spec.trainer.env" else ""
    for name in dict.fromkeys([*before, *after]):
        layers = [
            (RUNTIME, _env_value(before.get(name)), f"env[{name}]"),
            (JOB, _env_value(after.get(name)), f"{path}[{name}]"),
        ]
        yield sources.origin(where, f"env[{name}]", layers)
    for name in RESERVED.get(policy, ()):
        yield Origin(where, f"env[{name}]", "set for every rank", POLICY, policy)


def _env_value(entry: dict[str, Any] | None) -> str | None:
    """The value of a variable as it may be shown: hidden if it is a secret, a reference by its names."""
    if entry is None:
        return None
    for kind, reference in as_map(entry.get("valueFrom")).items():
        names = [
            str(reference[k])
            for k in ("name", "key", "fieldPath", "resource")
            if isinstance(reference, dict) and reference.get(k)
        ]
        return f"{kind} {'/'.join(names)}"
    value = entry.get("value")
    return str(masked_value(str(entry.get("name")), value)) if value is not None else ""


def _initializers(sources: _Sources) -> Iterator[Origin | None]:
    for role, step in ROLES.items():
        job = find_initializer(sources.runtime, step)
        container = as_map(by_name(containers(job), step) if job else None)
        own = as_map(dig(sources.trainjob, "spec", "initializer", role))
        where = str(as_map(job).get("name") or step)
        entry = by_name(maps(container.get("env")), "STORAGE_URI")
        uri = own.get("storageUri") or None
        path = f"spec.initializer.{role}"
        layers = [
            (RUNTIME, _env_value(entry), "env[STORAGE_URI]"),
            (JOB, mask_text(uri) if uri else None, f"{path}.storageUri"),
        ]
        yield sources.origin(where, "storage URI", layers)
        secret = dig(own, "secretRef", "name") or None
        yield sources.origin(where, "secret", [(JOB, secret, f"{path}.secretRef")])
        base = [e for e in maps(container.get("env")) if e.get("name") != "STORAGE_URI"]
        yield from _env(sources, where, base, own.get("env"), f"{path}.env")


def _patches(trainjob: dict[str, Any]) -> Iterator[Origin]:
    """What each patch sets, in order: a later one overrides what an earlier one set at the same field."""
    seen: dict[tuple[str, str], list[str]] = {}
    for index, patch in numbered(dig(trainjob, "spec", "runtimePatches")):
        manager = str(patch.get("manager") or "")
        template = dig(patch, "trainingRuntimeSpec", "template")
        base = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template"
        found = [
            ("", f"{part}[{k}]", v, f"{base}.metadata.{part}[{k}]")
            for part in ("labels", "annotations")
            for k, v in _meta(template, part)
        ]
        for place, job in numbered(dig(template, "spec", "replicatedJobs")):
            found += _job_patch(job, f"{base}.spec.replicatedJobs[{place}].template")
        for where, field, value, path in found:
            earlier = seen.setdefault((where, field), [])
            yield Origin(where, field, value, PATCH, manager, path, tuple(f"{PATCH} {name}" for name in earlier))
            earlier.append(manager)


def _meta(holder: Any, part: str) -> list[tuple[str, Any]]:
    return list(as_map(dig(holder, "metadata", part)).items())


def _job_patch(job: dict[str, Any], path: str) -> list[tuple[str, str, Any, str]]:
    where = str(job.get("name") or "")
    pod = as_map(dig(job, "template", "spec", "template", "spec"))
    inside = f"{path}.spec.template.spec"
    found: list[tuple[str, str, Any, str]] = []
    for what, holder, base in (
        ("job", job.get("template"), path),
        ("pod", dig(job, "template", "spec", "template"), f"{path}.spec.template"),
    ):
        for part in ("labels", "annotations"):
            found += [(where, f"{what} {part}[{k}]", v, f"{base}.metadata.{part}[{k}]") for k, v in _meta(holder, part)]
    for field, value in pod.items():
        if field not in ("containers", "initContainers"):
            found.append((where, field, value, f"{inside}.{field}"))
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(as_list(pod.get(kind))):
            found += _container_patch(where, as_map(container), f"{inside}.{kind}[{index}]")
    return found


def _container_patch(where: str, container: dict[str, Any], path: str) -> list[tuple[str, str, Any, str]]:
    name = container.get("name")
    found = [
        (where, f"{name} env[{entry.get('name')}]", _env_value(entry), f"{path}.env[{index}]")
        for index, entry in numbered(container.get("env"))
    ]
    more = (field for field in ("volumeMounts", "securityContext") if container.get(field))
    return found + [(where, f"{name} {field}", container[field], f"{path}.{field}") for field in more]
