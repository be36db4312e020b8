"""REST of what is asked of jobs beyond suspend, resume and cancel: run again, keep, many at once; and what is remembered of removed ones."""

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import services
from jobs.api import schemas
from jobs.api.represent import job_full, job_summary, removed
from jobs.queries import job as one
from jobs.queries.listing import MAX_LIMIT, Filters, matching
from jobs.queries.removed import removed_jobs
from runtimes.spec.findings import Finding
from trainui.accounts.models import User
from trainui.api import StrictJSONParser, caller, whole_number
from trainui.problems import Problem
from trainui.problems import body as problem_body

MAX_KEY = 200


class Retry(APIView):
    """Running a job again."""

    parser_classes = [StrictJSONParser]

    @extend_schema(
        operation_id="retryTrainJob",
        request=None,
        parameters=[OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        responses={201: schemas.TrainJobFull, 200: schemas.TrainJobFull, **schemas.problems(401, 403, 404, 409, 422)},
    )
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Submit a failed, cancelled or lost job again, as `<name>-retry-N` with the same manifest and parameters, linked to it."""
        user, key = caller(request), request.headers.get("Idempotency-Key", "").strip()
        if len(key) > MAX_KEY:
            raise _wrong("Idempotency-Key", "too_long", f"An Idempotency-Key may have {MAX_KEY} characters.")
        made, there = services.retry(user, one.visible_job(user, job_id), key or None)
        headers = {"Location": f"/api/v1/trainjobs/{made.pk}"} | ({"Idempotent-Replayed": "true"} if there else {})
        return Response(job_full(user, one.visible_job(user, made.pk)), status=200 if there else 201, headers=headers)


class Keep(APIView):
    """Keeping a job."""

    parser_classes = [StrictJSONParser]

    @extend_schema(operation_id="keepTrainJob", request=None, responses=schemas.KEPT)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Keep a job however long ago it ended: retention passes it by. Its owner and admins of the project may."""
        return _keep(request, job_id, kept=True)


class Release(APIView):
    """Releasing a job that was kept."""

    parser_classes = [StrictJSONParser]

    @extend_schema(operation_id="releaseTrainJob", request=None, responses=schemas.KEPT)
    def post(self, request: Request, job_id: uuid.UUID) -> Response:
        """Release a job that was kept: retention counts for it again. Its owner and admins of the project may."""
        return _keep(request, job_id, kept=False)


def _keep(request: Request, job_id: uuid.UUID, kept: bool) -> Response:
    user = caller(request)
    services.keep(user, one.visible_job(user, job_id), kept=kept)
    return Response(job_full(user, one.visible_job(user, job_id)))


class Bulk(APIView):
    """One action for many jobs."""

    parser_classes = [StrictJSONParser]

    @extend_schema(
        operation_id="actOnTrainJobs",
        request=schemas.BulkBody,
        responses={200: schemas.BulkResults, **schemas.problems(401, 422)},
    )
    def post(self, request: Request) -> Response:
        """Do one action to as many as 200 jobs. Each succeeds or fails by itself: `items` tells of each, in the order of `ids`."""
        action, ids, reason = _bulk_body(request.data)
        user = caller(request)
        jobs = {job.pk: job for job in matching(user, Filters()).filter(pk__in=ids).select_related("project", "owner", "detail")}  # fmt: skip
        results = services.bulk(user, action, [jobs[job_id] for job_id in ids if job_id in jobs], reason)
        by_id = dict(zip([job_id for job_id in ids if job_id in jobs], results, strict=True))
        return Response({"items": [_item(user, job_id, by_id.get(job_id)) for job_id in ids]})


class Removed(APIView):
    """Jobs whose record is gone."""

    @extend_schema(
        operation_id="listRemovedTrainJobs",
        responses={200: schemas.RemovedPage, **schemas.problems(401, 422)},
        parameters=[
            OpenApiParameter("project", str),
            OpenApiParameter("before", int, description="`next` of the page before."),
        ],
    )
    def get(self, request: Request) -> Response:
        """List what is remembered of jobs that were deleted, or whose time of retention was over: name, people, times, final phase."""
        before = whole_number(request, "before", 0) or None
        page = removed_jobs(caller(request), request.query_params.get("project", ""), before)
        return Response({"items": [removed(job) for job in page.jobs], "next": page.next})


def _bulk_body(data: Any) -> tuple[str, list[uuid.UUID], str]:
    if not isinstance(data, dict):
        raise _wrong("", "wrong_type", "The body must be an object with `action` and `ids`.")
    unknown = sorted(set(data) - {"action", "ids", "reason"})
    if unknown:
        raise _wrong(
            unknown[0], "unknown_field", f"“{unknown[0]}” is not known here; there are action, ids and reason."
        )
    action, ids, reason = data.get("action"), data.get("ids"), data.get("reason", "")
    if action not in services.BULK_ACTIONS:
        raise _wrong("action", "unknown_action", f"“action” must be one of {', '.join(services.BULK_ACTIONS)}.")
    if not isinstance(ids, list) or not 1 <= len(ids) <= MAX_LIMIT:
        raise _wrong("ids", "out_of_range", f"“ids” must be a list of 1 to {MAX_LIMIT} ids of jobs.")
    if not isinstance(reason, str):
        raise _wrong("reason", "wrong_type", "“reason” must be text.")
    return action, list(dict.fromkeys(_uuid(text, index) for index, text in enumerate(ids))), reason


def _uuid(text: Any, index: int) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except (ValueError, TypeError, AttributeError):
        raise _wrong(f"ids[{index}]", "wrong_type", f"“{str(text)[:50]}” is no id of a job.") from None


def _item(user: User, job_id: uuid.UUID, result: services.BulkResult | None) -> dict[str, Any]:
    if result is None:
        missing = Problem(404, "not_found", "There is nothing at this address that you may see.")
        return {"id": str(job_id), "status": 404, "problem": problem_body(missing, f"/api/v1/trainjobs/{job_id}")}
    if result.error:
        failed = Problem(result.status, result.code, result.error)
        return {
            "id": str(job_id),
            "status": result.status,
            "problem": problem_body(failed, f"/api/v1/trainjobs/{job_id}"),
        }
    return {"id": str(job_id), "status": result.status, "job": job_summary(result.job)}


def _wrong(path: str, code: str, message: str) -> Problem:
    return Problem(422, "invalid", message, [Finding(path, code, message)])
