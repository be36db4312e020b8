"""A project with everything in it that an address can name: a job with nodes, events, metrics, a log and an artifact, a runtime, tokens."""

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from jobs.logs.archive import Archive
from jobs.logs.splitter import Splitter
from jobs.metrics.store import Point, keep_points
from jobs.models import JobEvent, LogStream, TrainJob, TrainJobDetail, WatchState
from jobs.progress.artifacts import store_artifact
from jobs.reconcile.desired import progress_token
from jobs.state import phases
from runtimes.models import Runtime
from tests.unit.catalog import fill_catalog
from trainui.accounts.models import ApiToken, Membership, Project, User

SECRET = "hf_FAKEfakeFAKEfake1234567890"  # noqa: S105  of the form of a token, and none
ROLES = {"alice": "engineer", "bob": "viewer", "carol": "admin", "dora": "engineer"}
PEOPLE = ("alice", "bob", "carol", "dora", "charlie", "admin")
"""alice owns the job, dora is another engineer, bob a viewer, carol the project's admin, charlie a stranger with a project of his own."""
API = "/api/v1"
Json = dict[str, Any]


@dataclass
class World:
    """What a test starts from."""

    project: Project
    elsewhere: Project
    users: dict[str, User]
    job: TrainJob
    runtime: Runtime

    def client(self, who: str) -> Client:
        """Return a client that is signed in as somebody; `anonymous` is nobody."""
        client = Client()
        if who != "anonymous":
            client.force_login(self.users[who])
        return client

    def get(self, path: str, who: str = "alice", **query: Any) -> Any:
        return self.client(who).get(API + path, query)

    def post(
        self, path: str, body: Any, who: str = "alice", content_type: str = "application/json", **headers: str
    ) -> Any:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client(who).post(API + path, data, content_type=content_type, headers=headers)

    @property
    def at(self) -> str:
        """The address of the job below the API."""
        return f"/trainjobs/{self.job.pk}"

    @property
    def log(self) -> LogStream:
        return LogStream.objects.get(job=self.job)


def make_world(tmp_path: Path) -> World:
    """Store everything; logs and artifacts lie under `tmp_path`, where LOGS_DIR and ARTIFACTS_DIR must point."""
    users = {name: User.objects.create_user(name, is_superuser=name == "admin") for name in PEOPLE}
    project = Project.objects.create(name="team-a", title="Secret plans")
    elsewhere = Project.objects.create(name="elsewhere")
    for name, role in ROLES.items():
        Membership.objects.create(project=project, user=users[name], role=role)
    Membership.objects.create(project=elsewhere, user=users["charlie"], role="admin")
    fill_catalog()
    WatchState.objects.create(kind="/Pod", alive_at=timezone.now(), listed_at=timezone.now())
    runtime = Runtime.objects.create(
        kind=Runtime.NAMESPACED_KIND,
        namespace=project.namespace,
        name="private-runtime",
        uid=str(uuid.uuid4()),
        observed={"spec": {}},
    )
    return World(project, elsewhere, users, make_job(project, users["alice"]), runtime)


def make_job(
    project: Project, owner: User, name: str = "hidden-llama", phase: str = phases.RUNNING, minutes: int = 5
) -> TrainJob:
    """Store a job with everything that belongs to one."""
    now = timezone.now()
    job = TrainJob.objects.create(
        project=project, namespace=project.namespace, name=name, uid=str(uuid.uuid4()), owner=owner, runtime_kind="ClusterTrainingRuntime",
        runtime_name="plain-command", created_at=now - timedelta(minutes=minutes), phase=phase, tone="active", sentence="All is well.",
        nodes_expected=2, nodes_ready=2, observed_at=now, finished_at=now if phase in phases.FINISHED else None,
    )  # fmt: skip
    node = {"rank": 0, "name": f"{name}-node-0-0-abcde", "state": "running", "machine": "local-0", "exit_code": None}
    TrainJobDetail.objects.create(
        job=job, manifest=manifest(name, project.namespace, env=[{"name": "HF_TOKEN", "value": SECRET}]), blueprint="plain-command",
        parameters={"script": "true", "environment": [["HF_TOKEN", SECRET]]}, state={"nodes": [node], "counts": {"expected": 2}},
    )  # fmt: skip
    _event(job, now)
    keep_points(job.pk, [Point("loss", now - timedelta(seconds=9 - n), 1 / (n + 1), n) for n in range(10)])
    _log(job, node["name"] or "")
    store_artifact(job, "models/best.npz", iter([b"weights of ", b"the model"]), 1000)
    return job


def manifest(name: str = "hello", namespace: str = "team-a", **trainer: Any) -> Json:
    """A TrainJob of the command blueprint."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runtimeRef": {"name": "plain-command"},
            "trainer": {"numNodes": 2, "command": ["/bin/true"], **trainer},
        },
    }


def token_of(user: User) -> str:
    """Return a new API token of somebody."""
    return str(ApiToken.objects.create(user=user, name="test", expiry=timedelta(days=1))[1])


def report_header(job: TrainJob) -> Json:
    """Return the header with which a pod of a job reports."""
    return {"Authorization": f"Bearer {progress_token(job.pk)}"}


def _event(job: TrainJob, now: Any) -> None:
    JobEvent.objects.create(
        job=job, uid=str(uuid.uuid4()), type="Normal", reason="Started", message="Started container node", object_kind="Pod",
        object_name=f"{job.name}-node-0-0-abcde", first_at=now, last_at=now,
    )  # fmt: skip


def _log(job: TrainJob, pod: str) -> None:
    folder = f"{job.pk}/log"
    archive, splitter = Archive(Path(settings.LOGS_DIR) / folder), Splitter()
    lines = [f"2026-03-01T10:00:0{n}.000000000Z line {n} of {job.name}\n".encode() for n in range(3)]
    archive.append(splitter.feed(b"".join(lines)))
    archive.complete("ended")
    archive.close()
    LogStream.objects.create(
        job=job,
        pod=pod,
        pod_uid=str(uuid.uuid4()),
        container="node",
        folder=folder,
        bytes=99,
        lines=3,
        complete=True,
        rank=0,
    )
