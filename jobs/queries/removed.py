"""Jobs whose record is gone: the audit remembers name, people, times and how each ended; logs, metrics and artifacts went with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.reconcile.retire import REMOVED, RETENTION
from trainui.accounts.models import User
from trainui.accounts.permissions import visible_projects
from trainui.audit.models import AuditEntry

LIMIT = 50


@dataclass(frozen=True)
class Removed:
    """One job that is no more. by: who deleted it, "" when its time was over. id: of the job it was."""

    entry: int
    id: str
    name: str
    project: str
    owner: str
    runtime: str
    phase: str
    created_at: datetime | None
    finished_at: datetime | None
    removed_at: datetime
    by: str
    reason: str
    expired: bool


@dataclass(frozen=True)
class RemovedPage:
    """One page, newest first. next: where the page after begins, None at the end."""

    jobs: list[Removed]
    next: int | None


def removed_jobs(user: User, project: str = "", before: int | None = None, limit: int = LIMIT) -> RemovedPage:
    """Return jobs that were removed from projects the user may see; `before` is the entry of the last one of the page before."""
    entries = AuditEntry.objects.filter(verb=REMOVED).order_by("-pk")
    if not user.is_superuser or project:
        projects = visible_projects(user)
        if project:
            projects = projects.filter(name=project)
        entries = entries.filter(project_id__in=list(projects.values_list("pk", flat=True)))
    if before is not None:
        entries = entries.filter(pk__lt=before)
    rows = list(entries[: limit + 1])
    return RemovedPage([_removed(row) for row in rows[:limit]], rows[limit - 1].pk if len(rows) > limit else None)


def _removed(entry: AuditEntry) -> Removed:
    detail: Mapping[str, Any] = entry.detail
    return Removed(
        entry.pk, entry.object_id, entry.object_name, entry.project_name, str(detail.get("owner") or ""), str(detail.get("runtime") or ""),
        str(detail.get("phase") or ""), _time(detail.get("created_at")), _time(detail.get("finished_at")), entry.at,
        str(detail.get("by") or ""), str(detail.get("reason") or ""), detail.get("why") == RETENTION,
    )  # fmt: skip


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
