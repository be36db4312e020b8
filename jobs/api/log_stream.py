"""The live tail of a job's logs as server-sent events: `id` is a cursor, so a client that comes back misses nothing."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse

from jobs.logs import window as views
from jobs.models import TrainJob
from jobs.queries.job import visible_job
from jobs.queries.logs import open_sources
from trainui.accounts.authentication import request_user
from trainui.database import release_connections
from trainui.events.hub import Subscriber, hub
from trainui.events.sse import comment, encode
from trainui.problems import error_response

HEARTBEAT_SECONDS = 15
MAX_AGE_SECONDS = 600
SETTLE_SECONDS = 0.1


async def log_events(request: HttpRequest, job_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """Answer `GET .../logs/stream`: an event `rows` per change, `end` when every log of a finished job is complete."""
    if request.method != "GET":
        return error_response(request, 405, "method_not_allowed", "Only GET is answered here.")
    user, job = await sync_to_async(_who)(request, job_id)
    if user is None:
        return error_response(request, 401, "not_authenticated", "Sign in, or send Authorization: Bearer TOKEN.")
    if job is None:
        return error_response(request, 404, "not_found", "There is nothing at this address that you may see.")
    text = request.GET.get("ranks", "")
    ranks = {int(r) for r in text.split(",") if r.isascii() and r.isdigit() and len(r) < 10} or None
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("cursor", "")
    response = StreamingHttpResponse(_events(job, ranks, cursor), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"
    return response


async def _events(job: TrainJob, ranks: set[int] | None, cursor: str) -> AsyncIterator[bytes]:
    subscriber = Subscriber(None, frozenset({str(job.pk)}))
    async with hub.subscribe(subscriber):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_AGE_SECONDS):
                while True:
                    tail, over = await sync_to_async(_tail)(job.pk, ranks, cursor)
                    if tail["rows"] or tail["reset"]:
                        yield encode(orjson.dumps(tail).decode(), event="rows", event_id=tail["cursor"])
                    cursor = tail["cursor"]
                    if over and tail["complete"]:
                        yield encode("{}", event="end", event_id=cursor)
                        return
                    if not await _wait(subscriber):
                        yield comment("alive")


async def _wait(subscriber: Subscriber) -> bool:
    """Wait for a change of this job; False when only the heartbeat is due."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await subscriber.queue.get()
    except TimeoutError:
        return False
    await asyncio.sleep(SETTLE_SECONDS)
    while not subscriber.queue.empty():
        subscriber.queue.get_nowait()
    return True


def _tail(job_id: uuid.UUID, ranks: set[int] | None, cursor: str) -> tuple[dict[str, Any], bool]:
    try:
        job = TrainJob.objects.get(pk=job_id)
        with open_sources(job) as sources:
            try:
                tail = views.tail(sources, cursor, ranks)
            except ValueError:
                tail = views.tail(sources, "", ranks)
            if tail.reset:  # too much at once: the last rows stand for it
                tail = views.Tail(views.window(sources, -1000, 1000, ranks).rows, tail.cursor, True, tail.complete)
            return tail.as_json() | {"complete": tail.complete or not sources}, job.finished
    finally:
        release_connections()  # an idle stream must not hold a connection


def _who(request: HttpRequest, job_id: uuid.UUID) -> tuple[Any, TrainJob | None]:
    try:
        user = request_user(request)
        if user is None:
            return None, None
        try:
            return user, visible_job(user, job_id)
        except (Http404, PermissionDenied):
            return user, None
    finally:
        release_connections()
