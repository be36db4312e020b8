"""REST of one metric of several jobs."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.api import schemas
from jobs.api.represent import curve
from jobs.queries import compare
from runtimes.spec.findings import Finding
from trainui.api import caller
from trainui.problems import Problem


class Compare(APIView):
    """A metric of several jobs."""

    @extend_schema(
        operation_id="compareMetrics",
        responses={200: schemas.Comparison, **schemas.problems(401, 422)},
        parameters=[
            OpenApiParameter("jobs", str, required=True, description=f"Up to {compare.MAX_JOBS} ids with commas."),
            OpenApiParameter("metric", str, description="Its name; without it one that most of the jobs have."),
        ],
    )
    def get(self, request: Request) -> Response:
        """Read one metric of several jobs: points (epoch seconds, value, step) thinned to what a chart can show, and exact numbers."""
        ids, wrong = compare.parse_ids(request.query_params.getlist("jobs"))
        if wrong:
            raise _bad("jobs", f"“{wrong[0][:50]}” is no id of a job.")
        if not 1 <= len(ids) <= compare.MAX_JOBS:
            raise _bad("jobs", f"Name 1 to {compare.MAX_JOBS} jobs.")
        jobs = compare.visible_jobs(caller(request), ids)
        seen = {job.pk for job in jobs}
        names = compare.names_of(jobs)
        metric = request.query_params.get("metric", "") or compare.usual_metric(names)
        return Response(
            {
                "metric": metric or None,
                "metrics": [{"name": name, "jobs": count} for name, count in names],
                "items": [curve(found) for found in compare.curves_of(jobs, metric)],
                "missing": [str(job_id) for job_id in ids if job_id not in seen],
            }
        )


def _bad(parameter: str, message: str) -> Problem:
    return Problem(422, "invalid_parameter", message, [Finding(parameter, "invalid_parameter", message)])
