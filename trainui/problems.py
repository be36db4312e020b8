"""Failures as people and programs get them: RFC 9457 problem details under /api, a page of the same words elsewhere."""

import logging
import sys
import uuid
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from runtimes.spec.findings import Finding

log = logging.getLogger(__name__)
CONTENT_TYPE = "application/problem+json"
PROGRAMS = ("/api/", "/progress/")  # addresses that programs call; at others people read
DATABASE_RETRY_SECONDS = 5
_DATABASE_WORDS = (
    ("disk is full", "The disk of the database is full"),  # SQLite
    ("No space left", "The disk of the database is full"),  # PostgreSQL
    ("locked", "The database is busy"),  # SQLite
    ("deadlock", "The database is busy"),  # PostgreSQL
    ("could not serialize", "The database is busy"),
    ("couldn't get a connection", "The database is busy"),  # its pool
    ("too many clients", "The database is busy"),
)
TITLES = {
    400: "The request cannot be understood",
    401: "Sign in first",
    403: "You may not do this",
    404: "There is no such thing",
    405: "This address does not answer that method",
    406: "This address cannot answer in that form",
    409: "It conflicts with what is there",
    413: "The request is too large",
    415: "The body is in a form that is not understood here",
    422: "The object is not acceptable",
    429: "Too many requests",
    500: "trainui failed",
    503: "Not possible right now",
}


class Problem(Exception):
    """A failure with everything its answer needs.

    status: HTTP status. code: stable word for programs. detail: one sentence. findings: which fields are wrong.
    """

    def __init__(
        self, status: int, code: str, detail: str, findings: list[Finding] | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.findings = findings or []
        self.retry_after = retry_after


def body(problem: Problem, instance: str = "") -> dict[str, Any]:
    """Return the members of a problem document: type, title, status, detail, instance, request_id, errors."""
    document: dict[str, Any] = {
        "type": f"/docs/problems#{problem.code}",
        "title": TITLES.get(problem.status, "The request failed"),
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        "instance": instance,
        "request_id": uuid.uuid4().hex,
    }
    if problem.findings:
        document["errors"] = [
            {
                "pointer": f.pointer,
                "field": f.path,
                "code": f.code,
                "detail": f.message,
                **({"params": f.params} if f.params else {}),
            }
            for f in problem.findings
        ]
    if problem.retry_after is not None:
        document["retry_after"] = problem.retry_after
    return document


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer every failure of a REST view as a problem document (REST framework's EXCEPTION_HANDLER)."""
    problem = _problem_of(error)
    if problem is None:
        return None
    set_rollback()
    challenge = getattr(error, "auth_header", None)
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    return Response(
        body(problem, context["request"].path), status=problem.status, headers=headers, content_type=CONTENT_TYPE
    )


def _problem_of(error: Exception) -> Problem | None:
    if isinstance(error, Problem):
        return error
    if isinstance(error, Http404):
        return Problem(404, "not_found", str(error) or "There is nothing at this address that you may see.")
    if isinstance(error, PermissionDenied):
        return Problem(403, "forbidden", str(error) or "Your role does not allow this; ask an admin of the project.")
    if isinstance(error, exceptions.ValidationError):
        return Problem(422, "invalid", "Some fields are not acceptable.", _findings(error.detail))
    if isinstance(error, exceptions.APIException):
        code = error.default_code if error.default_code != "error" else "failed"
        wait = getattr(error, "wait", None)
        return Problem(error.status_code, code, str(error.detail), retry_after=int(wait) if wait else None)
    return _database_problem(error)


def _database_problem(error: BaseException | None) -> Problem | None:
    """Return what to say of a database that cannot be used now; its own words may name hosts, so they go to the log only."""
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    log.error("the database cannot be used: %s", error)
    why = next((text for word, text in _DATABASE_WORDS if word in str(error)), "The database does not answer")
    detail = f"{why}. Nothing was changed; try again later."
    return Problem(503, "database_unavailable", detail, retry_after=DATABASE_RETRY_SECONDS)


def _findings(detail: Any, path: str = "") -> list[Finding]:
    """Flatten REST framework's nested details into findings with field paths."""
    if isinstance(detail, dict):
        return [
            f
            for key, value in detail.items()
            for f in _findings(
                value,
                f"{path}.{key}"
                if path and key != "non_field_errors"
                else path or ("" if key == "non_field_errors" else key),
            )
        ]
    if isinstance(detail, list):
        nested = any(isinstance(item, dict | list) for item in detail)
        return [f for i, item in enumerate(detail) for f in _findings(item, f"{path}[{i}]" if nested else path)]
    return [Finding(path, getattr(detail, "code", "invalid"), str(detail))]


def error_response(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    """Return a failure in the form the address speaks: a problem document under /api, else a page."""
    if request.path.startswith(PROGRAMS):
        return JsonResponse(body(Problem(status, code, detail), request.path), status=status, content_type=CONTENT_TYPE)
    names = {400: "400.html", 403: "403.html", 404: "404.html"}
    return render(
        request,
        names.get(status, "error.html"),
        {"status": status, "title": TITLES.get(status, "The request failed"), "detail": detail},
        status=status,
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid CSRF token (Django's CSRF_FAILURE_VIEW)."""
    return error_response(
        request,
        403,
        "csrf",
        f"This form is too old or came from elsewhere ({reason}). Reload the page and send it again.",
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400."""
    return error_response(request, 400, "bad_request", "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403."""
    return error_response(
        request, 403, "forbidden", str(exception) or "Your role does not allow this; ask an admin of the project."
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    return error_response(request, 404, "not_found", "There is nothing at this address that you may see.")


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500."""
    if problem := _database_problem(sys.exc_info()[1]):
        return error_response(request, problem.status, problem.code, problem.detail)
    return error_response(
        request, 500, "failed", "trainui failed at this request; its log says why. Nothing was changed by halves."
    )
