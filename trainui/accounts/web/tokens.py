"""One's own API tokens."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from trainui.accounts import services
from trainui.accounts.forms import TokenForm, add_errors
from trainui.accounts.models import ApiToken
from trainui.ui.htmx import render


@never_cache
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List one's tokens, or make one and show it: only in this answer, never again."""
    form, secret, status = TokenForm(), "", 200
    if request.method == "POST":
        form = TokenForm(request.POST)
        status = 422
        if form.is_valid():
            try:
                _, secret = services.create_token(request.user, **form.cleaned_data)  # type: ignore[arg-type]
            except ValidationError as error:
                add_errors(form, error)
            else:
                form, status = TokenForm(), 201
    context = {
        "form": form,
        "tokens": ApiToken.objects.filter(user=request.user),
        "secret": secret,
        "address": settings.PUBLIC_URL,
    }
    return render(request, "accounts/tokens.html", context, status=status)


@require_POST
def revoke(request: HttpRequest, public_id: str) -> HttpResponse:
    """End one of one's tokens."""
    token = get_object_or_404(ApiToken, user=request.user, public_id=public_id)
    services.revoke_token(request.user, token)  # type: ignore[arg-type]
    messages.success(request, f"Token “{token.name}” is revoked and no longer works.")
    return redirect("tokens")
