"""Submit checks: what the API server takes and what then means nothing or fails later. Forms, REST and dry run refuse it."""

from collections.abc import Iterator
from typing import Any

from jobs.spec.names import longest_generated, name_budget, num_nodes, over_budget
from jobs.spec.resources import check_resources
from jobs.spec.rules.accounted import merged_with_runtime
from jobs.spec.rules.base import Case
from jobs.spec.rules.initializers import ROLES
from jobs.spec.rules.patches import job_patches
from jobs.spec.storage import check_uri
from runtimes.spec.access import as_list, as_map, dig, maps, numbered
from runtimes.spec.dns import LABEL_MAX, is_label_1123, is_label_key, is_label_value
from runtimes.spec.env import MAX_ENTRY_BYTES, check_entry
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import ANNOTATION_NUM_NODES

_OPERATORS = ("", "Exists", "Equal", "Lt", "Gt")
_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def name_fits(case: Case) -> Iterator[Finding]:
    """Every pod name made from the job's name fits into 63 characters (trainer#2735)."""
    metadata = as_map(case.trainjob.get("metadata"))
    given, prefix = metadata.get("name"), metadata.get("generateName")
    budget = name_budget(case.runtime, num_nodes(case.trainjob))
    if isinstance(given, str) and 0 < len(given) <= LABEL_MAX:
        yield from over_budget(given, budget)
    elif not given and isinstance(prefix, str) and prefix:
        yield from over_budget(longest_generated(prefix), budget, "metadata.generateName")


def some_nodes(case: Case) -> Iterator[Finding]:
    """Zero nodes mean the runtime's default by other channels; who writes 0 in a form means something else."""
    if case.trainer.get("numNodes") == 0:
        message = "must be at least 1; leave it out to use the runtime's number of nodes"
        yield Finding("spec.trainer.numNodes", "out_of_range", message, {"minimum": 1})


def resize_annotation(case: Case) -> Iterator[Finding]:
    """The annotation that resizes a job holds a whole number of nodes."""
    raw = dig(case.trainjob, "metadata", "annotations", ANNOTATION_NUM_NODES)
    if raw is not None and not (str(raw).isascii() and str(raw).isdigit() and 0 < int(raw) < 2**31):
        path = f"metadata.annotations[{ANNOTATION_NUM_NODES}]"
        yield Finding(path, "out_of_range", "must be a whole number of nodes, at least 1", {"minimum": 1})


def image(case: Case) -> Iterator[Finding]:
    """An image is not empty and holds no blanks: no pod could pull it."""
    given = case.trainer.get("image")
    if given is not None and (not given or given != "".join(given.split())):
        yield Finding(
            "spec.trainer.image", "invalid", "must be the name of an image; leave it out to use the runtime's"
        )


def storage_uris(case: Case) -> Iterator[Finding]:
    """A storage URI is one that an initializer can read (upstream fails when its pod runs)."""
    for role in ROLES:
        uri = dig(case.spec, "initializer", role, "storageUri")
        if uri is not None:
            yield from check_uri(uri, role, f"spec.initializer.{role}.storageUri")[1]


def secret_names(case: Case) -> Iterator[Finding]:
    """A reference to a Secret names one."""
    for role in ROLES:
        reference = dig(case.spec, "initializer", role, "secretRef")
        if reference is not None and not as_map(reference).get("name"):
            yield Finding(f"spec.initializer.{role}.secretRef.name", "required", "name the Secret")


def environment(case: Case) -> Iterator[Finding]:
    """Variables have names and values that a program can receive."""
    lists = [("spec.trainer.env", case.trainer.get("env"))]
    lists += [(f"spec.initializer.{role}.env", dig(case.spec, "initializer", role, "env")) for role in ROLES]
    for path, entries in lists:
        for index, entry in numbered(entries):
            value = entry.get("value")
            yield from check_entry(entry.get("name", ""), value if isinstance(value, str) else None, f"{path}[{index}]")
            if value is not None and entry.get("valueFrom") is not None:
                message = f"{entry.get('name')} cannot have both a value and a reference"
                yield Finding(f"{path}[{index}].valueFrom", "conflict", message)


def arguments(case: Case) -> Iterator[Finding]:
    """Each word of command and args is one that a program can be given: Linux refuses longer ones (execve)."""
    for field in ("command", "args"):
        for index, word in enumerate(as_list(case.trainer.get(field))):
            path, size = f"spec.trainer.{field}[{index}]", len(str(word).encode("utf-8", "surrogatepass"))
            if size > MAX_ENTRY_BYTES:
                message = f"is {size} bytes long: a program takes at most {MAX_ENTRY_BYTES} in one argument; put it into a file or a ConfigMap"
                yield Finding(path, "too_large", message, {"max_bytes": MAX_ENTRY_BYTES})


def resources(case: Case) -> Iterator[Finding]:
    """The pod can be created with what the job asks for, alone and laid over the runtime's resources."""
    path = "spec.trainer.resourcesPerNode"
    own = case.trainer.get("resourcesPerNode")
    found = list(check_resources(own, path))
    yield from found
    if own and not found:
        yield from check_resources(merged_with_runtime(case), path)


def tolerations(case: Case) -> Iterator[Finding]:
    """Tolerations of patches have an operator and effect that there is (JobSet refuses others later)."""
    for path, pod in _patched_pods(case):
        for index, toleration in numbered(pod.get("tolerations")):
            if toleration.get("operator", "") not in _OPERATORS:
                message = f'"{toleration["operator"]}" is no operator: use Exists or Equal'
                yield Finding(f"{path}.tolerations[{index}].operator", "not_supported", message)
            if toleration.get("effect", "") not in _EFFECTS:
                message = f'"{toleration["effect"]}" is no effect: use NoSchedule, PreferNoSchedule or NoExecute'
                yield Finding(f"{path}.tolerations[{index}].effect", "not_supported", message)


def node_selectors(case: Case) -> Iterator[Finding]:
    """Node selectors of patches are labels."""
    for path, pod in _patched_pods(case):
        yield from _labels(f"{path}.nodeSelector", pod.get("nodeSelector"))


def volumes(case: Case) -> Iterator[Finding]:
    """Volumes of patches have names, a source, and mounts an absolute path."""
    for path, pod in _patched_pods(case):
        for index, volume in numbered(pod.get("volumes")):
            if not is_label_1123(str(volume.get("name", ""))):
                message = "must be a lower case name of letters, digits and '-'"
                yield Finding(f"{path}.volumes[{index}].name", "invalid_name", message)
        for kind in ("initContainers", "containers"):
            for index, container in numbered(pod.get(kind)):
                for place, mount in numbered(container.get("volumeMounts")):
                    if not mount.get("mountPath"):
                        yield Finding(
                            f"{path}.{kind}[{index}].volumeMounts[{place}].mountPath", "required", "is required"
                        )


def labels(case: Case) -> Iterator[Finding]:
    """Labels of the job and of patches are ones the API server takes."""
    yield from _labels("metadata.labels", dig(case.trainjob, "metadata", "labels"))
    for index, patch in numbered(case.spec.get("runtimePatches")):
        template = dig(patch, "trainingRuntimeSpec", "template")
        base = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template"
        yield from _labels(f"{base}.metadata.labels", dig(template, "metadata", "labels"))
    for path, patch, _job in job_patches(case):
        for place in (("template",), ("template", "spec", "template")):
            yield from _labels(f"{path}.{'.'.join(place)}.metadata.labels", dig(patch, *place, "metadata", "labels"))


def _labels(path: str, given: Any) -> Iterator[Finding]:
    for key, value in as_map(given).items():
        if not is_label_key(key):
            yield Finding(f"{path}[{key}]", "invalid_name", f'"{key}" cannot be the key of a label')
        elif isinstance(value, str) and not is_label_value(value):
            message = f'"{value[:80]}" cannot be the value of a label: up to 63 letters, digits, "-", "_" and "."'
            yield Finding(f"{path}[{key}]", "invalid_name", message)


def _patched_pods(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, patch, _job in job_patches(case):
        pod = dig(patch, "template", "spec", "template", "spec")
        if isinstance(pod, dict):
            yield f"{path}.template.spec.template.spec", pod


def secret_keys(case: Case) -> Iterator[Finding]:
    """A variable that comes from a Secret or ConfigMap names it."""
    for index, entry in numbered(case.trainer.get("env")):
        for source in ("secretKeyRef", "configMapKeyRef"):
            reference = dig(entry, "valueFrom", source)
            if isinstance(reference, dict) and not (reference.get("name") and reference.get("key")):
                path = f"spec.trainer.env[{index}].valueFrom.{source}"
                yield Finding(path, "required", f"{entry.get('name')} needs the name and the key of the {source[:-6]}")


def gated(case: Case) -> Iterator[Finding]:
    """Scheduling gates of patches are named (a pod with an unnamed gate is refused)."""
    for path, pod in _patched_pods(case):
        for index, gate in enumerate(maps(pod.get("schedulingGates"))):
            if not gate.get("name"):
                yield Finding(f"{path}.schedulingGates[{index}].name", "required", "is required")
