"""Every address of the resolver, asked for by nobody and by a signed-in stranger: 404, the way to the sign-in, 401 for REST, and never a word of others.

Each address has its case in CASES; one without fails the tests, so that a new page is thought about.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from jobs.models import TrainJob
from tests.unit.api.conftest import world as world
from tests.unit.api.world import SECRET, World
from trainui.accounts.models import ApiToken, Membership, Project, User


@dataclass(frozen=True)
class Kind:
    """What the answers of an address may be: to nobody, and to a stranger by GET and POST."""

    name: str
    nobody: frozenset[int]
    get: frozenset[int]
    post: frozenset[int]
    sign_in: bool = False  # a redirect for nobody leads to the sign-in page


def kind(name: str, nobody: int | set[int], get: int | set[int], post: int | set[int], sign_in: bool = False) -> Kind:
    sets = [frozenset([some] if isinstance(some, int) else some) for some in (nobody, get, post)]
    return Kind(name, *sets, sign_in=sign_in)


HEALTH = kind("health", 200, 200, 200)
# A page that names something of a project of others.
PAGE = kind("page", 302, 404, {404, 405}, sign_in=True)
DEED = kind("deed", 302, 405, 404, sign_in=True)  # POST only
# REST of the same. Streams look at the method first.
API = kind("api", {401, 405}, 404, 405)
API_DEED = kind("api_deed", 401, 405, 404)
# What everybody who is signed in has for themselves.
OWN = kind("own", 302, {200, 302}, {200, 405, 422}, sign_in=True)
OWN_DEED = kind("own_deed", 302, 405, 302, sign_in=True)
OWN_API = kind("own_api", 401, {200, 405, 422}, {405, 415})
# Pages of admins of the installation: who is none is not told of them, except that projects and runtimes exist (docs of `can`).
ADMIN = kind("admin", 302, 404, {404, 405}, sign_in=True)
ADMIN_DEED = kind("admin_deed", 302, 405, {403, 404}, sign_in=True)
MAKE_PROJECT = kind("make_project", 302, 403, 403, sign_in=True)
# Who calls proves it by a token in the header or the address.
BY_TOKEN = kind("by_token", {403, 404, 405}, {404, 405}, {403, 404, 405})
SIGN_IN = kind("sign_in", {200, 422}, 302, 302)
FIRST_PASSWORD = kind("first_password", 302, 302, 302, sign_in=True)

JOB, REST = "/jobs/<uuid:job_id>", "/api/v1/trainjobs/<uuid:job_id>"
PROJECT = "/projects/<slug:name>"
CASES: dict[str, Kind] = {
    "/livez": HEALTH,
    "/readyz": HEALTH,
    "/sign-in": SIGN_IN,
    "/sign-in/new-password": FIRST_PASSWORD,
    **dict.fromkeys(
        ["/", "/jobs", "/jobs/recent", "/jobs/removed", "/queue", "/cluster", "/compare", "/projects", "/runtimes", "/runtimes/<str:name>", "/submit",
         "/submit/manifest", "/submit/with/<str:name>", "/tokens", "/account/password"],
        OWN,
    ),
    **dict.fromkeys(["/theme", "/sign-out", "/jobs/bulk"], OWN_DEED),
    **dict.fromkeys([JOB, "/jobs/row/<uuid:job_id>"], PAGE),
    **dict.fromkeys(
        [f"{JOB}/{part}" for part in ("nodes", "logs", "logs/row/<str:row>", "metrics", "metrics/series", "metrics/points", "events", "manifest",
                                      "parts/<slug:name>")],
        PAGE,
    ),
    **dict.fromkeys([f"{JOB}/{deed}" for deed in ("suspend", "resume", "cancel", "delete", "retry", "keep", "release")], DEED),
    **dict.fromkeys([PROJECT, f"{PROJECT}/edit", "/runtimes/<str:namespace>/<str:name>", "/submit/with/<str:namespace>/<str:name>"], PAGE),
    **dict.fromkeys([f"{PROJECT}/{deed}" for deed in ("delete", "members", "members/<int:pk>", "members/<int:pk>/remove")], DEED),
    "/tokens/<uuid:public_id>/revoke": DEED,
    "/new-project": MAKE_PROJECT,
    **dict.fromkeys(["/users", "/users/new", "/users/<int:pk>", "/audit"], ADMIN),
    **dict.fromkeys(["/users/<int:pk>/active", "/users/<int:pk>/password", "/runtimes/<str:name>/-/restore"], ADMIN_DEED),
    **dict.fromkeys(
        [f"/api/v1/{name}" for name in ("trainjobs", "trainjobs/bulk", "trainjobs/removed", "runtimes", "runtimes/<str:name>", "projects", "queues", "cluster",
                                        "metrics", "schema", "docs")],
        OWN_API,
    ),
    REST: API,
    **dict.fromkeys(
        [f"{REST}/{part}" for part in ("nodes", "events", "metrics", "manifest", "origins", "artifacts", "artifacts/<path:name>", "logs", "logs/rows",
                                       "logs/tail", "logs/rows/<int:stream>/<int:row>", "logs/search", "logs/text", "logs/download", "logs/stream")],
        API,
    ),
    **dict.fromkeys([f"{REST}/{deed}" for deed in ("suspend", "resume", "cancel", "retry", "keep", "release")], API_DEED),
    **dict.fromkeys(["/progress/<uuid:job_id>/status", "/progress/<uuid:job_id>/artifacts/<path:name>", "/admission/<str:token>/<str:what>"], BY_TOKEN),
}  # fmt: skip


def routes(patterns: list[Any] | None = None, prefix: str = "/") -> Iterator[str]:
    """Every route of the resolver, with its parameters as they are written."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def filled(world: World, route: str) -> str:
    """Return an address with what a stranger might have guessed of the project."""
    token = ApiToken.objects.create(user=world.users["alice"], name="alices token", expiry=None)[0]
    member = Membership.objects.get(project=world.project, user=world.users["alice"])
    values: dict[str, Any] = {
        "job_id": world.job.pk, "public_id": token.public_id, "namespace": world.project.namespace, "stream": world.log.pk, "row": 0,
        "pk": member.pk if route.startswith("/projects/") else world.users["alice"].pk, "token": uuid.uuid4().hex, "what": "rules",
        "name": world.runtime.name if "namespace" in route else "plain-command",
    }  # fmt: skip
    for beginning, name in (
        (PROJECT, world.project.name),
        (f"{JOB}/parts/", "head"),
        (f"{REST}/artifacts/", "models/best.npz"),
    ):
        if route.startswith(beginning):
            values["name"] = name
    if "logs/row/" in route:
        values["row"] = f"{world.log.pk}.0"
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(values[match[1]]), route)


def told(answer: Any) -> str:
    """Everything an answer says."""
    if answer.streaming:
        body = b"" if answer.is_async else b"".join(answer.streaming_content)
    else:
        body = answer.content
    return str(body.decode()) + str(dict(answer.headers))


def hidden_words(world: World, address: str) -> list[str]:
    words = [
        world.job.name,
        world.project.title,
        SECRET,
        world.runtime.name,
        "alices token",
        world.project.name,
        "line 0",
    ]
    return [word for word in words if word not in address]


def stored(world: World) -> list[Any]:
    """What a stranger might have changed."""
    jobs = TrainJob.objects.values_list(
        "pk", "desired_suspend", "cancel_requested_at", "delete_requested_at", "kept", "due_at"
    )
    people = User.objects.filter(username__in=["alice", "bob", "carol", "admin"]).values_list(
        "pk", "is_active", "password", "is_superuser"
    )
    return [
        list(q)
        for q in (
            jobs,
            people,
            Project.objects.values_list("pk", "title"),
            Membership.objects.values_list("pk", "role"),
        )
    ]


def test_every_address_has_a_case() -> None:
    assert set(routes()) == set(CASES)


@pytest.mark.parametrize("route", CASES)
def test_nobody_gets_no_further_than_the_sign_in(world: World, route: str) -> None:
    case, address = CASES[route], filled(world, route)
    before = stored(world)
    for method in ("get", "post", "put", "delete"):
        answer = getattr(world.client("anonymous"), method)(address)
        assert answer.status_code in case.nobody | {405}, (method, answer.status_code)
        if answer.status_code == 302 and case.sign_in:
            assert answer["Location"].startswith("/sign-in" if case is FIRST_PASSWORD else "/sign-in?next=")
        assert not [word for word in hidden_words(world, address) if word in told(answer)]
    if case.sign_in:  # what a page fetches in the background leads there too
        assert world.client("anonymous").get(address, headers={"HX-Request": "true"}).status_code in (204, 302)
    assert stored(world) == before


@pytest.mark.parametrize("route", CASES)
def test_a_stranger_learns_nothing(world: World, route: str) -> None:
    case, address = CASES[route], filled(world, route)
    before = stored(world)
    allowed: dict[str, frozenset[int]] = {"get": case.get, "post": case.post}
    for method in ("get", "post", "put", "delete", "patch"):
        answer = getattr(world.client("charlie"), method)(address)
        expected = allowed.get(method, case.get | case.post | {405})
        assert answer.status_code in expected, (method, answer.status_code)
        assert not [word for word in hidden_words(world, address) if word in told(answer)]
    assert stored(world) == before


@pytest.mark.parametrize(
    "route", [route for route, case in CASES.items() if case in (PAGE, API, DEED, API_DEED) and "job_id" in route]
)
def test_what_must_not_be_seen_answers_as_what_is_not_there(world: World, route: str) -> None:
    client = world.client("charlie")
    ask: Callable[[str], Any] = client.post if CASES[route] in (DEED, API_DEED) else client.get
    address = filled(world, route)
    hidden, missing = ask(address), ask(address.replace(str(world.job.pk), str(uuid.uuid4())))

    def plain(answer: Any) -> str:
        return re.sub(
            r"[0-9a-f]{8}-[0-9a-f-]{27}|\"request_id\": ?\"\w+\"|csrf\w+\" value=\"\w+\"", "", answer.content.decode()
        )

    assert hidden.status_code == missing.status_code == 404
    assert plain(hidden) == plain(missing)


@pytest.mark.parametrize("route", [route for route, case in CASES.items() if case in (PAGE, API)])
def test_members_do_get_them(world: World, route: str) -> None:
    """The addresses that strangers are refused are those that show something: else the tests above would prove nothing."""
    answer = world.client("carol").get(filled(world, route), {"q": "line"} if "search" in route else {})
    assert answer.status_code in (200, 302), route
