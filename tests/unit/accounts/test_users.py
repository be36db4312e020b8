import pytest
from django.core.exceptions import ValidationError

from trainui.accounts import services
from trainui.accounts.models import User
from trainui.audit.models import AuditEntry


def test_an_admin_makes_a_user_and_sees_the_password_once(as_user):
    client = as_user("admin")
    made = client.post("/users/new", {"username": "joiner", "email": "j@example.test", "is_catalog_admin": "on"})
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    password = made.context["password"]
    assert password in made.content.decode()
    user = User.objects.get(username="joiner")
    assert user.check_password(password)
    assert (user.is_catalog_admin, user.is_superuser, user.must_change_password) == (True, False, True)
    assert password not in client.get(f"/users/{user.pk}").content.decode()
    assert password not in str(list(AuditEntry.objects.values()))


@pytest.mark.parametrize("name", ["owner", "OWNER", "a b", "", "x" * 151, "<script>"])
def test_bad_names_are_told_at_the_field(as_user, name):
    response = as_user("admin").post("/users/new", {"username": name})
    assert response.status_code == 422
    assert "username" in response.context["form"].errors
    assert User.objects.count() == 5


def test_deactivating_ends_sessions_and_keeps_the_rest(world, as_user):
    viewer, admin = as_user("viewer"), as_user("admin")
    assert viewer.get("/projects").status_code == 200
    admin.post(f"/users/{world.user('viewer').pk}/active", {"active": "0"})
    assert viewer.get("/projects").status_code == 302
    assert world.member("viewer").role == "viewer"
    admin.post(f"/users/{world.user('viewer').pk}/active", {"active": "1"})
    assert viewer.get("/projects").status_code == 200
    assert [e.verb for e in AuditEntry.objects.order_by("pk")] == ["user.deactivate", "user.activate"]


def test_admins_cannot_lock_themselves_out(world, as_user):
    admin = world.user("admin")
    client = as_user("admin")
    page = client.post(f"/users/{admin.pk}/active", {"active": "0"}, follow=True)
    assert "cannot deactivate yourself" in page.content.decode()
    refused = client.post(f"/users/{admin.pk}", {"email": ""})
    assert refused.status_code == 422
    assert "is_superuser" in refused.context["form"].errors
    admin.refresh_from_db()
    assert (admin.is_active, admin.is_superuser) == (True, True)


def test_a_reset_ends_sessions_and_asks_for_a_new_password(world, as_user):
    viewer = as_user("viewer")
    page = as_user("admin").post(f"/users/{world.user('viewer').pk}/password")
    assert viewer.get("/projects").status_code == 302
    user = User.objects.get(username="viewer")
    assert user.check_password(page.context["password"])
    assert user.must_change_password


def test_rights_are_given_and_audited(world, as_user):
    viewer = world.user("viewer")
    as_user("admin").post(f"/users/{viewer.pk}", {"email": "v@example.test", "is_catalog_admin": "on"})
    viewer.refresh_from_db()
    assert (viewer.is_catalog_admin, viewer.is_superuser) == (True, False)
    assert AuditEntry.objects.get(verb="user.update").detail == {"is_catalog_admin": True}


def test_one_time_passwords_differ_and_are_strong_enough():
    made = {services.one_time_password() for _ in range(50)}
    assert len(made) == 50
    assert all(len(password) == 19 for password in made)


def test_weak_passwords_are_refused(world):
    for weak in ("short", "password123", "viewer@example.test", "1234567890"):
        with pytest.raises(ValidationError):
            services.change_password(world.user("viewer"), weak)


def test_pages_of_many_users(world, as_user, monkeypatch):
    monkeypatch.setattr("trainui.accounts.web.users.PAGE", 2)
    client, seen, after = as_user("admin"), [], ""
    while True:
        context = client.get("/users", {"after": after}).context
        seen += [user.username for user in context["users"]]
        after = context["next"]
        if not after:
            break
    assert seen == ["admin", "engineer", "owner", "stranger", "viewer"]
    assert [u.username for u in client.get("/users?q=GIN").context["users"]] == ["engineer"]
