"""The pods that fetch a data set and a model before training starts."""

from jobs.spec.storage import parse_uri

from .containers import INITIALIZERS, Obj, add_volume, container, mount, pod_spec, set_env, value_env
from .draft import Draft, Roles

WORKSPACE = "/workspace"


def apply_initializers(draft: Draft, who: Roles) -> None:
    """Give each initializer its storage URI, environment and Secret.

    An empty URI keeps the runtime's (conformance obj-initializer-008).
    """
    wanted = draft.spec.get("initializer") or {}
    for step in INITIALIZERS:
        settings = wanted.get(step.removesuffix("-initializer"))
        if not settings:
            continue
        uri = str(settings.get("storageUri") or "")
        for job in draft.with_role(step):
            target = container(job, step)
            if target is None:
                continue
            if uri:
                set_env(target, value_env([("STORAGE_URI", uri)]))
            set_env(target, settings.get("env") or [])
            if reference := settings.get("secretRef"):
                sources = target.setdefault("envFrom", [])
                sources.append({"secretRef": {"name": reference.get("name", "")}})
        if parse_uri(uri).scheme == "pvc":
            _mount_claim(draft, who, step, uri)


def _mount_claim(draft: Draft, who: Roles, step: str, uri: str) -> None:
    """Mount a claim (`pvc://CLAIM/PATH`) where an initializer would have downloaded to, for it and for the ranks.

    Upstream's initializers know no claims, so theirs only looks whether the path is there.
    """
    kind = step.removesuffix("-initializer")
    path = f"{WORKSPACE}/{kind}"
    for job in draft.with_role(step):
        if (target := container(job, step)) is not None:
            _mount(job, target, kind, uri)
            target["command"] = ["/bin/sh", "-c", f"ls -d {path}"]
            target.pop("args", None)
    for job in who.ranks:
        if (target := who.main(job)) is not None:
            _mount(job, target, kind, uri)


def _mount(job: Obj, target: Obj, kind: str, uri: str) -> None:
    parts = parse_uri(uri)
    volume = f"trainui-{kind}"
    add_volume(pod_spec(job), {"name": volume, "persistentVolumeClaim": {"claimName": parts.place, "readOnly": True}})
    inside = {"subPath": parts.path.strip("/")} if parts.path.strip("/") else {}
    mount(target, volume, f"{WORKSPACE}/{kind}", readOnly=True, **inside)
