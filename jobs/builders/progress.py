"""How a program reports progress and keeps artifacts: two addresses and the path of a token."""

from .containers import Obj, add_volume, fs_group, mount, pod_spec, runs_as_root, set_env, value_env
from .draft import Draft, Roles
from .keys import encoded

VOLUME = "trainui-progress"
PATH = "/var/run/secrets/trainui/progress"
TOKEN = "token"  # noqa: S105 (the name of a file)


def _mode(draft: Draft, pod: Obj, target: Obj) -> int:
    """Return the mode of the token file: as private as the container's user can still read it."""
    if fs_group(pod) is not None:
        return 0o640
    named = (target.get("securityContext") or {}).get("runAsUser", (pod.get("securityContext") or {}).get("runAsUser"))
    if named is None and draft.capabilities.pod_dns:
        return 0o644  # the image chooses the user, and kubelet makes root the owner of the file
    return 0o600 if runs_as_root(pod, target) else 0o644


def add_progress(draft: Draft, who: Roles) -> None:
    """Give the trainer's containers, and all that run ranks, what Kubeflow's progress report reads.

    The token lies in a Secret of the job; without a progress endpoint nothing is added.
    """
    progress = draft.capabilities.progress
    if progress is None:
        return
    secret = f"{draft.name}-{VOLUME}"
    seen: list[Obj] = []
    for job in [*who.trainers, *who.ranks]:
        target = who.main(job)
        if target is None or any(job is other for other in seen):
            continue
        seen.append(job)
        pod = pod_spec(job)
        item = {"key": TOKEN, "path": TOKEN, "mode": _mode(draft, pod, target)}
        add_volume(pod, {"name": VOLUME, "secret": {"secretName": secret, "items": [item]}})
        mount(target, VOLUME, PATH, readOnly=True)
        addresses = [
            ("KUBEFLOW_TRAINER_SERVER_URL", progress.url),
            ("KUBEFLOW_TRAINER_SERVER_TOKEN", f"{PATH}/{TOKEN}"),
            ("TRAINUI_ARTIFACTS_URL", progress.artifacts_url),
        ]
        set_env(target, value_env(addresses), first=True)
    draft.objects.append(draft.child("v1", "Secret", secret, type="Opaque", data={TOKEN: encoded(progress.token)}))
