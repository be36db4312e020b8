"""Signing in and out, passwords, and the colour theme."""

from __future__ import annotations

import math
import time
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from trainui.accounts import services, throttle
from trainui.accounts.forms import ChangePasswordForm, NewPasswordForm, SignInForm, add_errors
from trainui.accounts.models import User
from trainui.audit.services import record
from trainui.ui.htmx import render, wants_fragment
from trainui.ui.navigation import THEME_COOKIE, THEMES

# The same words for an unknown name, a wrong password and a deactivated user: none of them may be learned here.
REFUSED = "This user name and password do not match."
PENDING = "sign_in_pending"
PENDING_SECONDS = 600
BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the sign-in form, or take name and password and go on to `next`."""
    if request.user.is_authenticated:
        return redirect(_target(request))
    form = SignInForm(request.POST or None)
    if request.method != "POST":
        return _sign_in_page(request, SignInForm(), 200)
    if not form.is_valid():
        return _sign_in_page(request, form, 422)
    username, address = form.cleaned_data["username"], request.META.get("REMOTE_ADDR", "")
    verdict = throttle.begin(username, address)
    if not verdict.allowed:
        minutes = math.ceil(verdict.retry_after / 60)
        form.add_error(None, f"Too many attempts. Try again in {minutes} minute{'s' if minutes > 1 else ''}.")
        response = _sign_in_page(request, form, 429)
        response["Retry-After"] = str(verdict.retry_after)
        return response
    user = authenticate(request, username=username, password=form.cleaned_data["password"])
    if not isinstance(user, User):
        known = User.objects.filter(username=username).first()
        record(None, "sign-in.failure", known, detail={"address": address})
        form.add_error(None, REFUSED)
        return _sign_in_page(request, form, 422)
    throttle.forgive(username, address)
    if user.must_change_password:
        request.session.cycle_key()
        request.session[PENDING] = {"user": user.pk, "hash": user.get_session_auth_hash(), "at": time.time()}
        return redirect(_with_next("/sign-in/new-password", request))
    login(request, user)
    return redirect(_target(request))


def _sign_in_page(request: HttpRequest, form: SignInForm, status: int) -> HttpResponse:
    return render(request, "accounts/sign_in.html", {"form": form, "next": _next(request)}, status=status)


@never_cache
@sensitive_post_parameters("new", "again")
@require_http_methods(["GET", "POST"])
def first_password(request: HttpRequest) -> HttpResponse:
    """Replace a one-time password; only then is the user signed in."""
    user = _pending_user(request)
    if user is None:
        request.session.pop(PENDING, None)
        return redirect(settings.LOGIN_URL)
    form = NewPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_password(user, form.cleaned_data["new"])
        except ValidationError as error:
            form.add_error("new", error)
        else:
            target = _target(request)
            request.session.pop(PENDING, None)
            login(request, user, backend=BACKEND)
            return redirect(target)
    status = 422 if form.errors else 200
    context = {"form": form, "next": _next(request), "name": user.username}
    return render(request, "accounts/first_password.html", context, status=status)


def _pending_user(request: HttpRequest) -> User | None:
    pending = request.session.get(PENDING)
    if not pending or time.time() - pending["at"] > PENDING_SECONDS:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True, must_change_password=True).first()
    return user if user is not None and user.get_session_auth_hash() == pending["hash"] else None


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect(settings.LOGIN_URL)


@never_cache
@sensitive_post_parameters("current", "new", "again")
@require_http_methods(["GET", "POST"])
def change_password(request: HttpRequest) -> HttpResponse:
    """Change one's own password; other sessions end, this one stays."""
    user: User = request.user  # type: ignore[assignment]
    form = ChangePasswordForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_password(user, form.cleaned_data["new"])
        except ValidationError as error:
            add_errors(form, ValidationError({"new": error.messages}))
        else:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed. Other browsers must sign in again.")
            return redirect("change-password")
    return render(request, "accounts/change_password.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or system colours in a cookie."""
    chosen = request.POST.get("theme", "")
    chosen = chosen if chosen in THEMES else "system"
    request.COOKIES[THEME_COOKIE] = chosen
    response: HttpResponse
    if wants_fragment(request):
        response = render(request, "components/theme_toggle.html")
    else:
        response = redirect(_target(request))
    age = int(timedelta(days=365).total_seconds())
    response.set_cookie(THEME_COOKIE, chosen, max_age=age, httponly=True, samesite="Lax", secure=settings.SECURE)
    return response


def _next(request: HttpRequest) -> str:
    """Return where to go afterwards, if it is an address of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe and not wanted.startswith(("/sign-in", "/sign-out")) else ""


def _target(request: HttpRequest) -> str:
    return _next(request) or settings.LOGIN_REDIRECT_URL


def _with_next(path: str, request: HttpRequest) -> str:
    wanted = _next(request)
    return f"{path}?{urlencode({'next': wanted})}" if wanted else path
