"""REST of logs: what is archived, windows for the viewer, text, download, and the live stream. All read the archive, never a pod."""

import os
import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpResponse, StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api import schemas
from jobs.api.represent import log_stream
from jobs.logs import window as views
from jobs.logs.find import find
from jobs.logs.reader import LogReader, merged_lines
from jobs.logs.search import Query, SearchError
from jobs.logs.times import format_stamp
from jobs.models import LogStream, TrainJob
from jobs.queries import job as one
from jobs.queries.logs import open_sources
from runtimes.spec.findings import Finding
from trainui.api import AnyAccept, caller, whole_number
from trainui.problems import Problem
from trainui.streaming import Chunks, download, file_chunks

DEFAULT_ROWS = 500
PLAIN = "text/plain; charset=utf-8"
RANKS = OpenApiParameter("ranks", str, description="Ranks with commas; without it all logs, merged by time.")
STREAM = OpenApiParameter("stream", int, description="Id of one log.")


class Logs(APIView):
    """The archived logs of a job."""

    @extend_schema(operation_id="listLogs", responses={200: schemas.Logs, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """List what is archived: one log per container and restart."""
        return Response({"items": [log_stream(s) for s in one.log_streams(one.visible_job(caller(request), job_id))]})


class Rows(APIView):
    """Rows of the logs as a viewer shows them."""

    @extend_schema(
        operation_id="readLogRows",
        responses={200: dict, **schemas.problems(401, 404, 422)},
        parameters=[
            RANKS,
            STREAM,
            OpenApiParameter("start", int),
            OpenApiParameter("count", int),
            OpenApiParameter("at", str),
        ],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Read a window of rows by position; a negative start counts from the end."""
        job = one.visible_job(caller(request), job_id)
        start, count = whole_number(request, "start", -DEFAULT_ROWS), whole_number(request, "count", DEFAULT_ROWS)
        with open_sources(job, _streams(request)) as sources:
            return Response(
                _checked(
                    lambda: views.window(sources, start, count, _ranks(request), at=request.query_params.get("at", ""))
                )
            )


class Tail(APIView):
    """What came since a cursor."""

    @extend_schema(
        operation_id="readLogTail",
        responses={200: dict, **schemas.problems(401, 404, 422)},
        parameters=[RANKS, STREAM, OpenApiParameter("cursor", str)],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Read the rows that are new or redrawn since a cursor."""
        job = one.visible_job(caller(request), job_id)
        with open_sources(job, _streams(request)) as sources:
            return Response(
                _checked(lambda: views.tail(sources, request.query_params.get("cursor", ""), _ranks(request)))
            )


class Search(APIView):
    """Where the logs hold a text."""

    @extend_schema(
        operation_id="searchLogs",
        responses={200: dict, **schemas.problems(401, 404, 422)},
        parameters=[
            RANKS,
            STREAM,
            OpenApiParameter("q", str, description="What to look for.", required=True),
            OpenApiParameter("mode", str, enum=["literal", "regex"]),
            OpenApiParameter("case", str, enum=["insensitive", "sensitive"]),
            OpenApiParameter("at", str, description="Cursor of the rows, so that positions mean the same."),
            OpenApiParameter("after", str, description="`next` of the answer before."),
        ],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> Response:
        """Search all archived rows; literal and case-insensitive unless asked otherwise."""
        job = one.visible_job(caller(request), job_id)
        asked = request.query_params
        try:
            query = Query(asked.get("q", ""), asked.get("mode", "literal"), asked.get("case", "insensitive"))
            with open_sources(job, _streams(request)) as sources:
                found = find(sources, query, _ranks(request), at=asked.get("at", ""), after=asked.get("after", ""))
        except SearchError as error:
            raise Problem(422, error.code, str(error), [Finding("q", error.code, str(error))]) from None
        except ValueError:
            message = "The cursor was cut or changed; start without one."
            raise Problem(422, "invalid_parameter", message, [Finding("at", "invalid_parameter", message)]) from None
        return Response(found.as_json())


class FullRow(APIView):
    """A row that was cut."""

    @extend_schema(operation_id="readLogRow", responses={200: dict, **schemas.problems(401, 404)})
    def get(self, request: Request, job_id: uuid.UUID, stream: int, row: int) -> Response:
        """Read one row of one log with up to a million characters."""
        with open_sources(one.visible_job(caller(request), job_id), [stream]) as sources:
            found = views.full_row(sources[0], row) if sources else None
            if found is None:
                raise Http404("There is no such row.")
            return Response(found.as_json())


class Text(APIView):
    """Logs as plain text."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="readLogText",
        responses={(200, "text/plain"): str, **schemas.problems(401, 404, 422)},
        parameters=[RANKS, STREAM, OpenApiParameter("tail", int), OpenApiParameter("timestamps", bool)],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> HttpResponse:
        """Read the last rows (tail=N, 1000 by default) as text, ranks marked where there are several."""
        job = one.visible_job(caller(request), job_id)
        count = min(max(whole_number(request, "tail", 1000), 1), views.MAX_ROWS)
        with open_sources(job, _streams(request)) as sources:
            ranks = _ranks(request)
            rows = views.window(sources, -count, count, ranks).rows
            several = len(views.choose(sources, ranks)) > 1
            lines = views.to_text(
                rows, with_source=several, with_stamp=request.query_params.get("timestamps", "") in ("1", "true")
            )
            return HttpResponse("".join(lines), content_type=PLAIN)


class Download(APIView):
    """The logs as files."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="downloadLog",
        responses={(200, "text/plain"): bytes, **schemas.problems(401, 404)},
        parameters=[STREAM],
    )
    def get(self, request: Request, job_id: uuid.UUID) -> StreamingHttpResponse:
        """Download one log byte for byte as the container wrote it, or all logs merged by time with stamp and pod before each line."""
        job = one.visible_job(caller(request), job_id)
        ids = _streams(request)
        if ids is None:
            return download(request._request, _merged(job), f"{job.name}.log", PLAIN)
        stream = LogStream.objects.filter(job=job, pk__in=ids).first()
        if stream is None or not (Path(settings.LOGS_DIR) / stream.folder).is_dir():
            raise Http404("There is no such log.")
        return download(request._request, _raw(stream), f"{stream.pod}-{stream.container}-{stream.restart}.log", PLAIN)


class ArtifactFile(APIView):
    """One kept file."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="downloadArtifact",
        responses={(200, "application/octet-stream"): bytes, **schemas.problems(401, 404)},
    )
    def get(self, request: Request, job_id: uuid.UUID, name: str) -> StreamingHttpResponse:
        """Download a file that the job handed over."""
        job = one.visible_job(caller(request), job_id)
        row = job.artifacts.filter(name=name).first()
        try:
            file = open(one.artifact_path(row), "rb") if row else None  # noqa: SIM115  closed when it was sent
        except FileNotFoundError:
            file = None
        if row is None or file is None:
            raise Http404("There is no such artifact.")
        response = download(request._request, file_chunks(file), Path(row.name).name, "application/octet-stream")
        response["Content-Length"] = str(os.fstat(file.fileno()).st_size)
        response["ETag"] = f'"{row.sha256}"'
        return response


def _raw(stream: LogStream) -> Chunks:
    with LogReader(Path(settings.LOGS_DIR) / stream.folder) as reader:
        yield from reader.raw()


def _merged(job: TrainJob) -> Chunks:
    with open_sources(job) as sources:
        readers = [source.reader for source in sources]
        for at, number in merged_lines(readers):
            line = readers[at].read(number, 1)[0]
            yield f"{format_stamp(line.stamp)} [{sources[at].label}] ".encode() + line.data.rstrip(b"\n") + b"\n"


def _checked(read: Any) -> Any:
    try:
        return read().as_json()
    except ValueError:
        message = "The cursor was cut or changed; start without one."
        raise Problem(422, "invalid_parameter", message, [Finding("cursor", "invalid_parameter", message)]) from None


def _ranks(request: Request) -> set[int] | None:
    return _numbers(request, "ranks")


def _streams(request: Request) -> list[int] | None:
    found = _numbers(request, "stream")
    return sorted(found) if found is not None else None


def _numbers(request: Request, name: str) -> set[int] | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    parts = text.split(",")
    if not all(p.isascii() and p.isdigit() and len(p) < 19 for p in parts):
        message = f"“{name}” must be whole numbers with commas."
        raise Problem(422, "invalid_parameter", message, [Finding(name, "invalid_number", message)])
    return {int(p) for p in parts}
