"""Bringing blueprints into the cluster: applied when missing or of an earlier version, shown as drifted when somebody edited them there."""

import logging
from typing import Any

from django.conf import settings
from django.utils import timezone

from runtimes.drift import differences, outdated, stamped
from runtimes.models import Runtime
from trainui.claimed import claimed
from trainui.cluster.client import Cluster
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError, NotFound
from trainui.cluster.kinds import CLUSTER_TRAINING_RUNTIME
from trainui.events.changes import Change, publish

log = logging.getLogger(__name__)


def sync_runtimes() -> None:
    """Look at every blueprint once; a failure is noted at its row and tried again at the next sweep."""
    for row in Runtime.objects.filter(managed=True):
        sync_runtime(row)


def sync_runtime(row: Runtime, overwrite: bool = False) -> None:
    """Apply one blueprint if the cluster lacks it or has an earlier version of it (or `overwrite`), and note whether what is there differs.

    An edit by hand is never undone unasked, and a runtime of that name that is not ours (Kubeflow's stock ones) is left as it is: jobs get
    what the cluster has. Both are shown, and a catalog admin decides.
    """
    if row.manifest is None:
        return
    before = (row.drifted, row.apply_error)
    if overwrite or outdated(row.manifest, row.observed):
        try:
            # What an admin asks for is done by web, which holds no claim.
            cluster = connect(settings.KUBECONFIG) if overwrite else claimed()
            # Looked at again, because before the first look of watch every runtime seems to be missing.
            if overwrite or outdated(row.manifest, _live(cluster, row)):
                cluster.apply(stamped(row.manifest), force=overwrite)
                row.drifted, row.apply_error, row.applied_at = False, "", timezone.now()
        except ClusterError as error:
            log.warning("blueprint %s: %s", row, error)
            row.apply_error = str(error)
    else:
        row.drifted, row.apply_error = bool(differences(row.manifest["spec"], (row.observed or {}).get("spec"))), ""
    if (row.drifted, row.apply_error) != before or row.applied_at:
        Runtime.objects.filter(pk=row.pk).update(
            drifted=row.drifted, apply_error=row.apply_error, applied_at=row.applied_at
        )
    if (row.drifted, row.apply_error) != before:
        publish(Change("runtime-changed", "", str(row.pk)))


def _live(cluster: Cluster, row: Runtime) -> dict[str, Any] | None:
    """Return the runtime as it stands in the cluster now, None if it is not there."""
    try:
        return cluster.get(CLUSTER_TRAINING_RUNTIME, None, row.name)
    except NotFound:
        return None
