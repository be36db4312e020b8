"""Jobs that Kueue manages, reconciled against an API server that answers as Kueue's does: state from the Workload, hold through it, place in its queue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import MirrorObject, TrainJob
from jobs.reconcile.reconcile import reconcile_job
from jobs.services import resume, suspend
from jobs.state import phases
from tests.unit.cluster.server import Answer, Asked, answer, refusal, serving, write_kubeconfig
from tests.unit.life.conftest import World
from trainui.cluster import kinds

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-nlp/workloads"
PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-nlp/localqueues/lq/pendingworkloads"
SHORT = "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor gpu, 16 more needed"


class Kueue:
    """The objects of one job and what Kueue says of it; a test changes them."""

    def __init__(self, job: TrainJob) -> None:
        labels = {"kueue.x-k8s.io/queue-name": "lq"}
        metadata = {
            "name": job.name,
            "namespace": job.namespace,
            "uid": job.uid,
            "labels": labels,
            "resourceVersion": "7",
        }
        self.trainjob: dict[str, Any] = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": metadata | {"creationTimestamp": "2026-03-01T12:00:00Z"},
            "spec": {"runtimeRef": {"name": "plain"}, "suspend": True, "trainer": {}},
            "status": {},
        }  # fmt: skip
        self.job = job
        self.installed = True
        self.workload: dict[str, Any] | None = {
            "metadata": {"name": f"trainjob-{job.name}-1a2b3", "namespace": job.namespace, "resourceVersion": "3",
                         "creationTimestamp": "2026-03-01T12:00:01Z", "ownerReferences": [{"uid": job.uid}]},
            "spec": {"queueName": "lq", "active": True, "priority": 100},
            "status": {"conditions": []},
        }  # fmt: skip
        self.pending: list[str] = []  # uids of owners, in the order of the queue
        self.says("QuotaReserved", "False", "Pending", SHORT)

    def says(self, kind: str, status: str, reason: str, message: str) -> None:
        assert self.workload is not None
        found = [c for c in self.workload["status"]["conditions"] if c["type"] != kind]
        told = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-03-01T12:00:02Z"}  # fmt: skip
        self.workload["status"]["conditions"] = [*found, told]

    def script(self, asked: Asked) -> Answer:
        if asked.path.startswith("/apis/kueue") and not self.installed:
            return refusal(404, "NotFound", "the server could not find the requested resource")
        if asked.path == WORKLOADS:
            assert asked.query["labelSelector"] == f"kueue.x-k8s.io/job-uid={self.job.uid}"
            return answer(200, {"items": [self.workload] if self.workload else [], "metadata": {}})
        if asked.path.startswith(WORKLOADS) and self.workload is not None:
            assert asked.json()["metadata"]["resourceVersion"] == self.workload["metadata"]["resourceVersion"]
            self.workload["spec"]["active"] = asked.json()["spec"]["active"]
            return answer(200, self.workload)
        if asked.path == PENDING:
            return answer(200, {"items": [self._item(n, uid) for n, uid in enumerate(self.pending)]})
        if asked.path.endswith(f"/trainjobs/{self.job.name}") and asked.method == "GET":
            return answer(200, self.trainjob)
        if asked.method == "PATCH":  # children and status: taken as they come
            body = asked.json()
            name = {"name": self.job.name} | (body.get("metadata") or {})
            return answer(
                200,
                self.trainjob
                if "status" in asked.path
                else body | {"metadata": name | {"uid": "u", "resourceVersion": "1"}},
            )
        return refusal(404, "NotFound", asked.path)

    @staticmethod
    def _item(place: int, uid: str) -> dict[str, Any]:
        owner = {"kind": "TrainJob", "uid": uid}
        metadata = {"name": f"w-{place}", "ownerReferences": [owner]}
        return {
            "metadata": metadata,
            "priority": 100,
            "positionInClusterQueue": place + 3,
            "positionInLocalQueue": place,
        }

    def show(self) -> None:
        """What watch has seen of the TrainJob."""
        values = {
            "uid": self.job.uid or "",
            "resource_version": "7",
            "raw": self.trainjob,
            "job": self.job,
            "seen_at": timezone.now(),
        }
        MirrorObject.objects.update_or_create(
            kind=kinds.TRAIN_JOB.key, namespace=self.job.namespace, name=self.job.name, defaults=values
        )


@pytest.fixture
def kueue(world: World, settings: Any, tmp_path: Path) -> Iterator[Kueue]:
    job = world.job("queued", phases.CREATING, started_at=None)
    made = Kueue(job)
    made.show()
    with serving(made.script) as server:
        settings.KUBECONFIG, settings.OWN_CLUSTER = write_kubeconfig(tmp_path / "kubeconfig", server.url), True
        yield made


def reconciled(kueue: Kueue) -> TrainJob:
    reconcile_job(kueue.job.pk)
    return TrainJob.objects.select_related("detail").get(pk=kueue.job.pk)


def test_it_waits_for_quota_and_is_looked_at_again(kueue: Kueue) -> None:
    job = reconciled(kueue)
    assert (job.phase, job.code) == (phases.QUEUED, "WaitingForQuota")
    assert "16 more nvidia.com/gpu needed in flavor gpu" in job.sentence
    assert job.due_at is not None
    assert job.due_at > timezone.now()
    assert job.detail.expected["demand"]["queue"] == {"kind": "kueue", "name": "lq"}
    assert job.detail.expected["demand"]["priority"] == 100


def test_its_place_is_what_kueue_tells(kueue: Kueue) -> None:
    kueue.pending = ["somebody", str(kueue.job.uid)]
    place = reconciled(kueue).detail.state["place"]
    assert place == {"queue": "lq", "number": 4, "in_queue": 1, "priority": 100}
    kueue.pending = []
    assert "place" not in reconciled(kueue).detail.state


def test_suspend_and_resume_go_through_the_workload(kueue: Kueue, world: World) -> None:
    kueue.trainjob["spec"]["suspend"] = False
    kueue.show()
    job = reconciled(kueue)
    suspend(world.users["owner"], job)
    assert reconciled(kueue).desired_suspend is None
    assert kueue.workload is not None
    assert kueue.workload["spec"]["active"] is False
    assert kueue.trainjob["spec"]["suspend"] is False  # Kueue sets it, not we
    kueue.trainjob["spec"]["suspend"] = True
    kueue.show()
    kueue.says("Evicted", "True", "Deactivated", "The workload is deactivated")
    held = reconciled(kueue)
    assert (held.phase, held.code) == (phases.SUSPENDED, "WorkloadDeactivated")
    resume(world.users["owner"], held)
    assert reconciled(kueue).desired_suspend is None
    assert kueue.workload["spec"]["active"] is True


def test_who_holds_it_is_known_although_kueue_stops_it_later(kueue: Kueue, world: World) -> None:
    kueue.trainjob["spec"]["suspend"] = False
    kueue.show()
    job = reconciled(kueue)
    suspend(world.users["owner"], job)
    reconciled(kueue)
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.RUNNING)  # its pods still run
    kueue.trainjob["spec"]["suspend"] = True
    kueue.show()
    kueue.says("Evicted", "True", "Deactivated", "The workload is deactivated")
    held = reconciled(kueue)
    assert (held.phase, held.suspended_by) == (phases.SUSPENDED, world.users["owner"])


def test_one_that_is_let_go_waits_again_and_one_that_is_held_is_looked_at(kueue: Kueue, world: World) -> None:
    suspend(world.users["owner"], reconciled(kueue))
    kueue.says("Evicted", "True", "Deactivated", "The workload is deactivated")
    held = reconciled(kueue)
    assert held.phase == phases.SUSPENDED
    assert held.due_at is not None  # an administrator may let it go by kubectl, which the TrainJob does not show
    assert kueue.workload is not None
    kueue.workload["spec"]["active"] = True
    again = reconciled(kueue)
    assert (again.phase, again.code) == (phases.QUEUED, "WaitingForQuota")


def test_a_workload_that_is_not_made_yet_is_looked_for_soon(kueue: Kueue) -> None:
    kueue.workload = None
    job = reconciled(kueue)
    assert (job.phase, job.code) == (phases.QUEUED, "AwaitingKueue")
    assert job.due_at is not None


def test_an_eviction_is_followed_until_its_end(kueue: Kueue) -> None:
    """Kueue clears the quota a moment after its last change of the TrainJob: the place in the queue is told by a later look."""
    kueue.says("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq")
    kueue.says("Admitted", "True", "Admitted", "The workload is admitted")
    assert reconciled(kueue).due_at is None
    kueue.says("Evicted", "True", "Preempted", "Preempted to accommodate a workload (UID: 1, JobUID: 2)")
    assert reconciled(kueue).due_at is not None


def test_a_hold_waits_for_a_workload_that_is_not_there_yet(kueue: Kueue, world: World) -> None:
    job = reconciled(kueue)
    kueue.workload = None
    suspend(world.users["owner"], job)
    waits = reconciled(kueue)
    assert waits.desired_suspend is True
    assert waits.due_at is not None


def test_preemption_and_requeue_are_followed(kueue: Kueue) -> None:
    why = "Preempted to accommodate a workload (UID: 1, JobUID: 2) due to prioritization in the ClusterQueue"
    kueue.says("Evicted", "True", "Preempted", why)
    kueue.says("Preempted", "True", "InClusterQueue", why)
    job = reconciled(kueue)
    assert (job.phase, job.code) == (phases.PREEMPTED, "PreemptedByKueue")
    kueue.says("Evicted", "False", "QuotaReserved", f"Previously: {why}")
    kueue.says("Preempted", "False", "QuotaReserved", f"Previously: {why}")
    kueue.says("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq")
    kueue.says("Admitted", "True", "Admitted", "The workload is admitted")
    assert reconciled(kueue).phase == phases.CREATING


def test_without_kueue_the_label_means_nothing_to_a_hold(kueue: Kueue, world: World) -> None:
    kueue.installed = False
    kueue.trainjob["spec"]["suspend"] = False
    kueue.show()
    job = reconciled(kueue)
    suspend(world.users["owner"], job)
    assert reconciled(kueue).desired_suspend is None
    assert kueue.workload is not None
    assert kueue.workload["spec"]["active"] is True
