"""What watch saw of runtimes goes into the catalog."""

from typing import Any

from django.utils import timezone

from runtimes.models import Runtime

FRAMEWORK_LABEL = "trainer.kubeflow.org/framework"


def save_runtime(kind: str, obj: dict[str, Any], deleted: bool = False) -> None:
    """Record a runtime as the cluster has it; one that is no blueprint goes from the catalog with it."""
    metadata = obj["metadata"]
    place = {"kind": kind, "namespace": metadata.get("namespace", ""), "name": metadata["name"]}
    if deleted:
        _forget(Runtime.objects.filter(**place, uid=metadata["uid"]))
        return
    seen = {
        "uid": metadata["uid"],
        "resource_version": metadata["resourceVersion"],
        "observed": {k: v for k, v in obj.items() if k != "status"}
        | {"metadata": {k: v for k, v in metadata.items() if k != "managedFields"}},
        "seen_at": timezone.now(),
    }
    row, _ = Runtime.objects.update_or_create(**place, defaults=seen)
    if not row.managed:
        row.framework = (metadata.get("labels") or {}).get(FRAMEWORK_LABEL, "")
        row.title = row.title or metadata["name"][:120]
        row.save(update_fields=["framework", "title"])


def forget_runtimes(kind: str, keep: set[tuple[str, str]]) -> None:
    """Record that only the runtimes of `keep` (namespace, name) are in the cluster."""
    for row in Runtime.objects.filter(kind=kind, observed__isnull=False).only("id", "namespace", "name", "managed"):
        if (row.namespace, row.name) not in keep:
            _forget(Runtime.objects.filter(pk=row.pk))


def _forget(rows: Any) -> None:
    rows.filter(managed=False).delete()
    rows.filter(managed=True).update(observed=None, uid="", resource_version="")
