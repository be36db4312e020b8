"""REST of TrainJobs: list, create, read, act. Thin: services decide, queries read."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.http import Http404, HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import services
from jobs.api import schemas
from jobs.api.bodies import ManifestParser, TextYamlParser, YamlParser, as_sent, read_submission
from jobs.api.represent import artifact, event, job_full, job_summary, origin, series
from jobs.models import TrainJob
from jobs.queries import job as one
from jobs.queries.listing import DEFAULT_LIMIT, Filters, counts, page_of
from jobs.queries.origins import origins_of
from jobs.spec.export import export_trainjob
from jobs.spec.manifest import dump_manifest
from runtimes.spec.findings import Finding
from trainui.accounts.models import User
from trainui.api import AnyAccept, StrictJSONParser, caller, whole_number
from trainui.problems import Problem


class TrainJobs(APIView):
    """All TrainJobs that the caller may see."""

    parser_classes = [ManifestParser, YamlParser, TextYamlParser]

    @extend_schema(
        operation_id="listTrainJobs",
        parameters=schemas.LIST_PARAMETERS,
        responses={200: schemas.TrainJobPage, **schemas.problems(401, 422)},
    )
    def get(self, request: Request) -> Response:
        """List jobs, newest first, a page at a time."""
        filters = Filters.from_query(request.query_params)
        limit = whole_number(request, "limit", DEFAULT_LIMIT)
        page = page_of(caller(request), filters, request.query_params.get("cursor", ""), limit)
        body: dict[str, Any] = {
            "items": [job_summary(job) for job in page.jobs],
            "next": page.next or None,
            "previous": page.previous or None,
        }
        if request.query_params.get("count") == "capped":
            body["counts"] = [
                {"status": c.chip, "count": c.count, "capped": c.capped} for c in counts(caller(request), filters)
            ]
        response = Response(body)
        links = [
            f'<{_with(request, cursor)}>; rel="{rel}"'
            for rel, cursor in (("next", page.next), ("prev", page.previous))
            if cursor
        ]
        if links:
            response["Link"] = ", ".join(links)
        return response

    @extend_schema(
        operation_id="createTrainJob",
        request=schemas.CREATE_BODIES,
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                str,
                OpenApiParameter.HEADER,
                description="Unique per submission; sent again it returns the same job.",
            ),
            OpenApiParameter("project", str, description="Project of a TrainJob without metadata.namespace."),
            OpenApiParameter("dry_run", bool, description="Only say what would happen."),
            OpenApiParameter("clone_of", str, description="Id of the job that this one is a copy of, to link it."),
        ],
        responses={201: schemas.TrainJobFull, 200: schemas.DryRun, **schemas.problems(401, 403, 409, 413, 415, 422)},
        examples=[
            OpenApiExample(
                "From a blueprint",
                request_only=True,
                value={"project": "default", "blueprint": "plain-command", "name": "hello", "parameters": {}},
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Submit a job: blueprint and parameters, a TrainJob as JSON, or as YAML."""
        project, submission = read_submission(request, caller(request))
        if request.query_params.get("dry_run", "") in ("1", "true", "All", "server"):
            return Response(_dry_run(services.dry_run(caller(request), project, submission), submission))
        try:
            job, replayed = services.submit(caller(request), project, submission)
        except Problem as problem:
            problem.findings = as_sent(submission, problem.findings)
            raise
        job = one.visible_job(caller(request), job.pk)
        headers = {"Location": f"/api/v1/trainjobs/{job.pk}"} | ({"Idempotent-Replayed": "true"} if replayed else {})
        return Response(job_full(caller(request), job), status=200 if replayed else 201, headers=headers)


class TrainJobView(APIView):
    """One TrainJob."""

    @extend_schema(operation_id="getTrainJob", responses={200: schemas.TrainJobFull, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Read a job: phase with reason, gang, counts, cause of a failure, possible actions."""
        return Response(job_full(caller(request), one.visible_job(caller(request), job_id)))

    @extend_schema(
        operation_id="deleteTrainJob", responses={202: schemas.TrainJobFull, **schemas.problems(401, 403, 404)}
    )
    def delete(self, request: Request, job_id: uuid.UUID) -> Response:
        """Remove a job with its logs and artifacts; one that still runs is cancelled first."""
        user = caller(request)
        job = one.visible_job(user, job_id)
        services.delete(user, job)
        with suppress(Http404):  # a worker may have removed the record by now: then the answer shows it as it was
            job = one.visible_job(user, job_id)
        return Response(job_full(user, job), status=202)


class TrainJobAction(APIView):
    """What may be asked of a job; done twice it is done once. The state follows: read the job, or listen to /events."""

    parser_classes = [StrictJSONParser]

    def _act(self, request: Request, job_id: uuid.UUID, service: Callable[[User, TrainJob, str], TrainJob]) -> Response:
        job = one.visible_job(caller(request), job_id)  # before the body is looked at: a stranger learns nothing
        reason = request.data.get("reason", "") if isinstance(request.data, dict) else ""
        if not isinstance(reason, str):
            raise Problem(422, "invalid", "“reason” must be text.", [Finding("reason", "wrong_type", "must be text")])
        service(caller(request), job, reason)
        return Response(job_full(caller(request), one.visible_job(caller(request), job_id)), status=202)


# One class for each, because a document of OpenAPI cannot hold two operations of one address.
class Suspend(TrainJobAction):
    """Suspending a job."""

    @extend_schema(operation_id="suspendTrainJob", request=schemas.ActionBody, responses=schemas.ACTED)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Give the machines of a job back and let it wait."""
        return self._act(request, job_id, services.suspend)


class Resume(TrainJobAction):
    """Resuming a job."""

    @extend_schema(operation_id="resumeTrainJob", request=schemas.ActionBody, responses=schemas.ACTED)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Let a suspended job run again."""
        return self._act(request, job_id, services.resume)


class Cancel(TrainJobAction):
    """Cancelling a job."""

    @extend_schema(operation_id="cancelTrainJob", request=schemas.ActionBody, responses=schemas.ACTED)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """End a job and take it out of the cluster; its record, logs and events stay."""
        return self._act(request, job_id, services.cancel)


class Nodes(APIView):
    """The nodes of a job."""

    @extend_schema(operation_id="listNodes", responses={200: schemas.Nodes, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List training pods by rank with machine, state, exit code and restarts."""
        state = one.state_of(one.visible_job(caller(request), job_id))
        return Response(
            {"items": state.get("nodes") or [], "counts": state.get("counts") or {}, "gang": state.get("gang")}
        )


class Events(APIView):
    """The kept events of a job."""

    @extend_schema(
        operation_id="listEvents",
        responses={200: schemas.Events, **schemas.problems(401, 404, 422)},
        parameters=[OpenApiParameter("before", int)],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List events of the TrainJob, its JobSet, Jobs, pods and pod group, newest first; kept longer than the cluster keeps them."""
        job = one.visible_job(caller(request), job_id)
        rows = one.events(job, whole_number(request, "before", 0) or None)
        return Response(
            {"items": [event(row) for row in rows], "next": rows[-1].pk if len(rows) == one.EVENTS_LIMIT else None}
        )


class Metrics(APIView):
    """The metrics of a job."""

    @extend_schema(
        operation_id="listMetrics",
        responses={200: schemas.Metrics, **schemas.problems(401, 404)},
        parameters=[OpenApiParameter("name", str)],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List metric series with their history, thinned to what a chart can show."""
        job = one.visible_job(caller(request), job_id)
        return Response({"items": [series(s) for s in one.metric_series(job, request.query_params.get("name", ""))]})


class Artifacts(APIView):
    """The files of a job."""

    @extend_schema(operation_id="listArtifacts", responses={200: schemas.Artifacts, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List the files that the job handed over to keep."""
        return Response({"items": [artifact(a) for a in one.artifacts(one.visible_job(caller(request), job_id))]})


class Origins(APIView):
    """The effective configuration of a job."""

    @extend_schema(operation_id="listOrigins", responses={200: schemas.Origins, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List image, command, arguments, variables, resources and counts in effect, each with its source: default, policy, runtime,
        blueprint parameter, job, or the manager of a patch."""
        job = one.visible_job(caller(request), job_id)
        return Response({"items": [origin(found) for found in origins_of(job)]})


class Manifest(APIView):
    """The TrainJob as kubectl takes it."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="exportTrainJob", responses={(200, "application/yaml"): str, **schemas.problems(401, 404)}
    )
    def get(self, request: Request, job_id: uuid.UUID) -> HttpResponse:
        """Export the job as YAML that applies back unchanged."""
        job = one.visible_job(caller(request), job_id)
        manifest, omitted = export_trainjob(one.live_manifest(job))
        response = HttpResponse(dump_manifest(manifest), content_type="application/yaml")
        response["Content-Disposition"] = f'attachment; filename="{job.name}.yaml"'
        if omitted:
            response["X-Trainui-Omitted"] = ", ".join(o.path for o in omitted)
        return response


def _dry_run(result: services.DryRun, submission: services.Submission) -> dict[str, Any]:
    def findings(rows: list[Finding]) -> list[dict[str, Any]]:
        placed = as_sent(submission, rows)
        return [{"pointer": f.pointer, "field": f.path, "code": f.code, "detail": f.message} for f in placed]

    return {
        "accepted": not result.findings.refused,
        "manifest": result.manifest,
        "objects": result.objects,
        "errors": findings(result.findings.refused),
        "warnings": findings(result.findings.warnings),
        "origins": [origin(found) for found in result.origins],
    }


def _with(request: Request, cursor: str) -> str:
    query = request.query_params.copy()
    query["cursor"] = cursor
    return request.build_absolute_uri(f"?{query.urlencode()}")
