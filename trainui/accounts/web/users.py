"""Users, for admins."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from trainui.accounts import services
from trainui.accounts.forms import UserEditForm, UserForm, add_errors
from trainui.accounts.models import User
from trainui.accounts.permissions import require
from trainui.ui.htmx import render

PAGE = 100


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """List users by name, a page at a time."""
    require(request.user, "administer", "users")
    users = User.objects.order_by("username").prefetch_related("memberships__project")
    wanted, after = request.GET.get("q", "").strip(), request.GET.get("after", "")
    if wanted:
        users = users.filter(username__icontains=wanted) | users.filter(email__icontains=wanted)
    found = list(users.filter(username__gt=after)[: PAGE + 1])
    context = {
        "users": found[:PAGE],
        "q": wanted,
        "after": after,
        "next": found[PAGE - 1].username if len(found) > PAGE else "",
    }
    return render(request, "accounts/users.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """Make a user and show the one-time password: only in this answer."""
    require(request.user, "administer", "users")
    form = UserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user, password = services.create_user(request.user, **form.cleaned_data)  # type: ignore[arg-type]
        except ValidationError as error:
            add_errors(form, error)
        else:
            return _password_page(request, user, password, 201)
    return render(request, "accounts/user_form.html", {"form": form}, status=422 if form.errors else 200)


def _password_page(request: HttpRequest, user: User, password: str, status: int = 200) -> HttpResponse:
    context = {"account": user, "password": password, "created": status == 201}
    return render(request, "accounts/one_time_password.html", context, status=status)


@require_http_methods(["GET", "POST"])
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a user and change address and rights."""
    require(request.user, "administer", "users")
    account = get_object_or_404(User, pk=pk)
    form = UserEditForm(request.POST or None, instance=User.objects.get(pk=pk))
    if request.method == "POST" and form.is_valid():
        try:
            services.update_user(request.user, account, **form.cleaned_data)  # type: ignore[arg-type]
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, "Saved.")
            return redirect("user", pk)
    context = {
        "form": form,
        "account": User.objects.get(pk=pk),
        "memberships": account.memberships.select_related("project").order_by("project__name"),
        "tokens": account.auth_token_set.all(),
    }
    return render(request, "accounts/user.html", context, status=422 if form.errors else 200)


@require_POST
def set_active(request: HttpRequest, pk: int) -> HttpResponse:
    """Deactivate a user or let them in again."""
    require(request.user, "administer", "users")
    account = get_object_or_404(User, pk=pk)
    active = request.POST.get("active") == "1"
    try:
        services.set_active(request.user, account, active)  # type: ignore[arg-type]
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{account} may sign in." if active else f"{account} is deactivated.")
    return redirect("user", pk)


@never_cache
@require_POST
def reset_password(request: HttpRequest, pk: int) -> HttpResponse:
    """Give a user a new one-time password and show it: only in this answer."""
    require(request.user, "administer", "users")
    account = get_object_or_404(User, pk=pk)
    return _password_page(request, account, services.reset_password(request.user, account))  # type: ignore[arg-type]
