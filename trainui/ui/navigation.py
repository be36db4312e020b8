"""What the frame around every page shows: links, projects, theme."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.http import urlencode

from trainui.accounts.models import Project
from trainui.accounts.permissions import can, visible_projects

THEMES = ("system", "light", "dark")
THEME_COOKIE = "theme"
SWITCHER_LIMIT = 20


@dataclass(frozen=True)
class Link:
    """One entry of the main navigation."""

    label: str
    path: str
    icon: str
    key: str = ""
    admin: bool = False
    primary: bool = False
    current: bool = False


_LINKS = (
    Link("Jobs", "/jobs", "queue-list", "j", primary=True),
    Link("Submit", "/submit", "plus-circle", "s", primary=True),
    Link("Runtimes", "/runtimes", "cube", "r", primary=True),
    Link("Queue", "/queue", "bars-arrow-down", "w", primary=True),
    Link("Cluster", "/cluster", "server-stack", "c", primary=True),
    Link("Projects", "/projects", "folder", "p", primary=True),
    Link("Tokens", "/tokens", "key", "t"),
    Link("Users", "/users", "users", "u", admin=True),
    Link("Audit", "/audit", "clipboard-document-list", "a", admin=True),
)


def items(request: HttpRequest) -> list[Link]:
    """Return the links the user may follow, the one that holds this page marked; the longest path that fits wins."""
    admin = can(request.user, "view", "audit")
    shown = [link for link in _LINKS if admin or not link.admin]
    fits = [link for link in shown if request.path == link.path or request.path.startswith(f"{link.path}/")]
    here = max(fits, key=lambda link: len(link.path), default=None)
    return [Link(**{**link.__dict__, "current": link is here}) for link in shown]


def projects(request: HttpRequest, current: Any) -> dict[str, Any]:
    """Return the projects for the switcher, and which is current: that of the page, else the filter `?project=`."""
    found = list(visible_projects(request.user)[: SWITCHER_LIMIT + 1])
    name = current.name if isinstance(current, Project) else request.GET.get("project", "")
    names = [project.name for project in found]
    return {
        "projects": found[:SWITCHER_LIMIT],
        "more": len(found) > SWITCHER_LIMIT,
        "current": name if name in names or isinstance(current, Project) else "",
    }


def jobs_path(project: str = "") -> str:
    """Return the address of the jobs list, filtered by a project if one is named."""
    return f"/jobs?{urlencode({'project': project})}" if project else "/jobs"


def theme_of(request: HttpRequest | None) -> str:
    """Return the theme of the visitor's cookie, `system` when there is none or it is unknown."""
    chosen = request.COOKIES.get(THEME_COOKIE, "") if request is not None else ""
    return chosen if chosen in THEMES else "system"


def anchor(*parts: str) -> str:
    """Return an id for an element, the same for the same parts."""
    return f"{parts[0]}-{hashlib.blake2b('|'.join(parts).encode(), digest_size=5).hexdigest()}"
