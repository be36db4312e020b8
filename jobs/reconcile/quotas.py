"""Quotas and Kueue's queues, looked up now and then and kept beside what watch mirrors: pages read them there, never the cluster."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from jobs.models import MirrorObject
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError, Forbidden, NotFound
from trainui.cluster.kinds import Kind
from trainui.events.changes import Change, publish

Object = dict[str, Any]
RESOURCE_QUOTA = kinds.RESOURCE_QUOTA
CLUSTER_QUEUE = kinds.CLUSTER_QUEUE
KINDS = (RESOURCE_QUOTA, CLUSTER_QUEUE)


def refresh() -> None:
    """Bring the kept quotas and queues up to date and tell pages of a change. What the cluster does not tell now stays as it was."""
    cluster = connect(settings.KUBECONFIG)
    changed = [_refresh(cluster, kind) for kind in KINDS]
    if any(changed):
        publish(Change("cluster-changed", "", "cluster"))


def _refresh(cluster: Cluster, kind: Kind) -> bool:
    try:
        found = cluster.list(kind)[0]
    except (NotFound, Forbidden):  # Kueue is not installed, or this is not for us
        found = []
    except ClusterError:
        return False
    return _keep(kind, found)


def _keep(kind: Kind, found: list[Object]) -> bool:
    """Write what is new and take out what is gone; True when anything was."""
    rows = {(row.namespace, row.name): row for row in MirrorObject.objects.filter(kind=kind.key).defer("raw")}
    there = {(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in found}
    gone = [row.pk for place, row in rows.items() if place not in there]
    new = {p: obj for p, obj in there.items() if p not in rows or rows[p].resource_version != _version(obj)}
    if not gone and not new:
        return False
    with transaction.atomic():
        MirrorObject.objects.filter(pk__in=gone).delete()
        for (namespace, name), obj in new.items():
            metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
            values = {
                "uid": metadata["uid"],
                "resource_version": _version(obj),
                "raw": obj | {"metadata": metadata},
                "seen_at": timezone.now(),
            }
            MirrorObject.objects.update_or_create(kind=kind.key, namespace=namespace, name=name, defaults=values)
    return True


def _version(obj: Object) -> str:
    return str(obj["metadata"]["resourceVersion"])
