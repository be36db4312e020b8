"""REST of the queues: who waits with what ahead, who holds machines, how much of each quota is used."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api import schemas
from jobs.api.represent import job_summary, time_text
from jobs.queries.job import freshness
from jobs.queries.queue import Line, Queue, Quota, queues_of
from trainui.api import caller


class QueuesView(APIView):
    """The queues."""

    @extend_schema(operation_id="getQueues", responses={200: schemas.Queues, **schemas.problems(401)})
    def get(self, request: Request) -> Response:
        """Read every queue with the jobs in it, the quotas of the caller's projects and Kueue's queues. Jobs of others have no name."""
        found = queues_of(caller(request))
        alive_at, problem = freshness()
        return Response(
            {
                "queues": [_queue(queue) for queue in found.queues],
                "quotas": [_quota(quota) for quota in found.quotas],
                "data_age": {"watch_alive_at": time_text(alive_at), "problem": problem or None},
            }
        )


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "kind": queue.kind,
        "name": queue.name,
        "approximate": queue.approximate,
        "accelerators_waiting": queue.accelerators_waiting,
        "accelerators_held": queue.accelerators_held,
        "waiting": {"items": [_line(line) for line in queue.waiting], "not_listed": queue.waiting_hidden},
        "holding": {"items": [_line(line) for line in queue.holders], "not_listed": queue.holders_hidden},
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "job": job_summary(line.job) if line.job else None,
        "place": line.place.as_dict() if line.place else None,
        "priority": line.priority,
        "pods": line.pods,
        "accelerators": line.accelerators,
    }


def _quota(quota: Quota) -> dict[str, Any]:
    return {
        "kind": quota.kind,
        "name": quota.name,
        "project": quota.where if quota.kind == "ResourceQuota" else None,
        "problem": quota.problem or None,
        "pending": quota.pending,
        "uses": [{"resource": u.name, "used": u.used, "limit": u.limit, "percent": u.percent} for u in quota.uses],
    }
