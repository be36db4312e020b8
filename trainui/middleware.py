"""Two guards for every request: a bound on its body, and a login for everything that is not meant for strangers."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode

from trainui import problems
from trainui.body_limit import limit_of

OPEN_PREFIXES = ("/sign-in", "/static/", "/livez", "/readyz")
# These authenticate by themselves: REST by token or session, progress by the job's token, admission by the token in its address.
SELF_AUTHENTICATING = ("/api/", "/progress/", "/admission/")
GetResponse = Callable[[HttpRequest], HttpResponse]


class BodyLimitMiddleware:
    """Answers 413 to a body that is larger than its address takes, by its header: `trainui.body_limit` leaves such a body unread."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length, limit = request.META.get("CONTENT_LENGTH") or "0", limit_of(request.path)
        if length.isdigit() and int(length) > limit:
            return problems.error_response(
                request,
                413,
                "too_large",
                f"The request has {int(length):,} bytes; {limit:,} are allowed.",
            )
        return self.get_response(request)


class LoginRequiredMiddleware:
    """Sends whoever is not signed in to the sign-in page; only health, static files and sign-in itself are open."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(OPEN_PREFIXES + SELF_AUTHENTICATING) or request.user.is_authenticated:
            return self.get_response(request)
        target = f"{settings.LOGIN_URL}?{urlencode({'next': request.get_full_path()})}"
        if getattr(request, "htmx", None) or request.headers.get("HX-Request") == "true":
            return HttpResponse(status=204, headers={"HX-Redirect": target})
        return redirect(target)
