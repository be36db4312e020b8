"""Every address of REST as each person gets it: members see, engineers act on what is theirs, strangers learn nothing, nobody gets nothing."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import TrainJob
from tests.unit.api.world import API, PEOPLE, SECRET, World, manifest, token_of
from trainui.accounts.models import ApiToken

READ = (
    "", "/nodes", "/events", "/metrics", "/manifest", "/origins", "/artifacts", "/artifacts/models/best.npz", "/logs", "/logs/rows", "/logs/tail",
    "/logs/search?q=line", "/logs/text", "/logs/download", "/logs/download?stream={stream}", "/logs/rows/{stream}/0",
)  # fmt: skip
LISTS = (
    "/trainjobs",
    "/trainjobs/removed",
    "/projects",
    "/runtimes",
    "/cluster",
    "/metrics?jobs={job}",
    "/schema",
    "/docs",
)
EVERYBODY = (*PEOPLE, "anonymous")
MEMBERS = ("alice", "dora", "bob", "carol", "admin")
ACT = {"alice": 202, "dora": 403, "bob": 403, "carol": 202, "admin": 202, "charlie": 404, "anonymous": 401}
MAKE = {"alice": 201, "dora": 201, "bob": 403, "carol": 201, "admin": 201, "charlie": 422, "anonymous": 401}


def filled(world: World, path: str) -> str:
    return API + path.format(stream=world.log.pk, job=world.job.pk)


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


@pytest.mark.parametrize("path", READ)
@pytest.mark.parametrize("who", EVERYBODY)
def test_what_belongs_to_a_job(world: World, who: str, path: str) -> None:
    answer = world.client(who).get(filled(world, world.at + path))
    body = content(answer)
    assert answer.status_code == (200 if who in MEMBERS else 404 if who == "charlie" else 401)
    assert SECRET.encode() not in body
    if who not in MEMBERS:
        assert answer["Content-Type"] == "application/problem+json"
        assert world.job.name.encode() not in body
    if who == "anonymous":
        assert answer["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("who", EVERYBODY)
def test_lists(world: World, who: str, path: str) -> None:
    answer = world.client(who).get(filled(world, path))
    body = content(answer)
    assert answer.status_code == (401 if who == "anonymous" else 200)
    assert SECRET.encode() not in body
    if who not in MEMBERS:
        for word in (world.job.name, world.project.name, world.project.title, world.runtime.name):
            assert word.encode() not in body


@pytest.mark.parametrize("who", EVERYBODY)
def test_a_runtime_of_a_project(world: World, who: str) -> None:
    answer = world.client(who).get(f"{API}/runtimes/{world.runtime.name}", {"namespace": world.project.namespace})
    assert answer.status_code == (200 if who in MEMBERS else 404 if who == "charlie" else 401)
    shared = world.client(who).get(f"{API}/runtimes/plain-command")
    assert shared.status_code == (401 if who == "anonymous" else 200)


@pytest.mark.parametrize("action", ["suspend", "cancel", "delete"])
@pytest.mark.parametrize("who", EVERYBODY)
def test_actions(world: World, who: str, action: str) -> None:
    client = world.client(who)
    answer = (
        client.delete(API + world.at)
        if action == "delete"
        else client.post(f"{API}{world.at}/{action}", content_type="application/json")
    )
    assert answer.status_code == ACT[who], answer.content
    world.job.refresh_from_db()
    asked = (world.job.desired_suspend, world.job.cancel_requested_at, world.job.delete_requested_at)
    assert any(asked) is (ACT[who] == 202)


@pytest.mark.parametrize("who", EVERYBODY)
def test_submitting(world: World, who: str) -> None:
    answer = world.post("/trainjobs", manifest(), who)
    assert answer.status_code == MAKE[who], answer.content
    assert TrainJob.objects.filter(name="hello").exists() is (MAKE[who] == 201)
    dry = world.post("/trainjobs?dry_run=1", manifest("dry"), who)
    assert dry.status_code == (200 if MAKE[who] == 201 else MAKE[who])
    assert not TrainJob.objects.filter(name="dry").exists()


def test_a_stranger_is_told_the_same_of_a_project_as_of_none(world: World) -> None:
    hidden, missing = (
        world.post("/trainjobs", manifest(namespace=name), "charlie").json() for name in ("team-a", "team-b")
    )
    assert hidden["errors"][0]["detail"].replace("team-a", "team-b") == missing["errors"][0]["detail"]


def test_the_page_of_the_document_has_no_script_in_it(world: World) -> None:
    body = content(world.client("bob").get(f"{API}/docs")).decode()
    assert "<script>" not in body
    assert "https://" not in body


class TestTokens:
    """API tokens instead of a session."""

    def ask(self, header: str) -> Any:
        return Client().get(f"{API}/trainjobs", headers={"Authorization": header})

    def test_a_token_is_its_owner(self, world: World) -> None:
        answer = self.ask(f"Bearer {token_of(world.users['alice'])}")
        assert [job["name"] for job in answer.json()["items"]] == [world.job.name]

    def test_bad_ones_are_nobody(self, world: World) -> None:
        good = token_of(world.users["alice"])
        for header in (
            f"Bearer {good[:-1]}x",
            f"Token {good}",
            f"Bearer  {good} more",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            "Bearer \xff\xfe",
        ):
            answer = self.ask(header)
            assert answer.status_code == 401, header
            assert answer["Content-Type"] == "application/problem+json"
            assert "Bearer" in answer["WWW-Authenticate"]

    def test_expired_and_revoked_ones(self, world: World) -> None:
        old, revoked = token_of(world.users["alice"]), token_of(world.users["alice"])
        ApiToken.objects.filter(token_key=old[:15]).update(expiry=timezone.now() - timedelta(seconds=1))
        ApiToken.objects.filter(token_key=revoked[:15]).delete()
        assert [self.ask(f"Bearer {token}").status_code for token in (old, revoked)] == [401, 401]

    def test_a_deactivated_owner(self, world: World) -> None:
        token = token_of(world.users["alice"])
        world.users["alice"].is_active = False
        world.users["alice"].save()
        assert self.ask(f"Bearer {token}").status_code == 401

    def test_a_bad_token_beside_a_session_is_nobody(self, world: World) -> None:
        answer = world.client("alice").get(f"{API}/trainjobs", headers={"Authorization": "Bearer tui_wrong"})
        assert answer.status_code == 401

    def test_a_session_needs_its_csrf_token_and_an_api_token_does_not(self, world: World) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(world.users["alice"])
        path, body = f"{API}{world.at}/suspend", json.dumps({})
        assert client.post(path, body, content_type="application/json").status_code == 403
        header = {"Authorization": f"Bearer {token_of(world.users['alice'])}"}
        assert (
            Client(enforce_csrf_checks=True)
            .post(path, body, content_type="application/json", headers=header)
            .status_code
            == 202
        )
