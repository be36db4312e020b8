"""Bursts and long lists on their way into the mirror: few transactions, few queries, and the same rows as one event at a time."""

import random
import threading
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import JobEvent, MirrorObject, TrainJob, TrainJobDetail, WatchState
from jobs.reconcile import watch
from jobs.reconcile.capabilities import capabilities
from jobs.reconcile.mirror_writer import MirrorWriter, Result
from jobs.reconcile.watch import BATCH, MirrorSink, Writer
from trainui.accounts.models import Project
from trainui.cluster import kinds

UID = "8b6fb66a-6f0e-4ff0-9d5c-1f7c2f4f7d11"
BURST = 1_000
Json = dict[str, Any]


@pytest.fixture
def job(db: Any, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> TrainJob:
    settings.LOGS_DIR, settings.ARTIFACTS_DIR = tmp_path / "logs", tmp_path / "artifacts"
    monkeypatch.setattr(watch, "ring", lambda job_id: None)  # no broker here
    monkeypatch.setattr(watch, "publish", lambda *changes: None)
    project = Project.objects.create(name="team-nlp")
    row = TrainJob.objects.create(
        project=project, namespace="team-nlp", name="llama", uid=UID, created_at=timezone.now(), phase="Running", live=True,
        runtime_kind="ClusterTrainingRuntime", runtime_name="plain",
    )  # fmt: skip
    TrainJobDetail.objects.create(job=row, manifest={})
    return row


def pod(name: str, version: int, uid: str = "", jobset: str = "llama") -> Json:
    labels = {"jobset.sigs.k8s.io/jobset-name": jobset}
    metadata = {"name": name, "namespace": "team-nlp", "uid": uid or f"uid-{name}", "labels": labels}
    return {
        "kind": "Pod",
        "metadata": metadata | {"resourceVersion": str(version), "managedFields": [{"manager": "x"}]},
    }


def event(name: str, about: str, count: int = 1) -> Json:
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": str(count),
        "creationTimestamp": "2026-11-01T10:00:00Z",
    }
    return {"metadata": metadata, "involvedObject": {"kind": "Pod", "uid": about}, "reason": "Pulled", "count": count}


def rows() -> set[tuple[str, str, str, uuid.UUID | None]]:
    return set(MirrorObject.objects.values_list("name", "uid", "resource_version", "job_id"))


class Recorded:
    """A writer that counts its transactions."""

    def __init__(self, leads: bool = True) -> None:
        self.transactions = 0
        self.leads = leads
        self.sink, self.stop = MirrorSink(), threading.Event()
        self.writer = Writer(self.sink, self.stop, lambda jobs: None, self._leads)

    def _leads(self) -> bool:
        self.transactions += 1
        return self.leads

    def drain(self) -> None:
        """Write all that is queued."""
        self.stop.set()
        self.writer.run()


def test_a_burst_of_events_is_a_handful_of_transactions(job: TrainJob) -> None:
    recorded = Recorded()
    for number in range(BURST):
        recorded.sink.event(kinds.POD, "ADDED", pod(f"p{number}", 1))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        recorded.drain()
    assert MirrorObject.objects.filter(job=job).count() == BURST
    assert recorded.transactions <= BURST / BATCH + 1
    assert len(queries) < BURST / 4


def test_a_burst_about_the_same_objects_is_one_row_each(job: TrainJob) -> None:
    recorded = Recorded()
    for version in range(BURST):
        recorded.sink.event(kinds.POD, "MODIFIED", pod(f"p{version % 5}", version))
        recorded.sink.event(kinds.EVENT, "MODIFIED", event(f"e{version % 5}", f"uid-p{version % 5}", version + 1))
    recorded.drain()
    assert rows() == {(f"p{n}", f"uid-p{n}", str(BURST - 5 + n), job.pk) for n in range(5)}
    assert set(JobEvent.objects.values_list("reason", "count")) == {("Pulled", BURST - 4 + n) for n in range(5)}
    assert "managedFields" not in MirrorObject.objects.first().raw["metadata"]  # type: ignore[union-attr]


def test_a_long_list_comes_in_pieces_and_what_it_lacks_goes(job: TrainJob) -> None:
    MirrorWriter().write([(kinds.POD, "ADDED", [pod("phantom", 1), pod("p1", 1)])])
    recorded = Recorded()
    recorded.sink.replace(kinds.POD, [pod(f"p{n}", 2) for n in range(BURST)], "77")
    recorded.drain()
    assert {name for name, *_ in rows()} == {f"p{n}" for n in range(BURST)}
    assert BURST / BATCH <= recorded.transactions <= BURST / BATCH + 2
    assert WatchState.objects.get(kind=kinds.POD.key).resource_version == "77"


def test_the_version_that_the_cluster_serves_is_what_builders_use(job: TrainJob, settings: Any) -> None:
    settings.POD_DNS = True
    recorded = Recorded()
    recorded.sink.replace(kinds.POD_GROUP.shapes[1], [], "5")
    recorded.drain()
    assert capabilities().auto_gang == "in_tree"
    assert capabilities().in_tree_version == "v1alpha2"
    recorded.sink.replace(kinds.POD_GROUP, [], "6")
    recorded.drain()
    assert capabilities().in_tree_version == "v1beta1"


def test_what_a_pod_holds_of_its_machine_is_kept_until_it_is_over(job: TrainJob) -> None:
    limits = {"resources": {"limits": {"cpu": "1500m", "nvidia.com/gpu": 8}}}
    steps = [
        ({}, "Pending", ("", {})),
        ({"nodeName": "gpu-1"}, "Running", ("gpu-1", {"cpu": "1500m", "nvidia.com/gpu": "8"})),
        ({"nodeName": "gpu-1"}, "Failed", ("", {})),
    ]
    for version, (where, phase, kept) in enumerate(steps):
        seen = pod("p", version) | {"spec": {"containers": [limits], **where}, "status": {"phase": phase}}
        MirrorWriter().write([(kinds.POD, "MODIFIED", [seen])])
        assert MirrorObject.objects.values_list("machine", "holds").get(name="p") == kept


def test_one_that_no_longer_leads_writes_nothing(job: TrainJob) -> None:
    recorded = Recorded(leads=False)
    recorded.sink.event(kinds.POD, "ADDED", pod("p", 1))
    recorded.drain()
    assert rows() == set()


def test_owners_are_written_before_what_they_own(job: TrainJob) -> None:
    owner = {"kind": "TrainJob", "uid": UID}
    jobset = pod("other-name", 1) | {"kind": "JobSet"}
    jobset["metadata"] |= {"ownerReferences": [owner], "labels": {}}
    batch = [
        (kinds.EVENT, "ADDED", [event("e", "uid-p")]),
        (kinds.POD, "ADDED", [pod("p", 1, jobset="other-name")]),
        (kinds.JOB_SET, "ADDED", [jobset]),
    ]
    result = MirrorWriter().write(batch)
    assert {(name, job_id) for name, _, _, job_id in rows()} == {("p", job.pk), ("other-name", job.pk)}
    assert JobEvent.objects.get().job == job
    assert result.due == {job.pk}
    assert result.pods == {job.pk}


@pytest.mark.parametrize(
    ("source", "due"), [({"component": "kubelet"}, True), ({"component": "trainui"}, False), (None, True)]
)
def test_what_we_said_ourselves_is_kept_and_is_no_reason_to_look_again(
    job: TrainJob, source: Json | None, due: bool
) -> None:
    said = event("said", UID) | {"source": source}
    result = MirrorWriter().write([(kinds.EVENT, "ADDED", [said])])
    assert JobEvent.objects.get().job == job
    assert result.events == {job.pk}
    assert result.due == ({job.pk} if due else set())


STORIES = {
    "another of that name": [("ADDED", "a", 2, "u2")],
    "gone and made anew": [("DELETED", "a", 1, "u1"), ("ADDED", "a", 3, "u2")],
    "made and gone": [("ADDED", "b", 3, "u3"), ("DELETED", "b", 4, "u3")],
    "gone, made anew and gone": [("DELETED", "a", 1, "u1"), ("ADDED", "a", 3, "u2"), ("DELETED", "a", 4, "u2")],
    "a late word of the one before": [("DELETED", "a", 2, "u0")],
    "changed and gone": [("MODIFIED", "a", 2, "u1"), ("DELETED", "a", 3, "u1")],
}


def _play(story: list[tuple[str, str, int, str]], together: bool) -> tuple[set[Any], Result]:
    MirrorObject.objects.all().delete()
    writer = MirrorWriter()
    writer.write([(kinds.POD, "ADDED", [pod("a", 1, "u1")])])
    seen = [(kinds.POD, type, [pod(name, version, uid)]) for type, name, version, uid in story]
    if together:
        result = writer.write(seen)
        return rows(), result
    due: Result = Result()
    for one in seen:
        due.due |= writer.write([one]).due
    return rows(), due


@pytest.mark.parametrize("name", STORIES)
def test_a_batch_leaves_what_single_events_leave(name: str, job: TrainJob) -> None:
    together, concerned = _play(STORIES[name], together=True)
    alone, concerned_alone = _play(STORIES[name], together=False)
    assert together == alone
    assert concerned.due == concerned_alone.due


def test_random_stories_too(job: TrainJob) -> None:
    dice = random.Random(5)  # noqa: S311  the same stories each time
    for _ in range(25):
        story, uids = [], {"a": "u1", "b": "u2"}
        for version in range(2, dice.randrange(3, 9)):
            name, type = dice.choice("ab"), dice.choice(["ADDED", "MODIFIED", "DELETED"])
            if type == "ADDED":
                uids[name] = f"u{version}-{name}"
            story.append((type, name, version, uids[name]))
        assert _play(story, together=True)[0] == _play(story, together=False)[0], story
