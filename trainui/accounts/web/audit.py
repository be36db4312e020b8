"""The audit, for admins."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from trainui.accounts.permissions import require
from trainui.audit.models import AuditEntry
from trainui.ui.htmx import render

PAGE = 100


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """List entries, newest first, a page at a time; `actor`, `verb` and `project` narrow it."""
    require(request.user, "view", "audit")
    chosen = {key: request.GET.get(key, "").strip() for key in ("actor", "verb", "project")}
    entries = AuditEntry.objects.order_by("-id")
    if chosen["actor"]:
        entries = entries.filter(actor_name=chosen["actor"])
    if chosen["verb"]:
        entries = entries.filter(verb__startswith=chosen["verb"])
    if chosen["project"]:
        entries = entries.filter(project_name=chosen["project"])
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        entries = entries.filter(pk__lt=int(before))
    found = list(entries[: PAGE + 1])
    query = request.GET.copy()
    query["before"] = str(found[PAGE - 1].pk) if len(found) > PAGE else ""
    context = {
        "entries": found[:PAGE],
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "older": query.urlencode() if query["before"] else "",
    }
    return render(request, "accounts/audit.html", context)
