"""What one change of a pod costs until the state of its gang is known anew, with 1,000 jobs of 64 pods in the mirror against 10."""

from typing import Any

from bench.played_machine import run_all
from tests.stack import Stack

FEW, MANY = 10, 1_000
NODES = 64
CHANGES = 30
NAME = "gang-state"

# Jobs beside the one that is measured: copies of its row and of its objects, under names and uids of their own.
_FILL = """
import json, uuid
from jobs.models import MirrorObject, TrainJob, TrainJobDetail
first = TrainJob.objects.select_related("detail").get(name=NAME, live=True)
objects = list(MirrorObject.objects.filter(job=first))
have = TrainJob.objects.filter(name__startswith="gang-copy-").count()
for number in range(have, TOTAL - 1):
    name, detail = f"gang-copy-{number}", first.detail
    copy = TrainJob.objects.get(pk=first.pk)
    copy.pk, copy.name, copy.uid, copy.port, copy.submission_key, copy.due_at = uuid.uuid4(), name, str(uuid.uuid4()), None, None, None
    copy.save(force_insert=True)
    TrainJobDetail.objects.create(job=copy, manifest=detail.manifest, runtime=detail.runtime, expected=detail.expected, state=detail.state)
    MirrorObject.objects.bulk_create(
        MirrorObject(kind=o.kind, namespace=o.namespace, name=o.name.replace(NAME, name), uid=str(uuid.uuid4()), resource_version="1", job=copy,
                     machine=o.machine, holds=o.holds,
                     raw=json.loads(json.dumps(o.raw).replace(NAME, name)), seen_at=o.seen_at) for o in objects)
"""
_MEASURE = """
import statistics, time
from django.db import transaction
from jobs.models import MirrorObject, TrainJob
from jobs.reconcile.mirror_writer import MirrorWriter
from jobs.reconcile.reconcile import reconcile_job
from trainui.cluster import kinds
job = TrainJob.objects.get(name=NAME, live=True)
pod = MirrorObject.objects.filter(job=job, kind=kinds.POD.key).order_by("name").first().raw
writer, times = MirrorWriter(), []
for change in range(CHANGES + 2):
    ready = bool(change % 2)
    pod["metadata"]["resourceVersion"] = str(10**12 + change)
    pod["status"]["containerStatuses"][0]["ready"] = ready
    began = time.perf_counter()
    with transaction.atomic():
        writer.write([(kinds.POD, "MODIFIED", [pod])])
    reconcile_job(job.pk)
    times.append(time.perf_counter() - began)
    job.refresh_from_db()
    assert job.nodes_ready == (NODES if ready else NODES - 1), job.nodes_ready
print(statistics.median(times[2:]))
"""


def gang_state(stack: Stack) -> list[dict[str, Any]]:
    """Return the medians with few and with many jobs in the mirror, and their ratio."""
    stack.submit("true", name=NAME, nodes=NODES)
    run_all(stack, NAME, NODES)
    medians = {}
    for jobs in (FEW, MANY):
        stack.shell(_filled(_FILL, TOTAL=jobs))
        medians[jobs] = float(stack.shell(_filled(_MEASURE)).split()[-1])
    few, many = medians[FEW], medians[MANY]
    return [
        {
            "what": f"state of a gang of {NODES} after a change of one pod, at {MANY} such jobs against {FEW}",
            "ratio": round(many / few, 2),
            "many_ms": round(many * 1000, 1),
            "few_ms": round(few * 1000, 1),
            "changes": CHANGES,
        }
    ]


def _filled(code: str, **more: Any) -> str:
    values = {"NAME": NAME, "NODES": NODES, "CHANGES": CHANGES} | more
    return "\n".join([*(f"{name} = {value!r}" for name, value in values.items()), code])
