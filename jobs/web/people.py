"""Who looks at a page, and where they may submit."""

from django.http import HttpRequest

from trainui.accounts.models import Project, User
from trainui.accounts.permissions import can, roles_of, visible_projects

PROJECTS_OFFERED = 500


def person(request: HttpRequest) -> User:
    """Return the user of a request; LoginRequiredMiddleware lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def projects_to_submit(user: User) -> list[Project]:
    """Return the projects in which the user may submit jobs, by name."""
    roles = roles_of(user)
    projects = visible_projects(user).order_by("name")[:PROJECTS_OFFERED]
    return [project for project in projects if can(user, "submit", project, roles=roles)]
