from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.unit.accounts.conftest import PASSWORD
from trainui.accounts import services, throttle
from trainui.accounts.models import SignInAttempt, User
from trainui.accounts.web.sign_in import REFUSED
from trainui.audit.models import AuditEntry


def sign_in(client: Client, username: str = "owner", password: str = PASSWORD, **extra):
    return client.post("/sign-in", {"username": username, "password": password, **extra})


def test_in_and_out(world):
    client = Client()
    response = sign_in(client, next="/projects/team-nlp")
    assert response["Location"] == "/projects/team-nlp"
    assert client.get("/projects").status_code == 200
    assert client.get("/sign-in")["Location"] == "/"
    assert client.get("/sign-out").status_code == 405
    assert client.get("/projects").status_code == 200
    client.post("/sign-out")
    assert client.get("/projects")["Location"].startswith("/sign-in")


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.test/",
        "//evil.test",
        "/\\evil.test",
        "javascript:alert(1)",
        "/sign-out",
        "/sign-in?next=/",
        "\t//x",
    ],
)
def test_next_leads_nowhere_else(world, wanted):
    assert sign_in(Client(), next=wanted)["Location"] == "/"
    assert f'value="{wanted}"' not in Client().get("/sign-in", {"next": wanted}).content.decode()


def test_unknown_wrong_and_deactivated_are_told_the_same(world):
    services.set_active(world.user("admin"), world.user("viewer"), False)
    pages = [
        sign_in(Client(), "owner", "wrong"),
        sign_in(Client(), "ghost", "wrong"),
        sign_in(Client(), "viewer", PASSWORD),
    ]
    assert [page.status_code for page in pages] == [422] * 3
    assert [page.context["form"].non_field_errors() for page in pages] == [[REFUSED]] * 3


def test_failures_are_audited_without_what_was_typed(world):
    sign_in(Client(), "owner", "hunter2-hunter2")
    sign_in(Client(), "my-secret-typed-into-the-wrong-field", "x")
    known, unknown = AuditEntry.objects.filter(verb="sign-in.failure").order_by("pk")
    assert (known.object_name, known.detail) == ("owner", {"address": "127.0.0.1"})
    assert unknown.object_name == ""
    everything = str(list(AuditEntry.objects.values())) + str(list(SignInAttempt.objects.values()))
    assert "hunter2" not in everything
    assert "wrong-field" not in everything


def test_guessing_is_stopped_even_with_the_right_password(world):
    for _ in range(throttle.PER_NAME_AND_ADDRESS):
        assert sign_in(Client(), "owner", "wrong").status_code == 422
    refused = sign_in(Client(), "owner", PASSWORD)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= throttle.WINDOW.total_seconds() + 1
    assert "Try again in 15 minutes" in refused.content.decode()
    assert sign_in(Client(), "OWNER ", "wrong").status_code == 429, "case and spaces are no way around"
    assert sign_in(Client(), "viewer", PASSWORD).status_code == 302, "others are not locked out"


def test_waiting_opens_the_door_again(world):
    for _ in range(throttle.PER_NAME_AND_ADDRESS):
        sign_in(Client(), "owner", "wrong")
    assert sign_in(Client(), "owner", PASSWORD).status_code == 429
    SignInAttempt.objects.update(at=timezone.now() - throttle.WINDOW - timedelta(seconds=1))
    assert sign_in(Client(), "owner", PASSWORD).status_code == 302
    assert not SignInAttempt.objects.exists(), "old and forgiven attempts are not kept"


def test_success_forgives_the_failures_before_it(world):
    for _ in range(throttle.PER_NAME_AND_ADDRESS - 1):
        sign_in(Client(), "owner", "wrong")
    assert sign_in(Client()).status_code == 302
    assert sign_in(Client(), "owner", "wrong").status_code == 422


@pytest.mark.parametrize(
    ("limit", "attempts"),
    [
        (throttle.PER_NAME, [("owner", f"10.0.0.{i}") for i in range(throttle.PER_NAME)]),
        (throttle.PER_ADDRESS, [(f"user-{i}", "10.0.0.1") for i in range(throttle.PER_ADDRESS)]),
    ],
    ids=["many machines, one name", "one machine, many names"],
)
def test_spread_guessing_is_stopped_too(world, limit, attempts):
    verdicts = [throttle.begin(name, address) for name, address in attempts]
    assert all(verdict.allowed for verdict in verdicts)
    last = throttle.begin("owner", "10.0.0.1")
    assert not last.allowed
    assert SignInAttempt.objects.count() == limit, "a refused attempt does not count"


def test_a_one_time_password_works_once(world):
    user, password = services.create_user(world.user("admin"), "joiner")
    client = Client()
    response = sign_in(client, "joiner", password, next="/tokens")
    assert response["Location"] == "/sign-in/new-password?next=%2Ftokens"
    assert client.get("/projects")["Location"].startswith("/sign-in"), "not signed in before the password is changed"

    page = client.get(response["Location"])
    assert page.status_code == 200
    for new, again, words in (
        ("short", "short", "too short"),
        ("one-long-password", "another-long-one", "differ"),
        (password, password, "another password"),
    ):
        refused = client.post("/sign-in/new-password", {"new": new, "again": again})
        assert refused.status_code == 422
        assert words in refused.content.decode()

    done = client.post("/sign-in/new-password", {"new": PASSWORD, "again": PASSWORD, "next": "/tokens"})
    assert done["Location"] == "/tokens"
    assert client.get("/tokens").status_code == 200
    assert sign_in(Client(), "joiner", password).status_code == 422
    user.refresh_from_db()
    assert not user.must_change_password
    assert sign_in(Client(), "joiner", PASSWORD)["Location"] == "/"


def test_the_second_step_cannot_be_entered_directly_or_late(world):
    assert Client().get("/sign-in/new-password")["Location"] == "/sign-in"
    user, password = services.create_user(world.user("admin"), "joiner")
    client = Client()
    sign_in(client, "joiner", password)
    services.reset_password(world.user("admin"), user)
    late = client.post("/sign-in/new-password", {"new": PASSWORD, "again": PASSWORD})
    assert late["Location"] == "/sign-in"
    assert not User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_changing_the_password_keeps_this_session_and_ends_others(world, as_user):
    here, there = as_user("viewer"), as_user("viewer")
    wrong = here.post(
        "/account/password", {"current": "no", "new": "a new long password", "again": "a new long password"}
    )
    assert wrong.status_code == 422
    assert "current" in wrong.context["form"].errors
    here.post("/account/password", {"current": PASSWORD, "new": "a new long password", "again": "a new long password"})
    assert here.get("/tokens").status_code == 200
    assert there.get("/tokens").status_code == 302
    assert AuditEntry.objects.get(verb="user.change").actor_name == "viewer"


@pytest.mark.parametrize(
    ("sent", "kept"), [("dark", "dark"), ("light", "light"), ("system", "system"), ("x", "system")]
)
def test_theme_is_a_cookie_that_the_server_renders(as_user, sent, kept):
    client = as_user("viewer")
    response = client.post("/theme", {"theme": sent, "next": "/tokens"})
    assert response["Location"] == "/tokens"
    assert f'data-theme="{kept}"' in client.get("/tokens").content.decode()
    fragment = client.post("/theme", {"theme": sent}, headers={"HX-Request": "true"})
    assert fragment.content.decode().startswith("<form")
    assert f"Colours: {kept}" in fragment.content.decode()


def test_the_sign_in_page_is_never_cached(world):
    assert "no-store" in Client().get("/sign-in")["Cache-Control"]
