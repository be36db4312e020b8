"""`spec.runtimePatches`: strategic merge of each manager's patch onto the runtime's JobSet template."""

import copy
from typing import Any

from runtimes.spec.findings import Finding

Obj = dict[str, Any]

# Lists that merge by a key; every other list is replaced as a whole (core/v1 and JobSet patchMergeKey tags).
MERGE_KEYS = {
    "replicatedJobs": "name",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
}


def strategic_merge(original: Any, patch: Any) -> Any:
    """Return `original` with `patch` merged in by the rules of Kubernetes' strategic merge patch.

    Maps merge by key, lists with a merge key merge by element, other lists are replaced. A null changes nothing: the API
    server drops it from a typed field before anyone could read it as a removal.
    """
    if not isinstance(original, dict) or not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged: Obj = dict(original)
    for key, value in patch.items():
        if value is None:
            continue
        if isinstance(value, list) and isinstance(merged.get(key), list) and key in MERGE_KEYS:
            merged[key] = _merge_lists(merged[key], value, MERGE_KEYS[key])
        else:
            merged[key] = strategic_merge(merged.get(key), value)
    return merged


def _merge_lists(original: list[Any], patch: list[Any], key: str) -> list[Any]:
    """Merge two keyed lists in the order Kubernetes gives them.

    Patched elements stand in the patch's order; the others keep theirs and come first only where they stood in
    front of the patched one, so that a new element goes to the front (`mergeSortedSlice` of apimachinery).
    """
    places = {element.get(key): place for place, element in enumerate(original)}
    by_key = {element.get(key): element for element in original}
    patched: list[Obj] = []
    for element in patch:
        name = element.get(key)
        same = next((i for i, done in enumerate(patched) if done.get(key) == name), None)
        if same is not None:
            patched[same] = strategic_merge(patched[same], element)
        else:
            patched.append(strategic_merge(by_key.get(name, {}), element))
    names = {element.get(key) for element in patched}
    others = [element for element in original if element.get(key) not in names]
    result: list[Any] = []
    while others and patched:
        place = places.get(patched[0].get(key))
        before = place is not None and places[others[0].get(key)] < place
        result.append(others.pop(0) if before else patched.pop(0))
    return [*result, *others, *patched]


def _check_keys(value: Any, path: str, findings: list[Finding]) -> None:
    """Find list entries without the key they would be merged by."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        where = f"{path}.{key}"
        entries = inner if isinstance(inner, list) else [inner]
        for index, entry in enumerate(entries):
            place = f"{where}[{index}]" if isinstance(inner, list) else where
            merge_key = MERGE_KEYS.get(key) if isinstance(inner, list) else None
            if merge_key and isinstance(entry, dict) and not entry.get(merge_key):
                findings.append(Finding(f"{place}.{merge_key}", "required", f"An entry of {key} needs a {merge_key}."))
            _check_keys(entry, place, findings)


def _check_targets(template: Obj, changes: Obj, path: str, findings: list[Finding]) -> None:
    """Find patches for replicated jobs or containers that the runtime does not have: they would make new, broken ones."""
    known = {job.get("name"): job for job in (template.get("spec") or {}).get("replicatedJobs") or []}
    for index, job in enumerate((changes.get("spec") or {}).get("replicatedJobs") or []):
        place = f"{path}.spec.replicatedJobs[{index}]"
        if job.get("name") not in known:
            message = f"The runtime has no replicated job {job.get('name')}."
            findings.append(Finding(f"{place}.name", "unknown_reference", message))
            continue
        has, wants = pod_spec_of(known[job["name"]]), pod_spec_of(job)
        for kind in ("initContainers", "containers"):
            names = {container.get("name") for container in has.get(kind) or []}
            for number, container in enumerate(wants.get(kind) or []):
                if container.get("name") and container["name"] not in names:
                    field = f"{place}.template.spec.template.spec.{kind}[{number}].name"
                    message = f"{job['name']} has no container {container['name']} among its {kind}."
                    findings.append(Finding(field, "unknown_reference", message))


def pod_spec_of(job: Obj) -> Obj:
    """Return the pod spec inside a replicated job, empty if it has none."""
    template = (job.get("template") or {}).get("spec") or {}
    return (template.get("template") or {}).get("spec") or {}


def check_patches(template: Obj, patches: list[Obj]) -> list[Finding]:
    """Return what is wrong with runtime patches: unknown replicated jobs or containers, entries without their key.

    Upstream takes them, and JobSet or Job refuse the result later (facts: kubeflow-trainer 8.2).
    """
    findings: list[Finding] = []
    for index, patch in enumerate(patches):
        path = f"spec.runtimePatches[{index}].trainingRuntimeSpec.template"
        changes = ((patch.get("trainingRuntimeSpec") or {}).get("template")) or {}
        _check_keys(changes, path, findings)
        _check_targets(template, changes, path, findings)
    return findings


def apply_patches(template: Obj, patches: list[Obj]) -> Obj:
    """Return the runtime's template with all runtime patches applied in order; later ones win.

    template: `spec.template` of a runtime (`metadata` and the JobSet `spec`).
    patches: `spec.runtimePatches` of the TrainJob. Replicated jobs keep the order of the runtime: what they depend on
    must stay in front of them.
    """
    result = copy.deepcopy(template)
    order = [job.get("name") for job in (result.get("spec") or {}).get("replicatedJobs") or []]
    for patch in patches:
        changes = ((patch.get("trainingRuntimeSpec") or {}).get("template")) or {}
        metadata = changes.get("metadata") or {}
        for kind in ("labels", "annotations"):
            if metadata.get(kind):
                target = result.setdefault("metadata", {})
                target[kind] = {**(target.get(kind) or {}), **metadata[kind]}
        if changes.get("spec"):
            result["spec"] = strategic_merge(result.get("spec") or {}, changes["spec"])
            jobs = result["spec"].get("replicatedJobs") or []
            jobs.sort(key=lambda job: order.index(job.get("name")) if job.get("name") in order else len(order))
    return result
