"""Who makes a request: a signed-in session or an API token."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from trainui.accounts.models import ApiToken, User

if TYPE_CHECKING:
    from rest_framework.request import Request

LAST_USED_STEP = timedelta(minutes=1)  # how exact "last used" is: not every request writes


class ApiTokenAuthentication(TokenAuthentication):
    """Accepts `Authorization: Bearer tui_…` and notes when the token was last used."""

    def authenticate_header(self, request: Request | HttpRequest) -> str:
        """Return the scheme for `WWW-Authenticate`, which is also the word expected in `Authorization`."""
        return "Bearer"

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        """Return the user and the token. Raises AuthenticationFailed for unknown, expired, revoked and odd ones."""
        try:
            token.decode("ascii")  # knox answers 500 to bytes that are no UTF-8
        except UnicodeDecodeError:
            raise AuthenticationFailed("Invalid token.") from None
        user, found = super().authenticate_credentials(token)
        _touch(found)
        return user, found

    def _cleanup_token(self, auth_token: ApiToken) -> bool:
        """Say whether a token is expired; knox would delete it, but its owner should see in the list why it stopped."""
        return auth_token.expired


def _touch(token: ApiToken) -> None:
    now = timezone.now()
    long_ago = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USED_STEP)
    if token.last_used_at is None or token.last_used_at < now - LAST_USED_STEP:
        ApiToken.objects.filter(long_ago, pk=token.pk).update(last_used_at=now)


def request_user(request: HttpRequest) -> User | None:
    """Return the active user of a request that passed no middleware: by API token if it carries one, else by session.

    A bad token is nobody, even if the request also has a session.
    """
    if request.META.get("HTTP_AUTHORIZATION"):
        try:
            found: tuple[Any, Any] | None = ApiTokenAuthentication().authenticate(request)
        except AuthenticationFailed:
            return None
        return found[0] if found else None
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None
