"""Five personas around one project: admin, owner (project admin), engineer, viewer, stranger; and nobody."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client

from trainui.accounts.models import Membership, Project, User

PASSWORD = "correct horse battery staple"  # noqa: S105  of made-up people
PERSONAS = ("admin", "owner", "engineer", "viewer", "stranger", "nobody")


@dataclass
class World:
    """What a test starts from."""

    project: Project
    other: Project
    users: dict[str, User]

    def user(self, name: str) -> User:
        return self.users[name]

    def member(self, name: str) -> Membership:
        return Membership.objects.get(project=self.project, user=self.users[name])


@pytest.fixture(autouse=True)
def _settings(settings) -> None:
    settings.ROOT_URLCONF = "tests.unit.accounts.urls"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.WHITENOISE_AUTOREFRESH = True  # else it reads all collected files once per client
    backend = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": backend}}


@pytest.fixture
def world(db) -> World:
    users = {
        name: User.objects.create_user(name, f"{name}@example.test", PASSWORD, is_superuser=name == "admin")
        for name in PERSONAS
        if name != "nobody"
    }
    project = Project.objects.create(name="team-nlp", title="Language")
    for name, role in (("owner", "admin"), ("engineer", "engineer"), ("viewer", "viewer")):
        Membership.objects.create(project=project, user=users[name], role=role)
    other = Project.objects.create(name="elsewhere")
    Membership.objects.create(project=other, user=users["stranger"], role="admin")
    return World(project, other, users)


@pytest.fixture
def as_user(world: World) -> Callable[[str], Client]:
    """Return a client that is signed in as a persona."""

    def client_of(name: str) -> Client:
        client = Client()
        if name != "nobody":
            client.force_login(world.user(name))
        return client

    return client_of
