"""The frame around every page: navigation, switcher, error pages."""

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory

from trainui.accounts.models import Membership, Project, User
from trainui.ui import navigation


def request(user, path: str = "/jobs", **query):
    made = RequestFactory().get(path, query)
    made.user = user
    return made


@pytest.fixture
def member(db) -> User:
    user = User.objects.create_user("member")
    project = Project.objects.create(name="team-nlp")
    Project.objects.create(name="elsewhere")
    Membership.objects.create(project=project, user=user, role="viewer")
    return user


@pytest.mark.parametrize(
    ("path", "current"),
    [
        ("/jobs", "Jobs"),
        ("/jobs/some/page", "Jobs"),
        ("/jobsearch", None),
        ("/projects/team-nlp", "Projects"),
        ("/account/password", None),
    ],
)
def test_navigation_marks_where_one_is(member, path, current):
    marked = [link.label for link in navigation.items(request(member, path)) if link.current]
    assert marked == ([current] if current else [])


def test_only_admins_see_admin_links(member):
    labels = [link.label for link in navigation.items(request(member))]
    assert "Users" not in labels
    member.is_superuser = True
    assert {"Users", "Audit"} <= {link.label for link in navigation.items(request(member))}


def test_switcher_shows_visible_projects_only(member, monkeypatch):
    shown = navigation.projects(request(member, project="team-nlp"), None)
    assert ([p.name for p in shown["projects"]], shown["current"], shown["more"]) == (["team-nlp"], "team-nlp", False)
    assert navigation.projects(request(member, project="elsewhere"), None)["current"] == ""
    monkeypatch.setattr(navigation, "SWITCHER_LIMIT", 0)
    assert navigation.projects(request(member), None)["more"] is True


@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", "dark"), ("light", "light"), ("", "system"), ('"><b>', "system")]
)
def test_theme(cookie, theme):
    made = RequestFactory().get("/")
    made.COOKIES["theme"] = cookie
    assert navigation.theme_of(made) == theme


@pytest.mark.parametrize("name", ["400.html", "403.html", "404.html", "500.html", "error.html"])
def test_error_pages_stand_alone(name):
    """They need no user, session or database: the failure may be any of these."""
    page = render_to_string(name, {"status": 500, "title": "It failed", "detail": "<why>"})
    assert "It failed" in page
    assert "&lt;why&gt;" in page
    assert render_to_string(name)
