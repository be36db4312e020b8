"""A catalog of the blueprints that ship, in the cluster as they should be, and people around a project."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from runtimes.models import Runtime
from tests.unit.catalog import fill_catalog
from trainui.accounts.models import Membership, Project, User


@dataclass
class Catalog:
    """`team` has an engineer; the stranger is in no project; the curator is a catalog admin."""

    team: Project
    users: dict[str, User]

    def edit(self, name: str, change: Callable[[dict[str, Any]], Any]) -> Runtime:
        """Let somebody edit the runtime of a blueprint in the cluster."""
        row = Runtime.objects.get(name=name)
        change(row.observed["spec"])
        row.drifted = True
        row.save()
        return row

    def plain(self, name: str, namespace: str = "", labels: dict[str, str] | None = None) -> Runtime:
        """Let somebody put a runtime without a form into the cluster."""
        manifest = copy.deepcopy(Runtime.objects.get(name="plain-command").manifest)
        manifest["metadata"] = {"name": name, "uid": "u", "resourceVersion": "1", "labels": labels or {}}
        kind = Runtime.NAMESPACED_KIND if namespace else Runtime.CLUSTER_KIND
        return Runtime.objects.create(
            kind=kind, namespace=namespace, name=name, title=name, framework="plain", uid="u", observed=manifest, seen_at=timezone.now()
        )  # fmt: skip


@pytest.fixture(autouse=True)
def _settings(settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True  # else it reads all collected files once per client
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}


@pytest.fixture
def catalog(db) -> Catalog:
    names = ("admin", "curator", "engineer", "stranger")
    users = {
        name: User.objects.create_user(name, is_superuser=name == "admin", is_catalog_admin=name == "curator")
        for name in names
    }
    team = Project.objects.create(name="team")
    Membership.objects.create(project=team, user=users["engineer"], role="engineer")
    fill_catalog()
    for row in Runtime.objects.all():
        row.observed = copy.deepcopy(row.manifest) | {"metadata": row.manifest["metadata"] | {"uid": row.name}}
        row.uid, row.seen_at = row.name, timezone.now()
        row.save()
    return Catalog(team, users)


@pytest.fixture
def as_user(catalog: Catalog) -> Callable[[str], Client]:
    """Return a client that is signed in as a persona."""

    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(catalog.users[name])
        return client

    return client_of
