"""The pods that fetch a data set and a model before training starts."""

from .containers import INITIALIZERS, container, set_env, value_env
from .draft import Draft


def apply_initializers(draft: Draft) -> None:
    """Give each initializer its storage URI, environment and Secret.

    An empty URI keeps the runtime's (conformance obj-initializer-008).
    """
    wanted = draft.spec.get("initializer") or {}
    for step in INITIALIZERS:
        settings = wanted.get(step.removesuffix("-initializer"))
        if not settings:
            continue
        for job in draft.with_role(step):
            target = container(job, step)
            if target is None:
                continue
            if uri := settings.get("storageUri"):
                set_env(target, value_env([("STORAGE_URI", uri)]))
            set_env(target, settings.get("env") or [])
            if reference := settings.get("secretRef"):
                sources = target.setdefault("envFrom", [])
                sources.append({"secretRef": {"name": reference.get("name", "")}})
