"""The catalog: which runtimes there are, and everything about one."""

from dataclasses import replace

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from runtimes import services
from runtimes.web.cards import RuntimeCard, catalog, find_runtime, paragraphs
from runtimes.web.drifts import drifts
from runtimes.web.parameter_rows import parameter_rows
from runtimes.web.picture import picture_of
from runtimes.web.yaml_text import runtime_yaml
from trainui.accounts.models import User
from trainui.accounts.permissions import can
from trainui.ui.htmx import render


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Show every runtime that the user may see, blueprints first; `q` looks in names, titles and summaries, `framework` narrows."""
    cards = catalog(_person(request))
    wanted, framework = request.GET.get("q", "").strip(), request.GET.get("framework", "")
    shown = [card for card in cards if _fits(card, wanted.lower(), framework)]
    context = {
        "blueprints": [card for card in shown if card.blueprint],
        "others": [card for card in shown if not card.blueprint],
        "frameworks": sorted({card.framework for card in cards}),
        "q": wanted,
        "framework": framework,
        "filtered": bool(wanted or framework),
        "troubled": sum(1 for card in cards if card.problem or card.drifted),
        "curates": can(request.user, "curate", "catalog"),
    }
    return render(request, "runtimes/index.html", context, fragment="runtimes/_catalog.html")


def _fits(card: RuntimeCard, wanted: str, framework: str) -> bool:
    texts = (card.name, card.title, card.summary, card.namespace, *card.tags)
    return (not framework or card.framework == framework) and any(wanted in text.lower() for text in texts)


@require_GET
def detail(request: HttpRequest, name: str, namespace: str = "") -> HttpResponse:
    """Show one runtime: what it is for, what it asks, which pods it makes, and how the cluster's differs from ours."""
    row, card = find_runtime(_person(request), name, namespace)
    effective = row.effective or {}
    blueprint = replace(services.blueprint_of(row), runtime=effective) if card.blueprint else None
    context = {
        "row": row,
        "card": card,
        "description": paragraphs(blueprint.card.description) if blueprint else [],
        "parameters": parameter_rows(blueprint.parameters) if blueprint else [],
        "picture": picture_of(effective),
        "yaml": runtime_yaml(effective),
        "drifts": drifts(row) if row.drifted else [],
        "may_restore": row.managed and can(request.user, "curate", "catalog"),
    }
    return render(request, "runtimes/detail.html", context, fragment="runtimes/_state.html")


@require_POST
def restore(request: HttpRequest, name: str) -> HttpResponse:
    """Put a runtime of ours back to what its blueprint says, for catalog admins."""
    row, _ = find_runtime(_person(request), name)
    if not row.managed:
        raise Http404
    services.restore(_person(request), row)
    if row.apply_error:
        messages.error(request, f"{name} could not be put back: {row.apply_error}")
    else:
        messages.success(request, f"{name} is as its blueprint says again. Jobs that exist keep what they have.")
    return redirect("runtime", name)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # LoginRequiredMiddleware lets nobody else in
    return request.user
