"""A project with four personas, and jobs in any phase made of plain states."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone

from jobs.logs.archive import Archive
from jobs.logs.splitter import Splitter
from jobs.models import JobEvent, LogStream, MetricSample, MetricSeries, TrainJob, TrainJobDetail, WatchState
from jobs.state import phases
from jobs.state.model import Cause, Counts, GangState, JobState, NodeState
from trainui.accounts.models import Membership, Project, User

HTMX = {"HX-Request": "true"}
SECRET = "hf_FAKEFAKEFAKE1234"  # noqa: S105  the shape of a token, and no token
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch-distributed"},
    "spec": {
        "mlPolicy": {"numNodes": 2, "torch": {"numProcPerNode": "auto"}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "train:1"}]}}},
                        },
                    }
                ]
            }
        },
    },
}


@dataclass
class World:
    """Two projects; `stranger` is in the other one."""

    project: Project
    users: dict[str, User]
    made: list[TrainJob] = field(default_factory=list)

    def job(self, phase: str = phases.RUNNING, nodes: int = 2, **columns: Any) -> TrainJob:
        """Store a job with `nodes` ranks in a phase; `state`, `manifest`, `runtime`, `objects` and other columns may be given."""
        state = columns.pop("state", None) or state_in(phase, nodes)
        detail = {
            "manifest": columns.pop("manifest", None) or manifest(),
            "runtime": columns.pop("runtime", RUNTIME),
            "objects_built": columns.pop("objects", []),
            "trainer_status": columns.pop("trainer_status", None),
            "blueprint": columns.pop("blueprint", ""),
            "parameters": columns.pop("parameters", {}),
        }
        now = timezone.now()
        values: dict[str, Any] = {
            "name": f"job-{len(self.made)}",
            "uid": str(uuid.uuid4()),
            "owner": self.users["owner"],
            "runtime_kind": "ClusterTrainingRuntime",
            "runtime_name": "torch-distributed",
            "created_at": now - timedelta(minutes=5),
            "pushed_at": now - timedelta(minutes=5, seconds=-1),
            "phase": state.phase,
            "code": state.code,
            "tone": state.tone,
            "sentence": state.sentence,
            "since": now - timedelta(minutes=1),
            "observed_at": now,
            "finished_at": now if state.finished else None,
        }
        row = TrainJob.objects.create(project=self.project, namespace=self.project.namespace, **values | columns)
        TrainJobDetail.objects.create(job=row, state=state.as_dict(), **detail)
        self.made.append(row)
        return row


def manifest(env: list[dict[str, Any]] | None = None, **trainer: Any) -> dict[str, Any]:
    """A TrainJob of two nodes."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "team-nlp", "annotations": {"trainui.dev/submission-id": "x"}},
        "spec": {
            "runtimeRef": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"},
            "trainer": {"numNodes": 2, "command": ["python", "train.py"], **({"env": env} if env else {}), **trainer},
        },
    }


def state_in(phase: str, nodes: int = 2) -> JobState:
    """A state as `observe` gives it: pods that fit the phase."""
    kind = {
        phases.RUNNING: "ready",
        phases.FAILED: "failed",
        phases.SUCCEEDED: "succeeded",
        phases.STARTING: "starting",
    }.get(phase, "waiting")
    placed = kind != "waiting"
    ranks = tuple(
        NodeState(
            rank,
            "node",
            "trainer",
            0,
            rank,
            name=f"pod-{rank}" if placed or phase == phases.WAITING else None,
            machine=f"gpu-{rank}" if placed else None,
            state=kind,
            exit_code=137 if kind == "failed" else None,
            reason="OOMKilled" if kind == "failed" else None,
        )
        for rank in range(nodes)
    )
    cause = None
    if phase == phases.FAILED:
        cause = Cause(1, "pod-1", "node", "node", 137, "OOMKilled", "out of memory in step 7", machine="gpu-1")
    gang = None
    if phase == phases.WAITING:
        gang = GangState("in-tree", nodes, ("node",), "job-group", nodes, 0, "0 of 2 nodes have a machine yet.")
    return JobState(
        phase,
        "Code",
        phases.PHASES[phase].tone,
        f"The sentence of {phase}.",
        since=None,
        recheck_at=None,
        finished=phases.PHASES[phase].finished,
        nodes=ranks,
        counts=Counts(expected=nodes, needed=nodes, placed=nodes if placed else 0, ready=nodes if placed else 0),
        gang=gang,
        cause=cause,
    )


def archive(job: TrainJob, rank: int | None, lines: list[str], *, pod: str = "", **columns: Any) -> LogStream:
    """Archive lines as capture does, one second apart, and store the row."""
    pod = pod or f"pod-{rank}"
    begin = timezone.now() - timedelta(minutes=2)
    complete = columns.pop("complete", True)
    values = {"container": "node", "attempt": 0, "restart": 0, "order": rank or 0, "replicated_job": "node"} | columns
    folder = f"{job.pk}/{pod}--{values['container']}--{values['restart']}--{values['attempt']}"
    raw = "".join(f"{stamp(begin + timedelta(seconds=at))} {line}\n" for at, line in enumerate(lines))
    store = Archive(Path(django_settings.LOGS_DIR) / folder)
    store.append(Splitter().feed(raw.encode()))
    if complete:
        store.complete("ended")
    row = LogStream.objects.create(
        job=job, rank=rank, pod=pod, pod_uid=str(uuid.uuid4()), folder=folder, bytes=store.bytes, lines=store.lines, complete=complete, **values
    )  # fmt: skip
    store.close()
    return row


def stamp(at: datetime) -> str:
    """A time as the kubelet writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def sample(job: TrainJob, name: str, values: list[float]) -> None:
    """Store values of a metric, one second apart."""
    begin = timezone.now() - timedelta(minutes=1)
    last = begin + timedelta(seconds=len(values) - 1)
    numbers = {"last": values[-1], "last_at": last, "sampled_at": last, "lowest": min(values), "highest": max(values)}
    first = {"first_at": begin, "seen": len(values), "kept": len(values)}
    MetricSeries.objects.update_or_create(job=job, name=name, defaults=numbers, create_defaults=numbers | first)
    MetricSample.objects.bulk_create(
        MetricSample(job=job, name=name, at=begin + timedelta(seconds=at), value=value)
        for at, value in enumerate(values)
    )


def event(job: TrainJob, reason: str, message: str = "", type: str = "Normal", seconds: int = 0) -> JobEvent:
    """Keep an event of so many seconds ago."""
    at = timezone.now() - timedelta(seconds=seconds)
    return JobEvent.objects.create(
        job=job, uid=str(uuid.uuid4()), type=type, reason=reason, message=message, object_kind="Pod", object_name="pod-0", first_at=at, last_at=at
    )  # fmt: skip


def make_world() -> World:
    """Store the projects and their people, and a watch that lives."""
    names = ("admin", "owner", "viewer", "colleague", "stranger")
    users = {name: User.objects.create_user(name, password="x", is_superuser=name == "admin") for name in names}  # noqa: S106
    project = Project.objects.create(name="team-nlp")
    for name, role in (("owner", "engineer"), ("viewer", "viewer"), ("colleague", "engineer")):
        Membership.objects.create(project=project, user=users[name], role=role)
    elsewhere = Project.objects.create(name="elsewhere")
    Membership.objects.create(project=elsewhere, user=users["stranger"], role="admin")
    WatchState.objects.create(kind="/Pod", alive_at=timezone.now(), listed_at=timezone.now())
    return World(project, users)


@pytest.fixture(autouse=True)
def _settings(settings, tmp_path) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.LOGS_DIR = tmp_path / "logs"
    settings.ARTIFACTS_DIR = tmp_path / "artifacts"
    settings.STATIC_ROOT = tmp_path / "static"  # what is collected in the checkout may change at any time
    settings.STATIC_ROOT.mkdir()
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}


@pytest.fixture
def world(db) -> World:
    return make_world()


@pytest.fixture
def as_user(world: World) -> Callable[[str], Client]:
    """Return a client that is signed in as a persona, or as nobody."""

    def client_of(name: str) -> Client:
        client = Client()
        if name != "nobody":
            client.force_login(world.users[name])
        return client

    return client_of
