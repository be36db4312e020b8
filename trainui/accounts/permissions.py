"""Who may do what: the only place that decides it, for pages, REST, streams and downloads.

Verbs: `view`, `submit` (make jobs in a project), `operate` (suspend, resume, cancel, delete a job), `administer`
(members and settings of a project), `curate` (the catalog). Objects: a Project, anything with a `project` (a job also
has an `owner_id`), or a scope named by a string: `catalog`, `users`, `projects` (make and remove them), `audit`.

| verb       | viewer | engineer         | project admin | catalog admin | superuser |
|------------|--------|------------------|---------------|---------------|-----------|
| view       | yes    | yes              | yes           | catalog       | yes       |
| submit     |        | yes              | yes           |               | yes       |
| operate    |        | own jobs         | yes           |               | yes       |
| administer |        |                  | yes           |               | yes       |
| curate     |        |                  | own project's | yes           | yes       |
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404

from trainui.accounts.models import Membership, Project, Role, User

Verb = Literal["view", "submit", "operate", "administer", "curate"]
AnyUser = User | AnonymousUser

_VERBS = frozenset(get_args(Verb))
_SCOPES: dict[str, frozenset[str]] = {  # scope -> verbs open to every signed-in user
    "catalog": frozenset({"view"}),
    "users": frozenset(),
    "projects": frozenset({"view"}),
    "audit": frozenset(),
}
_BY_ROLE: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset({"view"}),
    Role.ENGINEER: frozenset({"view", "submit"}),
    Role.ADMIN: frozenset({"view", "submit", "operate", "administer", "curate"}),
}


def can(user: AnyUser, verb: Verb, obj: Any, *, roles: dict[Any, str] | None = None) -> bool:
    """Say whether `user` may do `verb` to `obj`; False for anonymous and deactivated users.

    `roles` (from `roles_of`) saves the query per object when many are asked about, as in a list.
    Raises ValueError for an unknown verb or scope, TypeError for an object without a project.
    """
    if verb not in _VERBS:
        raise ValueError(f"unknown verb {verb!r}")
    if isinstance(obj, str) and obj not in _SCOPES:
        raise ValueError(f"unknown scope {obj!r}")
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.is_superuser:
        return True
    if isinstance(obj, str):
        return verb in _SCOPES[obj] or (verb == "curate" and obj == "catalog" and user.is_catalog_admin)
    return _can_in_project(user, verb, obj, roles)


def _can_in_project(user: User, verb: Verb, obj: Any, roles: dict[Any, str] | None) -> bool:
    project_id = _project_id(obj)
    role = roles.get(project_id) if roles is not None else role_in(user, project_id)
    if role is None:
        return False
    if verb in _BY_ROLE[role]:
        return True
    if verb == "operate":
        return role == Role.ENGINEER and getattr(obj, "owner_id", None) == user.pk
    return verb == "curate" and user.is_catalog_admin


def _project_id(obj: Any) -> Any:
    if isinstance(obj, Project):
        return obj.pk
    if hasattr(obj, "project_id"):
        return obj.project_id
    if hasattr(obj, "project"):
        return obj.project.pk
    raise TypeError(f"{type(obj).__name__} belongs to no project")


def role_in(user: User, project_id: Any) -> str | None:
    """Return the role of `user` in a project, None for strangers (one query)."""
    if project_id is None:
        return None
    return Membership.objects.filter(user=user, project_id=project_id).values_list("role", flat=True).first()


def roles_of(user: AnyUser) -> dict[Any, str]:
    """Return every role of `user` by project id (one query)."""
    if not isinstance(user, User):
        return {}
    return dict(Membership.objects.filter(user=user).values_list("project_id", "role"))


def visible_projects(user: AnyUser) -> QuerySet[Project]:
    """Return the projects `user` may see: every query for jobs and runtimes of projects starts here."""
    if not isinstance(user, User) or not user.is_active:
        return Project.objects.none()
    if user.is_superuser:
        return Project.objects.all()
    return Project.objects.filter(memberships__user=user)


def require(user: AnyUser, verb: Verb, obj: Any) -> None:
    """Return if `user` may do `verb` to `obj`.

    Raises Http404 when the user may not even view it, so that strangers do not learn of it, else PermissionDenied.
    """
    if can(user, verb, obj):
        return
    if can(user, "view", obj):
        raise PermissionDenied
    raise Http404
