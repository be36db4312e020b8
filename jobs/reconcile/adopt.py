"""The row of a TrainJob that the cluster shows: ours by uid or submission id, else a new row for one made elsewhere."""

import uuid
from datetime import datetime

from django.utils import timezone

from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile.marks import submission_of
from jobs.reconcile.retire import was_removed
from jobs.state import phases
from trainui.accounts.models import Project
from trainui.cluster.client import Object


def row_of_trainjob(obj: Object) -> uuid.UUID | None:
    """Return the row's id, making the row if needed; None for a namespace that is no project, and for a job whose record was removed.

    An object of a known name with another uid is another job: the older row is no longer live.
    """
    metadata = obj["metadata"]
    by_uid = TrainJob.objects.filter(uid=metadata["uid"]).values_list("pk", flat=True).first()
    if by_uid:
        return by_uid
    if was_removed(metadata["uid"]):
        return None
    namesakes = TrainJob.objects.filter(namespace=metadata["namespace"], name=metadata["name"], live=True)
    for row in namesakes.filter(uid__isnull=True):
        if str(row.pk) == submission_of(obj):  # pushed, and the answer is still on its way to the row
            return row.pk
        return None  # our submission of that name waits; reconcile finds the name taken
    namesakes.update(live=False, due_at=timezone.now())
    return _adopt(obj)


def _adopt(obj: Object) -> uuid.UUID | None:
    metadata, reference = obj["metadata"], obj["spec"].get("runtimeRef") or {}
    project = Project.objects.filter(name=metadata["namespace"]).first()
    if project is None:
        return None
    created = datetime.fromisoformat(metadata["creationTimestamp"].replace("Z", "+00:00"))
    row = TrainJob.objects.create(
        project=project, namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"], created_at=created, pushed_at=created,
        runtime_kind=reference.get("kind", "ClusterTrainingRuntime")[:40], runtime_name=reference.get("name", "")[:253], attempts=1,
        phase=phases.CREATING, code="AwaitingController", sentence="Made outside trainui; its children are being created.", since=created,
        due_at=timezone.now(),
    )  # fmt: skip
    TrainJobDetail.objects.create(job=row, manifest={k: v for k, v in obj.items() if k != "status"})
    return row.pk
