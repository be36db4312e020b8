"""The TrainJob and its children as YAML without secrets, and how kubectl gets at them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from jobs.models import TrainJob
from jobs.queries.job import live_manifest
from jobs.spec.manifest import Omission, dump_manifest, export_trainjob
from jobs.spec.masking import mask_object

_SECRET = "secret"  # noqa: S105  the word by which an omission for the sake of a secret is known


@dataclass(frozen=True)
class Document:
    """One object as text. hidden: how many secret values are masked in it."""

    kind: str
    name: str
    text: str
    lines: int
    hidden: int


@dataclass(frozen=True)
class Manifests:
    """What the tab shows. omitted: what the export leaves out for the sake of secrets; stripped: what belongs to the one object in the cluster."""

    exported: str
    omitted: list[Omission]
    stripped: list[str]
    children: list[Document]
    runtime: Document | None
    commands: str


def manifests(job: TrainJob) -> Manifests:
    """Return the job's documents."""
    exported, omissions = export_trainjob(live_manifest(job))
    runtime = job.detail.runtime
    return Manifests(
        exported=dump_manifest(exported),
        omitted=[o for o in omissions if _SECRET in o.reason],
        stripped=[o.path for o in omissions if _SECRET not in o.reason],
        children=[document(obj) for obj in job.detail.objects_built],
        runtime=document(runtime) if runtime else None,
        commands=kubectl(job),
    )


def document(obj: dict[str, Any]) -> Document:
    """Return an object as YAML, secret values masked."""
    masked, paths = mask_object(obj)
    text = dump_manifest(masked)
    name = str((obj.get("metadata") or {}).get("name") or "")
    return Document(str(obj.get("kind") or "Object"), name, text, text.count("\n"), len(paths))


def kubectl(job: TrainJob) -> str:
    """Return the commands that read the job, and that submit it again elsewhere."""
    where = f"-n {job.namespace}"
    lines = [
        f"kubectl get trainjob {job.name} {where} -o yaml",
        f"kubectl describe trainjob {job.name} {where}",
        f"kubectl logs {where} -l jobset.sigs.k8s.io/jobset-name={job.name} --prefix",
        f"kubectl apply -f {job.name}.yaml",
    ]
    if not settings.POD_DNS:
        lines.insert(0, f"export KUBECONFIG={_kubeconfig()}")
    return "\n".join(lines)


def _kubeconfig() -> str:
    path, base = Path(settings.KUBECONFIG), Path(settings.BASE_DIR)
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
