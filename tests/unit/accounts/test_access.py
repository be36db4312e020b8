"""Every account address, asked by every persona."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.unit.accounts.conftest import PERSONAS, World
from trainui.accounts.models import ApiToken


@dataclass
class Case:
    """One request, and the status for admin, owner, engineer, viewer, stranger (nobody is always sent to sign in)."""

    name: str
    method: str
    statuses: tuple[int, int, int, int, int]
    args: Callable[[World], list] = lambda world: []
    data: dict = field(default_factory=dict)


def project(world: World) -> list:
    return [world.project.name]


def member(world: World) -> list:
    return [world.project.name, world.member("viewer").pk]


def somebody(world: World) -> list:
    return [world.user("viewer").pk]


def foreign_token(world: World) -> list:
    token, _ = ApiToken.objects.create(user=world.user("viewer"), name="of the viewer")
    return [token.public_id]


ALL = (200, 200, 200, 200, 200)
ADMINS = (200, 404, 404, 404, 404)
CASES = [
    Case("projects", "get", ALL),
    Case("project-create", "get", (200, 403, 403, 403, 403)),
    Case("project-create", "post", (302, 403, 403, 403, 403), data={"name": "fresh"}),
    Case("project", "get", (200, 200, 200, 200, 404), project),
    Case("project-edit", "get", (200, 200, 403, 403, 404), project),
    Case("project-edit", "post", (302, 302, 403, 403, 404), project, {"title": "New"}),
    Case("project-delete", "post", (302, 403, 403, 403, 404), project),
    Case("member-add", "post", (302, 302, 403, 403, 404), project, {"username": "stranger", "role": "viewer"}),
    Case("member-change", "post", (302, 302, 403, 403, 404), member, {"role": "engineer"}),
    Case("member-remove", "post", (302, 302, 403, 302, 404), member),
    Case("tokens", "get", ALL),
    Case("tokens", "post", (201, 201, 201, 201, 201), data={"name": "mine", "days": "7"}),
    Case("token-revoke", "post", (404, 404, 404, 302, 404), foreign_token),
    Case("users", "get", ADMINS),
    Case("user-create", "get", ADMINS),
    Case("user-create", "post", (201, 404, 404, 404, 404), data={"username": "new"}),
    Case("user", "get", ADMINS, somebody),
    Case("user", "post", (302, 404, 404, 404, 404), somebody, {"email": "x@example.test"}),
    Case("user-active", "post", (302, 404, 404, 404, 404), somebody, {"active": "0"}),
    Case("user-password", "post", ADMINS, somebody),
    Case("audit", "get", ADMINS),
    Case("change-password", "get", ALL),
    Case("theme", "post", (302, 302, 302, 302, 302), data={"theme": "dark"}),
    Case("sign-out", "post", (302, 302, 302, 302, 302)),
]
OPEN = {"sign-in", "first-password"}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.method}-{c.name}")
@pytest.mark.parametrize("persona", PERSONAS)
def test_status(world, as_user, case, persona):
    url = reverse(case.name, args=case.args(world))
    response = getattr(as_user(persona), case.method)(url, case.data)
    if persona == "nobody":
        assert response.status_code == 302
        assert response["Location"].startswith("/sign-in?next=")
    else:
        assert response.status_code == case.statuses[PERSONAS.index(persona)]


def test_every_address_has_a_case():
    patterns: list[URLPattern | URLResolver] = get_resolver("trainui.accounts.urls").url_patterns
    assert {pattern.name for pattern in patterns} == {case.name for case in CASES} | OPEN


@pytest.mark.parametrize("case", [c for c in CASES if c.method == "post"], ids=lambda c: c.name)
def test_what_changes_something_wants_a_post_with_a_csrf_token(world, case):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(world.user("admin"))
    assert client.post(reverse(case.name, args=case.args(world)), case.data).status_code == 403
