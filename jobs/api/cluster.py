"""REST of the cluster: how full it is, what waits, what it serves."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api import schemas
from jobs.api.represent import job_summary, time_text
from jobs.builders.resources import as_quantities
from jobs.queries.cluster import CORDONED, NOT_READY, SILENT, Held, Machine, Served, cluster_of, is_local
from jobs.queries.cluster_checks import survey_of_cluster
from jobs.queries.job import freshness
from jobs.reconcile.capabilities import capabilities
from trainui.api import caller


class ClusterView(APIView):
    """The cluster."""

    @extend_schema(operation_id="getCluster", responses={200: schemas.Cluster, **schemas.problems(401)})
    def get(self, request: Request) -> Response:
        """Read machines with what holds them, what waits and why, and which kinds the cluster serves. Jobs of others have no name."""
        found = cluster_of(caller(request))
        alive_at, problem = freshness()
        survey = survey_of_cluster()
        return Response(
            {
                "local": is_local(),
                "machines": [_machine(machine) for machine in found.machines],
                "machines_not_listed": found.hidden,
                "waiting": {
                    "items": [job_summary(job) for job in found.waiting],
                    "not_listed": found.more_waiting,
                    "of_other_projects": found.others,
                },
                "kinds": [_served(served) for served in found.served],
                "checks": [asdict(check) for check in survey.checks],
                "surveyed": {"at": time_text(survey.at), "problem": survey.problem or None},
                "gang_schedulers": sorted(capabilities().gang_schedulers),
                "data_age": {"watch_alive_at": time_text(alive_at), "problem": problem or None},
            }
        )


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "ready": machine.state not in (NOT_READY, SILENT),
        "cordoned": machine.state == CORDONED,
        "state": machine.state,
        "reason": machine.reason,
        "since": time_text(machine.since),
        "capacity": as_quantities(machine.capacity),
        "held": as_quantities(machine.used),
        "pods": [_held(held) for held in machine.held],
    }


def _held(held: Held) -> dict[str, Any]:
    job = held.job
    shown = {"id": str(job.pk), "name": job.name, "project": job.project.name, "phase": job.phase} if job else None
    return {"job": shown, "pod": held.pod or None, "requests": as_quantities(held.amounts)}


def _served(served: Served) -> dict[str, Any]:
    return {
        "kind": served.kind.kind,
        "api_version": served.kind.api_version,
        "needed": served.needed,
        "served": served.served,
        "problem": served.problem or None,
        "alive_at": time_text(served.alive_at),
    }
