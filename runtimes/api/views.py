"""REST of the catalog."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from runtimes.models import Runtime
from runtimes.queries import visible_runtimes
from trainui.accounts.permissions import roles_of, visible_projects
from trainui.api import caller


class Runtimes(APIView):
    """Runtimes and blueprints."""

    @extend_schema(
        operation_id="listRuntimes", responses={200: dict}, parameters=[OpenApiParameter("blueprints", bool)]
    )
    def get(self, request: Request) -> Response:
        """List cluster runtimes and those of the caller's projects; `blueprints=1` only those with a form."""
        rows = visible_runtimes(caller(request))
        if request.query_params.get("blueprints", "") in ("1", "true"):
            rows = rows.filter(managed=True)
        return Response({"items": [_summary(row) for row in rows.defer("observed", "source")]})


class RuntimeView(APIView):
    """One runtime."""

    @extend_schema(operation_id="getRuntime", responses={200: dict}, parameters=[OpenApiParameter("namespace", str)])
    def get(self, request: Request, name: str) -> Response:
        """Read a runtime: card, parameters and manifest."""
        row = (
            visible_runtimes(caller(request))
            .filter(name=name, namespace=request.query_params.get("namespace", ""))
            .first()
        )
        if row is None:
            raise Http404(f"There is no runtime “{name}” that you may see.")
        return Response(_summary(row) | {"card": row.card, "parameters": row.parameters, "manifest": row.effective})


class Projects(APIView):
    """The caller's projects."""

    @extend_schema(operation_id="listProjects", responses={200: dict})
    def get(self, request: Request) -> Response:
        """List the projects the caller may see, with their role there."""
        roles = roles_of(caller(request))
        rows = visible_projects(caller(request)).order_by("name")
        return Response({"items": [{"name": p.name, "title": p.title, "role": roles.get(p.pk, "admin")} for p in rows]})


def _summary(row: Runtime) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "namespace": row.namespace or None,
        "name": row.name,
        "title": row.title,
        "summary": row.summary,
        "framework": row.framework,
        "blueprint": row.managed,
        "drifted": row.drifted,
        "in_cluster": bool(row.uid),
        "problem": row.apply_error or None,
    }
