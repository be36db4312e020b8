"""Bringing blueprints into the cluster: applied when missing or of an earlier version, shown as drifted when somebody edited them there."""

import logging

from django.conf import settings
from django.utils import timezone

from runtimes.drift import differences, outdated, stamped
from runtimes.models import Runtime
from trainui.claimed import claimed
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError
from trainui.events.changes import Change, publish

log = logging.getLogger(__name__)


def sync_runtimes() -> None:
    """Look at every blueprint once; a failure is noted at its row and tried again at the next sweep."""
    for row in Runtime.objects.filter(managed=True):
        sync_runtime(row)


def sync_runtime(row: Runtime, overwrite: bool = False) -> None:
    """Apply one blueprint if the cluster lacks it or has an earlier version (or `overwrite`), and note whether it was edited there.

    An edit by hand is never undone unasked: it is shown, and a catalog admin decides.
    """
    if row.manifest is None:
        return
    before = (row.drifted, row.apply_error)
    if overwrite or outdated(row.manifest, row.observed):
        try:
            # What an admin asks for is done by web, which holds no claim.
            cluster = connect(settings.KUBECONFIG) if overwrite else claimed()
            cluster.apply(stamped(row.manifest))
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
