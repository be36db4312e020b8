"""The two addresses that pods call. Each request proves with its token that it comes from a pod of that job."""

import logging
import uuid
from collections.abc import Callable
from functools import wraps

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from jobs.models import TrainJob
from jobs.progress.artifacts import ArtifactRefused, store_artifact
from jobs.progress.identity import Refused, check_token
from jobs.progress.status import StatusRefused, record_status
from trainui.cluster.errors import ClusterError
from trainui.problems import error_response

log = logging.getLogger(__name__)
STATUS_MAX_BYTES = 64 << 10  # as upstream's status server
View = Callable[[HttpRequest, TrainJob], HttpResponse]


def for_pods(method: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Let a view answer one method, to pods of the job; others get 405 or 403, as upstream's server answers."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @csrf_exempt  # no cookies are read here: the token is in a header
        @wraps(view)
        def guarded(request: HttpRequest, job_id: uuid.UUID, **arguments: str) -> HttpResponse:
            if request.method != method:
                return error_response(request, 405, "method_not_allowed", f"Only {method} is answered here.")
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            job = TrainJob.objects.select_related("detail").filter(pk=job_id).first()
            try:
                if scheme != "Bearer":
                    raise Refused("A bearer token is required.")
                check_token(job or TrainJob(pk=job_id), token.strip())
            except Refused as refusal:
                return error_response(request, 403, "forbidden", str(refusal))
            except ClusterError as error:
                log.warning("a report to job %s cannot be checked: %s", job_id, error)
                return error_response(
                    request, 503, "unavailable", "The cluster does not say whose token this is: report again."
                )
            if job is None:
                return error_response(request, 404, "not_found", "Train job not found.")
            return view(request, job, **arguments)

        return guarded

    return decorate


@for_pods("POST")
def status(request: HttpRequest, job: TrainJob) -> HttpResponse:
    """Take `{"trainerStatus": {...}}` and answer it back with 200, as upstream does; 422 for values of the wrong form."""
    raw = request.read(STATUS_MAX_BYTES + 1)
    if len(raw) > STATUS_MAX_BYTES:
        return error_response(request, 413, "too_large", f"A report may have {STATUS_MAX_BYTES} bytes.")
    try:
        body = orjson.loads(raw)
        record_status(job, body)
    except (orjson.JSONDecodeError, StatusRefused) as error:
        return error_response(request, 422, "invalid", f"The report is not acceptable: {error}")
    return JsonResponse(body)


@for_pods("PUT")
def artifact(request: HttpRequest, job: TrainJob, name: str) -> HttpResponse:
    """Keep the body as a file of the job; a second one of the same name replaces the first."""
    try:
        kept = store_artifact(job, name, iter(lambda: request.read(1 << 20), b""), settings.ARTIFACT_MAX_BYTES)
    except ArtifactRefused as error:
        return error_response(request, error.status, "artifact_refused", str(error))
    return JsonResponse({"name": kept.name, "size": kept.size, "sha256": kept.sha256}, status=201)
