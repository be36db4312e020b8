"""Bringing a submission into the cluster exactly once, also when an answer was lost."""

import uuid
from datetime import datetime
from typing import Any

from jobs.models import TrainJob
from jobs.reconcile.lease import LeaseLost, guarded
from jobs.reconcile.marks import submission_of
from trainui.cluster import kinds
from trainui.cluster.client import Cluster
from trainui.cluster.errors import AlreadyExists, NotFound

Object = dict[str, Any]


class NameTaken(Exception):
    """Another TrainJob (`namesake`) has the name; this submission can never be created under it."""

    def __init__(self, namesake: Object) -> None:
        metadata = namesake["metadata"]
        super().__init__(f"the cluster has another TrainJob {metadata['name']} in {metadata['namespace']}")
        self.namesake = namesake


def push(cluster: Cluster, job: TrainJob, token: uuid.UUID, now: datetime) -> Object:
    """Create the TrainJob of a row, or recognise the one that an earlier try created, and return it.

    The try is counted before the call, so that whoever comes after a crash knows that an object may be there. Raises NameTaken, LeaseLost, ClusterError.
    """
    found = find_own(cluster, job) if job.attempts else None
    job.attempts += 1
    if not guarded(job.pk, token, attempts=job.attempts):
        raise LeaseLost
    live = found or _create(cluster, job)
    job.uid, job.pushed_at = live["metadata"]["uid"], now
    guarded(job.pk, token, uid=job.uid, pushed_at=now)
    return live


def find_own(cluster: Cluster, job: TrainJob) -> Object | None:
    """Return the TrainJob in the cluster that carries this row's id, or None. Raises NameTaken when the name has another."""
    try:
        live = cluster.get(kinds.TRAIN_JOB, job.namespace, job.name)
    except NotFound:
        return None
    if submission_of(live) != str(job.pk):
        raise NameTaken(live)
    return live


def _create(cluster: Cluster, job: TrainJob) -> Object:
    manifest = job.detail.manifest
    try:
        return cluster.create(manifest)
    except NotFound:  # the namespace of a new project
        _create_namespace(cluster, job.namespace)
        return cluster.create(manifest)
    except AlreadyExists:
        live = find_own(cluster, job)
        if live is None:  # it went in the meantime; the next try creates it
            raise
        return live


def _create_namespace(cluster: Cluster, name: str) -> None:
    labels = {"app.kubernetes.io/managed-by": "trainui"}
    try:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    except AlreadyExists:
        return
