"""What the cluster has and lacks, looked up now and then, so that pages and builders never have to ask it."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from jobs.models import CLAIM, ClusterSurvey, MirrorObject, WatchState
from trainui.claimed import installation
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError, Forbidden, NotFound
from trainui.cluster.permissions import LEASE_NAME, LEASE_NAMESPACE, NEEDS, SERVICE, UPSTREAM_LEASE, Need
from trainui.events.changes import Change, publish

Facts = dict[str, Any]
SILENT = timedelta(minutes=2)  # a Lease that nobody renewed for so long holds nobody up


def note_claim(problem: str) -> None:
    """Record who else reconciles this cluster, so that every page says why nothing moves; "" when nobody does."""
    if problem:
        WatchState.objects.update_or_create(kind=CLAIM, defaults={"problem": problem[:500]})
    else:
        WatchState.objects.filter(kind=CLAIM).delete()


def survey() -> None:
    """Look at the cluster and keep what was found; of a cluster that does not answer the last facts stay, with the reason."""
    row, _ = ClusterSurvey.objects.get_or_create(pk=1)
    before = (row.facts, row.problem)
    try:
        row.facts, row.at, row.problem = collect(connect(settings.KUBECONFIG), timezone.now()), timezone.now(), ""
    except ClusterError as error:
        row.problem = str(error)[:500]
    row.save()
    if (row.facts, row.problem) != before:
        publish(Change("cluster-changed", "", "cluster"))


def collect(cluster: Cluster, now: datetime) -> Facts:
    """Return the facts of a cluster. Raises ClusterError."""
    theirs = cluster.server_time()
    skew = (theirs - now).total_seconds() if theirs else None
    return {
        "version": cluster.version().get("gitVersion", ""),
        "groups": cluster.groups(),
        # The server tells whole seconds; a second or two is no difference.
        "skew_seconds": 0 if skew is None or abs(skew) < 2 else round(skew),
        "denied": _denied(cluster),
        "upstream": _upstream(cluster, theirs or now),
        "holder": _holder(cluster, theirs or now),
        "installation": installation(),
        "schedulers": _schedulers(),
    }


def _denied(cluster: Cluster) -> list[Facts] | None:
    """Return what our service account may not do; None when the cluster does not tell."""
    denied = []
    try:
        for need in NEEDS:
            if need.account == SERVICE:
                denied += [_row(need, verb) for verb in need.verbs if not _may(cluster, need, verb)]
    except (NotFound, Forbidden):  # the local cluster has one user, who may do everything
        return None
    return denied


def _may(cluster: Cluster, need: Need, verb: str) -> bool:
    asked = {
        "group": need.kind.group,
        "version": need.kind.version,
        "resource": need.kind.plural,
        "subresource": need.subresource,
        "verb": verb,
        "namespace": need.namespace,
        "name": need.name,
    }
    kind = kinds.SELF_SUBJECT_ACCESS_REVIEW
    review = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {},
        "spec": {"resourceAttributes": {k: v for k, v in asked.items() if v}},
    }
    return bool((cluster.create(review).get("status") or {}).get("allowed"))


def _row(need: Need, verb: str) -> Facts:
    return {
        "verb": verb,
        "resource": f"{need.resource}.{need.kind.group}" if need.kind.group else need.resource,
        "purpose": need.purpose,
    }


def _upstream(cluster: Cluster, now: datetime) -> list[str]:
    """Return the namespaces in which Kubeflow's controller is at work."""
    try:
        found, _ = cluster.list(kinds.LEASE, field_selector=f"metadata.name={UPSTREAM_LEASE}")
    except Forbidden:
        return []
    return sorted(lease["metadata"]["namespace"] for lease in found if _alive(lease.get("spec") or {}, now))


def _holder(cluster: Cluster, now: datetime) -> str:
    """Return the installation that reconciles the cluster, "" when none does."""
    try:
        spec = cluster.get(kinds.LEASE, LEASE_NAMESPACE, LEASE_NAME).get("spec") or {}
    except (NotFound, Forbidden):
        return ""
    return str(spec["holderIdentity"]) if _alive(spec, now) else ""


def _alive(spec: Facts, now: datetime) -> bool:
    try:
        renewed = datetime.fromisoformat(str(spec.get("renewTime")).replace("Z", "+00:00"))
    except ValueError:
        return False
    return bool(spec.get("holderIdentity")) and now - renewed < SILENT


def _schedulers() -> list[Facts]:
    """Return the schedulers that pods of jobs name, and how many of their pods have a machine."""
    pods = MirrorObject.objects.filter(kind=kinds.POD.key).order_by()
    named = pods.values("raw__spec__schedulerName").annotate(pods=Count("pk"), placed=Count("raw__spec__nodeName"))
    return sorted(
        ({"name": row["raw__spec__schedulerName"] or "default-scheduler", "pods": row["pods"], "placed": row["placed"]} for row in named),
        key=lambda row: row["name"],
    )  # fmt: skip
