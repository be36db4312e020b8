"""Two projects, five personas, the blueprints that ship, and jobs in any phase."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from jobs.models import TrainJob, TrainJobDetail, WatchState
from jobs.state import phases
from tests.unit.catalog import fill_catalog
from trainui.accounts.models import Membership, Project, User

HTMX = {"HX-Request": "true"}


@dataclass
class World:
    """`team` has an admin (boss), engineers (owner, colleague) and a viewer; `other` has the stranger, and the owner as viewer."""

    team: Project
    other: Project
    users: dict[str, User]
    # Of this world, not of the module: a test may run many minutes after it was imported.
    start: datetime = field(default_factory=lambda: timezone.now().replace(microsecond=0))

    def job(self, name: str, phase: str = phases.RUNNING, minutes: int = 0, **columns: Any) -> TrainJob:
        """Store a job that was submitted so many minutes ago."""
        detail = {key: columns.pop(key) for key in ("blueprint", "parameters", "manifest", "runtime") if key in columns}
        values: dict[str, Any] = {
            "project": self.team, "owner": self.users["owner"], "uid": str(uuid.uuid4()), "runtime_kind": "ClusterTrainingRuntime",
            "runtime_name": "sample-mnist", "created_at": self.start - timedelta(minutes=minutes), "phase": phase,
            "tone": phases.PHASES[phase].tone, "sentence": f"The sentence of {phase}.", "nodes_expected": 2,
        }  # fmt: skip
        values |= columns
        row = TrainJob.objects.create(name=name, namespace=values["project"].namespace, **values)
        TrainJobDetail.objects.create(job=row, **({"manifest": manifest(name)} | detail))
        return row


def manifest(name: str = "hello", **trainer: Any) -> dict[str, Any]:
    """A TrainJob of the command blueprint."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"runtimeRef": {"name": "plain-command"}, "trainer": {"numNodes": 2, **trainer}},
    }


@pytest.fixture(autouse=True)
def _settings(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True  # else it reads all collected files once per client
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}


@pytest.fixture
def world(db) -> World:
    names = ("admin", "boss", "owner", "colleague", "viewer", "stranger")
    users = {name: User.objects.create_user(name, is_superuser=name == "admin") for name in names}
    team, other = Project.objects.create(name="team"), Project.objects.create(name="other")
    roles = (("boss", "admin"), ("owner", "engineer"), ("colleague", "engineer"), ("viewer", "viewer"))
    for name, role in roles:
        Membership.objects.create(project=team, user=users[name], role=role)
    Membership.objects.create(project=other, user=users["stranger"], role="engineer")
    Membership.objects.create(project=other, user=users["owner"], role="viewer")
    WatchState.objects.create(kind="/Pod", alive_at=timezone.now(), listed_at=timezone.now())
    fill_catalog()
    return World(team, other, users)


@pytest.fixture
def as_user(world: World) -> Callable[[str], Client]:
    """Return a client that is signed in as a persona."""

    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(world.users[name])
        return client

    return client_of


def text(response: HttpResponse) -> str:
    """The page without its tags, blanks joined."""
    return " ".join(re.sub(r"<[^>]*>", " ", response.content.decode()).split())


def hidden(response: HttpResponse) -> dict[str, str]:
    """The hidden fields of the last form on a page, as a browser would send them."""
    import html

    form = response.content.decode().rsplit("<form", 1)[1]
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found if name != "csrfmiddlewaretoken"}
