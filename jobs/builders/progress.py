"""How a program reports progress and keeps artifacts: two addresses and the path of a token.

Where the cluster makes tokens for pods, names and paths are those of upstream's TrainJobStatus policy.
"""

from .capabilities import Progress
from .containers import Obj, add_volume, fs_group, mount, pod_spec, runs_as_root, set_env, value_env
from .draft import Draft, Roles
from .keys import encoded

VOLUME = "trainui-progress"
PATH = "/var/run/secrets/trainui/progress"
TOKEN = "token"  # noqa: S105 (the name of a file)
POD_VOLUME = "kubeflow-trainer-token"
POD_PATH = "/var/run/secrets/kubeflow/trainer"
POD_TOKEN_SECONDS = 3600  # kubelet renews it in time
AUTHORITY = "ca.crt"


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

    The token is the pod's own, or lies in a Secret of the job; without a progress endpoint nothing is added.
    """
    progress = draft.capabilities.progress
    if progress is None:
        return
    seen: list[Obj] = []
    for job in [*who.trainers, *who.ranks]:
        target = who.main(job)
        if target is None or any(job is other for other in seen):
            continue
        seen.append(job)
        pod = pod_spec(job)
        path = POD_PATH if progress.audience else PATH
        add_volume(pod, _projected(draft, progress) if progress.audience else _secret(draft, pod, target))
        mount(target, POD_VOLUME if progress.audience else VOLUME, path, readOnly=True)
        set_env(target, value_env(_addresses(progress, path)), first=True)
    if progress.audience and progress.authority:
        draft.objects.append(draft.child("v1", "ConfigMap", _bundle(draft), data={AUTHORITY: progress.authority}))
    if not progress.audience:
        data = {TOKEN: encoded(progress.token)}
        draft.objects.append(draft.child("v1", "Secret", f"{draft.name}-{VOLUME}", type="Opaque", data=data))


def _addresses(progress: Progress, path: str) -> list[tuple[str, str]]:
    trusted = [("KUBEFLOW_TRAINER_SERVER_CA_CERT", f"{path}/{AUTHORITY}")]
    return [
        ("KUBEFLOW_TRAINER_SERVER_URL", progress.url),
        *(trusted if progress.audience and progress.authority else []),
        ("KUBEFLOW_TRAINER_SERVER_TOKEN", f"{path}/{TOKEN}"),
        ("TRAINUI_ARTIFACTS_URL", progress.artifacts_url),
    ]


def _projected(draft: Draft, progress: Progress) -> Obj:
    """Return the volume with the pod's own token, which is good for this job's reports alone, and the authority if one is needed."""
    token = {"audience": progress.audience, "expirationSeconds": POD_TOKEN_SECONDS, "path": TOKEN}
    sources: list[Obj] = [{"serviceAccountToken": token}]
    if progress.authority:
        items = [{"key": AUTHORITY, "path": AUTHORITY}]
        sources.append({"configMap": {"name": _bundle(draft), "items": items}})
    return {"name": POD_VOLUME, "projected": {"sources": sources}}


def _secret(draft: Draft, pod: Obj, target: Obj) -> Obj:
    item = {"key": TOKEN, "path": TOKEN, "mode": _mode(draft, pod, target)}
    return {"name": VOLUME, "secret": {"secretName": f"{draft.name}-{VOLUME}", "items": [item]}}


def _bundle(draft: Draft) -> str:
    return f"{draft.name}-tls-config"
