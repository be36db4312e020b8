"""Writing the audit: one function, which never stores a secret."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import models

from trainui.accounts.models import Project, User
from trainui.audit.models import AuditEntry

# A key that holds one of these words is never written, whatever its value is.
_SECRET_WORDS = re.compile(r"passw|secret|token|authorization|cookie|credential|api_?key|private", re.IGNORECASE)
_HIDDEN = "(not recorded)"


def record(
    actor: User | AnonymousUser | None,
    verb: str,
    obj: models.Model | None = None,
    *,
    project: Project | None = None,
    detail: dict[str, Any] | None = None,
) -> AuditEntry:
    """Add one entry and return it; call it inside the transaction of the change it tells about.

    `verb` is `noun.deed` (`member.add`, `job.cancel`). `obj` gives kind, name and id; its `project`, if it has one, is
    used unless `project` is given. Values of `detail` under keys that sound like secrets are replaced.
    """
    user = actor if isinstance(actor, User) else None
    if project is None:
        project = obj if isinstance(obj, Project) else getattr(obj, "project", None)
    return AuditEntry.objects.create(
        actor=user,
        actor_name=user.username if user else "",
        verb=verb,
        object_kind=type(obj).__name__ if obj is not None else "",
        object_name=_name(obj)[:260],
        object_id=str(getattr(obj, "public_id", None) or getattr(obj, "pk", None) or "")[:64],
        project=project,
        project_name=project.name if project else "",
        detail=without_secrets(detail or {}),
    )


def _name(obj: models.Model | None) -> str:
    if obj is None:
        return ""
    return str(getattr(obj, "name", None) or obj)


def without_secrets(value: Any) -> Any:
    """Return a copy of JSON data in which every value under a secret-sounding key is replaced."""
    if isinstance(value, dict):
        return {
            key: _HIDDEN if _SECRET_WORDS.search(str(key)) else without_secrets(item) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value]
    return value
