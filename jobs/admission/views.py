"""The addresses that the API server calls. A token in the address proves that it does: API servers send no other credential."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from jobs.admission.review import defaulted, judged
from trainui.body_limit import ADMISSION_MAX_BYTES
from trainui.cluster.patience import within
from trainui.problems import error_response

Reviewer = Callable[[dict[str, Any], Any], dict[str, Any]]
CALLS_SECONDS = 5.0  # half of what the API server waits for the answer
REVIEWERS: dict[str, Reviewer] = {"defaults": defaulted, "rules": judged}


def admission_token() -> str:
    """Return the token in the address: derived, so that nothing is stored."""
    return hmac.new(settings.SECRET_KEY.encode(), b"admission", hashlib.sha256).hexdigest()


@csrf_exempt  # no cookies are read here
def review(request: HttpRequest, token: str, what: str) -> HttpResponse:
    """Answer an AdmissionReview; 404 to everybody who does not know the token."""
    if not hmac.compare_digest(token.encode(), admission_token().encode()) or what not in REVIEWERS:
        raise Http404
    if request.method != "POST":
        return error_response(request, 405, "method_not_allowed", "Only POST is answered here.")
    raw = request.read(ADMISSION_MAX_BYTES + 1)
    if len(raw) > ADMISSION_MAX_BYTES:
        return error_response(request, 413, "too_large", f"A review may have {ADMISSION_MAX_BYTES:,} bytes.")
    try:
        asked = orjson.loads(raw)["request"]
        uid = asked["uid"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return error_response(request, 400, "invalid", "The body is no AdmissionReview.")
    with within(CALLS_SECONDS):
        answer = {"uid": uid, **REVIEWERS[what](asked, timezone.now())}
    return JsonResponse({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})
