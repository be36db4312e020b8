from types import SimpleNamespace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404

from trainui.accounts.models import Membership, Project, User
from trainui.accounts.permissions import can, require, roles_of, visible_projects

VERBS = ("view", "submit", "operate", "administer", "curate")
# Verbs that each persona may do to the project itself, to their own job in it, and to somebody else's.
ALLOWED = {
    "admin": (set(VERBS), set(VERBS), set(VERBS)),
    "owner": (set(VERBS), set(VERBS), set(VERBS)),
    "engineer": ({"view", "submit"}, {"view", "submit", "operate"}, {"view", "submit"}),
    "viewer": ({"view"}, {"view"}, {"view"}),
    "stranger": (set(), set(), set()),
}


@pytest.mark.parametrize("persona", ALLOWED)
@pytest.mark.parametrize("verb", VERBS)
def test_project_and_jobs(world, persona, verb):
    user = world.user(persona)
    own = SimpleNamespace(project=world.project, owner_id=user.pk)
    foreign = SimpleNamespace(project_id=world.project.pk, owner_id=world.user("admin").pk + 1000)
    for obj, allowed in zip((world.project, own, foreign), ALLOWED[persona], strict=True):
        assert can(user, verb, obj) is (verb in allowed)
        assert can(user, verb, obj, roles=roles_of(user)) is (verb in allowed)


SCOPES = {
    "catalog": {"admin": {"view", "curate"}, "curator": {"view", "curate"}, "owner": {"view"}, "stranger": {"view"}},
    "users": {"admin": {"view", "administer"}},
    "projects": {"admin": {"view", "administer"}, "owner": {"view"}, "stranger": {"view"}, "curator": {"view"}},
    "audit": {"admin": {"view"}},
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("persona", ["admin", "owner", "stranger", "curator"])
@pytest.mark.parametrize("verb", ["view", "administer", "curate"])
def test_scopes(world, scope, persona, verb):
    curator = User.objects.create_user("curator", is_catalog_admin=True)
    user = curator if persona == "curator" else world.user(persona)
    expected = persona == "admin" or verb in SCOPES[scope].get(persona, set())
    assert can(user, verb, scope) is expected


def test_a_catalog_admin_curates_only_in_projects_they_belong_to(world):
    curator = User.objects.create_user("curator", is_catalog_admin=True)
    assert not can(curator, "curate", world.project)
    Membership.objects.create(project=world.project, user=curator, role="viewer")
    assert can(curator, "curate", world.project)
    assert not can(curator, "administer", world.project)


def test_deactivated_and_anonymous_may_do_nothing(world):
    admin = world.user("admin")
    admin.is_active = False
    for user in (admin, AnonymousUser()):
        assert not any(can(user, verb, obj) for verb in VERBS for obj in (world.project, "catalog", "users"))
        assert not visible_projects(user).exists()
    assert roles_of(AnonymousUser()) == {}


def test_an_owner_who_left_loses_their_job(world):
    engineer = world.user("engineer")
    job = SimpleNamespace(project=world.project, owner_id=engineer.pk)
    world.member("engineer").delete()
    assert not can(engineer, "operate", job)
    assert not can(engineer, "view", job)


def test_a_job_without_owner_is_nobodys_own(world):
    job = SimpleNamespace(project=world.project, owner_id=None)
    assert not can(world.user("engineer"), "operate", job)
    assert can(world.user("owner"), "operate", job)


def test_mistakes_of_the_caller_are_errors(world):
    with pytest.raises(ValueError):
        can(world.user("admin"), "destroy", world.project)
    with pytest.raises(ValueError):
        can(AnonymousUser(), "view", "everything")
    with pytest.raises(TypeError):
        can(world.user("owner"), "view", object())


@pytest.mark.parametrize(
    ("persona", "verb", "raised"),
    [
        ("owner", "administer", None),
        ("engineer", "administer", PermissionDenied),
        ("viewer", "submit", PermissionDenied),
        ("stranger", "view", Http404),
        ("stranger", "administer", Http404),
    ],
)
def test_require_hides_what_may_not_be_seen(world, persona, verb, raised):
    if raised is None:
        require(world.user(persona), verb, world.project)
    else:
        with pytest.raises(raised):
            require(world.user(persona), verb, world.project)


@pytest.mark.parametrize(
    ("persona", "names"),
    [("admin", {"team-nlp", "elsewhere"}), ("viewer", {"team-nlp"}), ("stranger", {"elsewhere"})],
)
def test_visible_projects(world, persona, names):
    assert {project.name for project in visible_projects(world.user(persona))} == names
    assert isinstance(visible_projects(world.user(persona)).first(), Project)
