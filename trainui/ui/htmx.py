"""Fragment or page: the only place that decides it."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render as django_render
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

# What differs between two renderings of the same data: the masked CSRF token, and the relative wording of times.
_VOLATILE = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]*"|(?<=data-relative>)[^<]*')


def wants_fragment(request: HttpRequest) -> bool:
    """Say whether htmx asks for a part: not for a boosted link, and not to restore a page of the history."""
    htmx = getattr(request, "htmx", None)
    return htmx is not None and bool(htmx) and not (htmx.boosted or htmx.history_restore_request)


def render(
    request: HttpRequest,
    page: str,
    context: dict[str, Any] | None = None,
    *,
    fragment: str = "",
    status: int | None = None,
) -> HttpResponse:
    """Render `fragment` when htmx asks for a part, else `page`, which includes it; both get the same context.

    Fragments carry a weak ETag over what they show, and an unchanged one is answered 304.
    """
    use_fragment = bool(fragment) and wants_fragment(request)
    response = django_render(request, fragment if use_fragment else page, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    if use_fragment and request.method == "GET" and response.status_code == 200:
        return _conditional(request, response)
    return response


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    digest = hashlib.blake2b(_VOLATILE.sub(b"", response.content), digest_size=12).hexdigest()
    etag = f'W/"{digest}"'
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    if etag in parse_etags(request.headers.get("If-None-Match", "")):
        unchanged = HttpResponseNotModified()
        for name in ("ETag", "Cache-Control", "Vary"):
            unchanged[name] = response[name]
        return unchanged
    return response
