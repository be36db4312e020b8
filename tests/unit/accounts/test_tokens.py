from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import RequestFactory
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from trainui.accounts import services
from trainui.accounts.authentication import ApiTokenAuthentication, request_user
from trainui.accounts.models import ApiToken
from trainui.audit.models import AuditEntry


def authenticate(header: str):
    return ApiTokenAuthentication().authenticate(RequestFactory().get("/", headers={"Authorization": header}))


def test_lifecycle(world, as_user):
    client = as_user("engineer")
    made = client.post("/tokens", {"name": "nightly", "days": "30"})
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    text = made.context["secret"]
    assert text.startswith("tui_")
    assert made.content.decode().count(text) == 2  # shown, and in the copy button

    token = ApiToken.objects.get()
    assert text not in str(token.__dict__)
    assert token.token_key == text[:15]
    assert abs(token.expiry - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)

    again = client.get("/tokens").content.decode()
    assert text not in again
    assert text[:15] in again
    assert "never" in again

    user, found = authenticate(f"Bearer {text}")
    assert (user, found) == (world.user("engineer"), token)
    token.refresh_from_db()
    assert token.last_used_at is not None

    client.post(f"/tokens/{token.public_id}/revoke")
    with pytest.raises(AuthenticationFailed):
        authenticate(f"Bearer {text}")
    assert list(AuditEntry.objects.order_by("pk").values_list("verb", "object_name", "actor_name")) == [
        ("token.create", "nightly", "engineer"),
        ("token.revoke", "nightly", "engineer"),
    ]
    assert not AuditEntry.objects.filter(detail__icontains=text).exists()
    assert AuditEntry.objects.first().object_id == str(token.public_id)


def test_last_used_is_written_once_a_minute(world):
    token, text = services.create_token(world.user("viewer"), "t", 7)
    authenticate(f"Bearer {text}")
    recent = timezone.now() - timedelta(seconds=30)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=recent)
    authenticate(f"Bearer {text}")
    token.refresh_from_db()
    assert token.last_used_at == recent
    long_ago = timezone.now() - timedelta(minutes=5)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=long_ago)
    authenticate(f"Bearer {text}")
    token.refresh_from_db()
    assert token.last_used_at > long_ago


def test_an_expired_token_is_refused_and_stays_in_the_list(world, as_user):
    token, text = services.create_token(world.user("viewer"), "old", 7)
    ApiToken.objects.filter(pk=token.pk).update(expiry=timezone.now() - timedelta(seconds=1))
    with pytest.raises(AuthenticationFailed):
        authenticate(f"Bearer {text}")
    assert "expired" in as_user("viewer").get("/tokens").content.decode()


def test_a_token_of_a_deactivated_user_is_refused(world):
    _, text = services.create_token(world.user("viewer"), "t", 7)
    services.set_active(world.user("admin"), world.user("viewer"), False)
    with pytest.raises(AuthenticationFailed):
        authenticate(f"Bearer {text}")
    services.set_active(world.user("admin"), world.user("viewer"), True)
    assert authenticate(f"Bearer {text}")[0] == world.user("viewer")


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer a b", "Bearer tui_wrong", "Bearer t\xfci_\xff", "Bearer " + "x" * 5000]
)
def test_odd_headers_are_refused(world, header):
    with pytest.raises(AuthenticationFailed):
        authenticate(header)


def test_another_scheme_is_not_ours(world):
    assert authenticate("Basic dXNlcjpwYXNz") is None
    assert ApiTokenAuthentication().authenticate_header(RequestFactory().get("/")) == "Bearer"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"name": "", "days": "7"}, "name"),
        ({"name": "x" * 101, "days": "7"}, "name"),
        ({"name": "ok", "days": "100000"}, "days"),
        ({"name": "ok", "days": "soon"}, "days"),
        ({"name": "taken", "days": "7"}, "name"),
    ],
)
def test_bad_forms_make_no_token(world, as_user, data, field):
    services.create_token(world.user("viewer"), "taken", 7)
    response = as_user("viewer").post("/tokens", data)
    assert response.status_code == 422
    assert field in response.context["form"].errors
    assert ApiToken.objects.count() == 1


def test_no_more_than_the_limit(world, monkeypatch):
    monkeypatch.setattr(services, "TOKEN_LIMIT", 2)
    for name in ("a", "b"):
        services.create_token(world.user("viewer"), name, 7)
    with pytest.raises(ValidationError, match="2 tokens"):
        services.create_token(world.user("viewer"), "c", 7)


def test_request_user_without_middleware(world, as_user):
    client = as_user("viewer")
    with_session = RequestFactory().get("/events")
    with_session.COOKIES = {name: morsel.value for name, morsel in client.cookies.items()}
    assert request_user(with_session) == world.user("viewer")
    assert request_user(RequestFactory().get("/events")) is None

    _, text = services.create_token(world.user("engineer"), "t", 7)
    with_token = RequestFactory().get("/events", headers={"Authorization": f"Bearer {text}"})
    assert request_user(with_token) == world.user("engineer")
    # A bad token is nobody even where a session would do.
    with_session.META["HTTP_AUTHORIZATION"] = "Bearer tui_wrong"
    assert request_user(with_session) is None

    services.set_active(world.user("admin"), world.user("viewer"), False)
    del with_session.META["HTTP_AUTHORIZATION"]
    assert request_user(with_session) is None
