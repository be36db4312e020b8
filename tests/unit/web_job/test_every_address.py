"""Every address that the resolver knows: a stranger learns nothing of a project, nobody at all gets no further than the login."""

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from .conftest import World

# Addresses that answer without a login, and those whose caller proves by other means who it is.
OPEN = ("/livez", "/readyz", "/sign-in")
BY_TOKEN = ("/progress/", "/admission/")
_PARAMETER = re.compile(r"<(?:(?P<converter>\w+):)?(?P<name>\w+)>")
_GROUP = re.compile(r"\(\?P<(?P<name>\w+)>[^)]*\)")


def addresses(patterns: list[Any] | None = None, prefix: str = "/") -> Iterator[str]:
    """Every route as the resolver has it, parameters and all."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def filled(route: str, world: World) -> list[str]:
    """A route with everything in its parameters that belongs to a project of others."""
    job = world.made[0] if world.made else world.job(name="hidden-job")
    member = world.project.memberships.first()
    assert member is not None
    kinds = {
        "uuid": str(job.pk if "<uuid:job_id>" in route else uuid.uuid4()),
        "int": str(member.user_id if route.startswith("/users/") else member.pk),
        "slug": world.project.name if route.startswith("/projects/") else "head",
        "path": "model.npz",
    }
    of_text = {"namespace": world.project.namespace, "row": "1-0", "token": "guessed", "what": "rules"}

    def value(match: re.Match[str]) -> str:
        return kinds.get(match["converter"] or "") or of_text.get(match["name"], "some-name")

    route = _PARAMETER.sub(value, route)
    found = [route]
    for group in _GROUP.finditer(route):
        if group["name"] == "job_id":
            found = [one.replace(group[0], str(job.pk)) for one in found]
        else:
            words = group[0].partition(">")[2].rstrip(")").split("|")
            found = [one.replace(group[0], word) for one in found for word in words]
    return [one.replace("^", "").replace("$", "") for one in found]


ROUTES = sorted(set(addresses()))


def test_the_resolver_was_walked() -> None:
    assert len(ROUTES) > 70
    assert {"/jobs/<uuid:job_id>/logs", "/api/v1/trainjobs/<uuid:job_id>/logs/download", "/audit"} <= set(ROUTES)


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize("route", ROUTES)
def test_a_stranger_learns_nothing(world: World, as_user: Any, route: str, method: str) -> None:
    for address in filled(route, world):
        answer = getattr(as_user("stranger"), method)(address)
        body = b"" if answer.streaming else answer.content
        job = world.made[0]
        if str(job.pk) in address:
            assert answer.status_code in (401, 403, 404, 405), address
            assert answer.status_code != 403 or address.startswith(BY_TOKEN), address
        else:
            assert not answer.streaming, address
            assert str(job.pk).encode() not in body
        assert job.name.encode() not in body, address
        if world.project.name not in address:
            assert world.project.name.encode() not in body, address
        job.refresh_from_db()
        assert (job.desired_suspend, job.cancel_requested_at, job.delete_requested_at, job.kept) == (
            None,
            None,
            None,
            False,
        )


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
@pytest.mark.parametrize("route", ROUTES)
def test_nobody_gets_no_further_than_the_login(world: World, route: str, method: str) -> None:
    for address in filled(route, world):
        answer = getattr(Client(), method)(address)
        if address.startswith(OPEN):
            continue
        if address.startswith((*BY_TOKEN, "/api/")):
            assert answer.status_code in (401, 403, 404, 405), address
        else:
            assert answer.status_code == 302, address
            assert answer["Location"].startswith("/sign-in?next="), address
