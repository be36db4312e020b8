"""Says whether rows and objects of a project are as builders and `observe` say. Runs beside an instance (`manage.py shell`), a JSON line each way.

Everything is read anew from the cluster and the database: nothing that the instance remembers is believed.
"""

import hashlib
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from jobs import builders
from jobs.builders.capabilities import Rendezvous
from jobs.models import MirrorObject, TrainJob
from jobs.reconcile.capabilities import capabilities
from jobs.reconcile.children import owned_by
from jobs.reconcile.desired import progress_of
from jobs.reconcile.mirror import Mirror, events_of
from jobs.reconcile.outcome import columns, observed, status_patch
from jobs.reconcile.reconcile import Pass
from jobs.reconcile.tasks import reconcile, sweep
from runtimes.spec.quantities import equal
from trainui.accounts.models import Membership, Project, User
from trainui.cluster import kinds
from trainui.cluster.connection import connect
from trainui.cluster.errors import ClusterError
from trainui.events.changes import _client as broker

Object = dict[str, Any]
JOB_SET_NAME = "jobset.sigs.k8s.io/jobset-name"
MIRRORED = (kinds.TRAIN_JOB, kinds.JOB_SET, kinds.JOB, kinds.POD, kinds.POD_GROUP)
READ = (*MIRRORED, kinds.CONFIG_MAP, kinds.SECRET)
COMPARED = ("phase", "code", "tone", "sentence", "nodes_expected", "nodes_ready", "live")
ON_THE_WAY = ("Creating", "Starting", "Initializing", "Restarting", "Suspending", "Deleting")
ENDED = ("Succeeded", "Failed")
QUEUES = ("celery", "unacked", "unacked_index")


@dataclass
class Live:
    """The objects of one namespace as the cluster has them now."""

    objects: dict[str, dict[str, Object]] = field(default_factory=dict)

    @classmethod
    def of(cls, namespace: str) -> "Live":
        """Read all of them."""
        cluster = connect(settings.KUBECONFIG)
        return cls({k.key: {o["metadata"]["name"]: o for o in cluster.list(k, namespace)[0]} for k in READ})

    def all(self, *some: kinds.Kind) -> list[Object]:
        """Return the objects of some kinds, of all without any."""
        return [obj for kind in some or READ for obj in self.objects[kind.key].values()]

    def mark(self) -> str:
        """Return a text that changes when anything changes."""
        versions = sorted(f"{o['metadata']['uid']} {o['metadata']['resourceVersion']}" for o in self.all())
        return hashlib.sha256("\n".join(versions).encode()).hexdigest()

    def mirror_of(self, job: TrainJob) -> Mirror:
        """Return what watch should have seen of a job."""
        mirror = Mirror()
        for key, objects in self.objects.items():
            mirror.objects[key] = {name: obj for name, obj in objects.items() if self._belongs(key, obj, job)}
        return mirror

    def _belongs(self, key: str, obj: Object, job: TrainJob) -> bool:
        if key == kinds.TRAIN_JOB.key:
            return bool(obj["metadata"]["uid"] == job.uid)
        labelled = (obj["metadata"].get("labels") or {}).get(JOB_SET_NAME) == job.name
        return (job.uid is not None and owned_by(obj, job.uid)) or (job.live and labelled)


def check(namespace: str) -> Object:
    """Return what is still on its way (`busy`), what is `wrong`, the pods, and the phase of each job.

    A cluster that is just being started again is on its way too.
    """
    try:
        return _looked_at(namespace)
    except ClusterError as error:
        return {
            "busy": [f"the cluster is away: {error}"],
            "wrong": [],
            "mark": "",
            "objects": 0,
            "phases": {},
            "pods": [],
        }


def _looked_at(namespace: str) -> Object:
    close_old_connections()
    live = Live.of(namespace)
    related = ("detail", "project", "cancel_requested_by", "suspended_by")
    rows = list(TrainJob.objects.filter(namespace=namespace).select_related(*related))
    busy = [*_busy(rows), *_unseen(namespace, live), *_placeable(rows)]
    wrong = [problem for job in rows for problem in _wrong(job, live)]
    return {
        "busy": busy,
        "wrong": [*wrong, *_orphans(rows, live)],
        "mark": live.mark(),
        "objects": len(live.all(*MIRRORED)),
        "phases": {str(job.pk): job.phase for job in rows},
        "pods": [_pod(pod) for pod in live.all(kinds.POD)],
    }


def _pod(pod: Object) -> Object:
    return {
        "uid": pod["metadata"]["uid"],
        "name": pod["metadata"]["name"],
        "phase": (pod.get("status") or {}).get("phase", "Pending"),
        "going": bool(pod["metadata"].get("deletionTimestamp")),
    }


def _busy(rows: list[TrainJob]) -> Iterator[str]:
    now = timezone.now()
    for job in rows:
        if job.due_at and job.due_at <= now:
            yield f"{job.name} is due"
        if job.lease_until and job.lease_until > now:
            yield f"{job.name} is being reconciled"
        if job.phase in ON_THE_WAY or job.delete_requested_at:
            yield f"{job.name} is {job.phase}: {job.sentence}"


def _unseen(namespace: str, live: Live) -> Iterator[str]:
    seen = MirrorObject.objects.filter(namespace=namespace, kind__in=[k.key for k in MIRRORED])
    theirs = {(kind, name, version) for kind, name, version in seen.values_list("kind", "name", "resource_version")}
    versions = {(k.key, o["metadata"]["name"], o["metadata"]["resourceVersion"]) for k in MIRRORED for o in live.all(k)}
    if theirs != versions:
        yield f"watch has not seen {sorted(versions - theirs)}, and still sees {sorted(theirs - versions)}"


def _placeable(rows: list[TrainJob]) -> Iterator[str]:
    """Jobs that wait although all their pods, of one CPU each, would find a place."""
    waiting = [job for job in rows if job.phase == "Waiting"]
    if not waiting:
        return
    cluster = connect(settings.KUBECONFIG)
    taken: dict[str, int] = {}
    for pod in cluster.list(kinds.POD)[0]:
        if (node := pod["spec"].get("nodeName")) and (pod.get("status") or {}).get("phase") not in ENDED:
            taken[node] = taken.get(node, 0) + 1
    nodes = cluster.list(kinds.NODE)[0]
    free = sum(int(n["status"]["allocatable"]["cpu"]) - taken.get(n["metadata"]["name"], 0) for n in nodes)
    for job in waiting:
        needed = sum(entry["count"] for entry in job.detail.expected.get("replicated_jobs", []))
        if needed <= free:
            yield f"{job.name} waits for {needed} slots though {free} are free: {job.sentence}"


def _wrong(job: TrainJob, live: Live) -> Iterator[str]:
    mirror = live.mirror_of(job)
    trainjob = mirror.one(kinds.TRAIN_JOB, job.name)
    if trainjob is None and not job.finished:
        yield f"{job.name} is {job.phase}, but the cluster has no such TrainJob"
    if trainjob is not None:
        over = job.finished or _terminal(trainjob)
        yield from _left_over(job, mirror) if over else _children(job, trainjob, live)
    if job.port is not None and job.finished:
        yield f"{job.name} has ended and still holds port {job.port}"
    this = Pass(job, uuid.uuid4(), timezone.now(), mirror, trainjob=trainjob)
    state = observed(this, events_of(job))
    should = columns(this, state, live=not (state.finished and trainjob is None))
    for name in COMPARED:
        if getattr(job, name) != should[name]:
            yield f"{job.name}: {name} is {getattr(job, name)!r}, observe says {should[name]!r}"
    if trainjob is not None and (patch := status_patch(trainjob, state, job.detail.trainer_status)):
        yield f"{job.name}: the TrainJob's status lacks {patch}"


def _terminal(trainjob: Object) -> bool:
    conditions = (trainjob.get("status") or {}).get("conditions") or []
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def _left_over(job: TrainJob, mirror: Mirror) -> Iterator[str]:
    for group in mirror.all(kinds.POD_GROUP):
        yield f"{job.name} has ended and still has the PodGroup {group['metadata']['name']}"
    for pod in mirror.all(kinds.POD):
        if (phase := (pod.get("status") or {}).get("phase")) not in ENDED:
            yield f"{job.name} has ended and its pod {pod['metadata']['name']} is {phase}"


def _children(job: TrainJob, trainjob: Object, live: Live) -> Iterator[str]:
    meeting = Rendezvous("127.0.0.1", job.port) if job.port else None
    for wanted in builders.build(trainjob, job.detail.runtime, capabilities(meeting, progress_of(job))):
        kind, name = wanted["kind"], wanted["metadata"]["name"]
        found = live.objects[kinds.kind_of(wanted).key].get(name)
        if found is None:
            yield f"{job.name}: {kind} {name} is missing"
        elif not owned_by(found, trainjob["metadata"]["uid"]):
            yield f"{job.name}: {kind} {name} belongs to somebody else"
        else:
            yield from (f"{job.name}: {kind} {name}: {text}" for text in differences(wanted, found))


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    """Say where `found` lacks something of `wanted`; what it has beyond that, such as defaults, does not count."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            if key in found or value not in (None, "", False, 0, [], {}):
                yield from differences(value, found.get(key), f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif wanted != found and not equal(wanted, found):
        yield f"{path} is {orjson.dumps(found).decode()[:200]}, not {orjson.dumps(wanted).decode()[:200]}"


def _orphans(rows: list[TrainJob], live: Live) -> Iterator[str]:
    there = {obj["metadata"]["uid"] for obj in live.all()}
    known = {job.uid for job in rows}
    for obj in live.all():
        owners = [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or []]
        named = f"{obj['kind']} {obj['metadata']['name']}"
        if obj["kind"] == "TrainJob" and obj["metadata"]["uid"] not in known:
            yield f"{named} has no row"
        if set(owners) - there:
            yield f"{named} is there without its owner"
        if not owners and obj["kind"] in ("JobSet", "Job", "Pod", "PodGroup"):
            yield f"{named} belongs to nobody"


def make_project(name: str, engineer: str) -> None:
    """Make a project with one member."""
    project, _ = Project.objects.get_or_create(name=name)
    user = User.objects.get(username=engineer)
    Membership.objects.get_or_create(project=project, user=user, defaults={"role": "engineer"})


def repeat(job: str, times: int) -> None:
    """Reconcile a job as often as if its message had been delivered again and again."""
    for _ in range(times):
        reconcile(job)


def lose() -> None:
    """Lose every message that waits or is being worked at."""
    broker().delete(*QUEUES)


def look_now() -> None:
    """Do what beat asks for every ten seconds."""
    sweep()


ANSWERS: dict[str, Callable[..., Object | None]] = {
    each.__name__: each for each in (check, make_project, repeat, lose, look_now)
}


def serve() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        question = json.loads(line)
        answer = ANSWERS[question.pop("do")](**question)
        print(json.dumps(answer), flush=True)
