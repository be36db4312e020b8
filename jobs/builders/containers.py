"""Small edits of pod specs as plain dicts: find, insert, replace by key, and nothing else."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any

Obj = dict[str, Any]

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
INITIALIZERS = ("dataset-initializer", "model-initializer")
NODE = "node"
INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def pod_template(rjob: Obj) -> Obj:
    """Return the pod template of a replicated job, made if it was missing."""
    spec: Obj = rjob.setdefault("template", {}).setdefault("spec", {})
    template: Obj = spec.setdefault("template", {})
    return template


def pod_spec(rjob: Obj) -> Obj:
    """Return the pod spec of a replicated job, made if it was missing."""
    spec: Obj = pod_template(rjob).setdefault("spec", {})
    return spec


def role(rjob: Obj) -> str | None:
    """Return the ancestor step of a replicated job (`trainer`, `dataset-initializer`, ...), or None."""
    labels = (rjob.get("template", {}).get("metadata") or {}).get("labels") or {}
    return labels.get(ANCESTOR) or None


def all_containers(pod: Obj) -> Iterator[Obj]:
    """Yield the init containers, then the containers of a pod spec."""
    yield from pod.get("initContainers") or []
    yield from pod.get("containers") or []


def container(rjob: Obj, *names: str) -> Obj | None:
    """Return the first container with one of the names, the earlier name first; None if there is none."""
    containers: list[Obj] = pod_spec(rjob).get("containers") or []
    for name in names:
        for candidate in containers:
            if candidate.get("name") == name:
                return candidate
    return None


def put(items: list[Obj], entry: Obj, key: str) -> None:
    """Replace the element with the same key in place, or append it."""
    for index, item in enumerate(items):
        if item.get(key) == entry[key]:
            items[index] = entry
            return
    items.append(entry)


def set_env(target: Obj, entries: Iterable[Obj], *, first: bool = False) -> None:
    """Set environment entries by name; the new value takes the place of the old one.

    first: new names go before the old ones, so that later entries may refer to them by `$(NAME)`.
    """
    env: list[Obj] = target.get("env") or []
    known = {entry.get("name") for entry in env}
    fresh: list[Obj] = []
    for entry in entries:
        if entry["name"] in known:
            put(env, copy.deepcopy(entry), "name")
        else:
            put(fresh, copy.deepcopy(entry), "name")
    if merged := [*fresh, *env] if first else [*env, *fresh]:
        target["env"] = merged


def value_env(values: Iterable[tuple[str, str]]) -> list[Obj]:
    """Return literal environment entries."""
    return [{"name": name, "value": value} for name, value in values]


def index_env(name: str) -> Obj:
    """Return the entry that gives a pod its completion index."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}}


def add_port(target: Obj, number: int) -> None:
    """Open a TCP port of a container, unless it is open already.

    Keyed by number and protocol: upstream took two unnamed ports for the same one (kubeflow/trainer#3925).
    """
    ports: list[Obj] = target.setdefault("ports", [])
    if not any(p.get("containerPort") == number and p.get("protocol", "TCP") == "TCP" for p in ports):
        ports.append({"containerPort": number})


def mount(target: Obj, volume: str, path: str, **extra: Any) -> None:
    """Mount a volume in a container; what was mounted at that path before gives way."""
    put(target.setdefault("volumeMounts", []), {"mountPath": path, "name": volume, **extra}, "mountPath")


def add_volume(pod: Obj, volume: Obj) -> None:
    """Add a volume to a pod spec; one of the same name gives way."""
    put(pod.setdefault("volumes", []), volume, "name")


def runs_as_root(pod: Obj, target: Obj) -> bool:
    """Return whether a container runs as root, as far as its spec tells: no user named counts as root."""
    for source in (target, pod):
        context = source.get("securityContext") or {}
        if context.get("runAsUser") is not None:
            return bool(context["runAsUser"] == 0)
    return True


def fs_group(pod: Obj) -> int | None:
    """Return the fsGroup of a pod spec, if it has one."""
    group: int | None = (pod.get("securityContext") or {}).get("fsGroup")
    return group


def private_mode(pod: Obj, target: Obj) -> int:
    """Return the file mode of a private key: 0600 for root without fsGroup, else 0640.

    ssh refuses a key of its own user that others can read, and kubelet adds group read where there is an fsGroup
    (kubeflow/trainer#3262, kubeflow/mpi-operator#429).
    """
    return 0o600 if runs_as_root(pod, target) and fs_group(pod) is None else 0o640
