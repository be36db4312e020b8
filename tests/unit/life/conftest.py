"""A project with its people, and jobs in it: owner (an engineer who submitted them), mate (another engineer), chief (project admin), viewer, stranger."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import TrainJob, TrainJobDetail
from jobs.state import phases
from runtimes.models import Runtime
from trainui.accounts.models import Membership, Project, User
from trainui.events import changes

ROLES = {"owner": "engineer", "mate": "engineer", "chief": "admin", "viewer": "viewer"}
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "plain"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "replicas": 1,
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {
                                "template": {
                                    "spec": {
                                        "restartPolicy": "Never",
                                        "containers": [{"name": "node", "image": "busybox", "command": ["true"]}],
                                    }
                                }
                            },
                        },
                    }
                ]
            }
        },
    },
}


@dataclass
class World:
    """What a test starts from."""

    project: Project
    elsewhere: Project
    users: dict[str, User]
    rung: list[uuid.UUID] = field(default_factory=list)
    published: list[changes.Change] = field(default_factory=list)

    def job(self, name: str = "llama", phase: str = phases.RUNNING, **more: Any) -> TrainJob:
        """Store a job of the owner as reconcile leaves it in a phase."""
        now = timezone.now()
        known = phases.PHASES[phase]
        manifest = more.pop("manifest", None) or self.manifest(name)
        detail = more.pop("detail", {})
        columns: dict[str, Any] = {
            "project": self.project, "owner": self.users["owner"], "runtime_kind": "ClusterTrainingRuntime", "runtime_name": "plain",
            "created_at": now - timedelta(hours=1), "uid": str(uuid.uuid4()), "phase": phase, "tone": known.tone, "since": now - timedelta(minutes=30),
            "started_at": now - timedelta(minutes=30), "finished_at": now - timedelta(minutes=5) if known.finished else None, "nodes_expected": 1,
        } | more  # fmt: skip
        job = TrainJob.objects.create(name=name, namespace=columns["project"].namespace, **columns)
        TrainJobDetail.objects.create(job=job, manifest=manifest, runtime=RUNTIME, **detail)
        return job

    def manifest(self, name: str) -> dict[str, Any]:
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": name, "namespace": self.project.namespace, "labels": {"team": "nlp"}},
            "spec": {"runtimeRef": {"name": "plain"}, "trainer": {"args": ["--lr=0.1"], "env": [{"name": "API_KEY", "value": "hush-hush-value"}]}},
        }  # fmt: skip


@pytest.fixture(autouse=True)
def _settings(settings: Any, tmp_path: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}
    settings.LOGS_DIR, settings.ARTIFACTS_DIR = tmp_path / "logs", tmp_path / "artifacts"


@pytest.fixture
def world(db: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    users = {name: User.objects.create_user(name, password="x" * 12) for name in [*ROLES, "stranger"]}
    project = Project.objects.create(name="team-nlp")
    elsewhere = Project.objects.create(name="elsewhere")
    for name, role in ROLES.items():
        Membership.objects.create(project=project, user=users[name], role=role)
    Membership.objects.create(project=elsewhere, user=users["stranger"], role="admin")
    Runtime.objects.create(kind=Runtime.CLUSTER_KIND, name="plain", observed=RUNTIME)
    made = World(project, elsewhere, users)
    # No broker listens here: doorbells and changes are noted instead of sent.
    for place in ("doorbell", "retention", "log_rows", "reconcile"):
        monkeypatch.setattr(f"jobs.reconcile.{place}.ring", made.rung.append)
    for place in (
        "trainui.events.changes",
        "jobs.reconcile.log_rows",
        "jobs.reconcile.reconcile",
        "jobs.progress.artifacts",
    ):
        monkeypatch.setattr(f"{place}.publish", lambda *them: made.published.extend(them))
    return made


@pytest.fixture
def as_user(world: World) -> Callable[[str], Client]:
    """Return a client that is signed in as one of the people, or nobody."""

    def client_of(name: str) -> Client:
        client = Client()
        if name != "nobody":
            client.force_login(world.users[name])
        return client

    return client_of
