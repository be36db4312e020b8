"""Health for supervisors and load balancers: the only pages besides sign-in that need no login."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse


def livez(request: HttpRequest) -> HttpResponse:
    """Answer 200 while this process serves requests."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when the database answers, else 503 with what does not; says nothing that a stranger should not know."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"database": "does not answer"}, status=503)
    return JsonResponse({"database": "ok"})
