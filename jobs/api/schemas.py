"""The shapes of REST answers for the OpenAPI document. Answers themselves are plain dicts of `represent`."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers as s

from jobs.queries.listing import CHIPS, MAX_LIMIT
from jobs.services import BULK_ACTIONS
from jobs.state.phases import ACTIONS, PHASES
from trainui.problems import TITLES

Any_ = s.JSONField


class Reason(s.Serializer):
    """Why a job is in its phase."""

    code = s.CharField(help_text="Stable word for programs.")
    tone = s.CharField()
    sentence = s.CharField(help_text="One sentence for people.")
    since = s.DateTimeField(allow_null=True)


class TrainJob(s.Serializer):
    """A TrainJob as lists show it."""

    id = s.UUIDField()
    url = s.CharField()
    project = s.CharField()
    namespace = s.CharField()
    name = s.CharField()
    uid = s.CharField(allow_null=True, help_text="uid in the cluster; null until it was seen there.")
    owner = s.CharField(allow_null=True)
    runtime = inline_serializer("RuntimeReference", {"kind": s.CharField(), "name": s.CharField()})
    phase = s.ChoiceField(choices=list(PHASES))
    reason = Reason()
    finished = s.BooleanField()
    nodes = inline_serializer("NodeNumbers", {"expected": s.IntegerField(), "ready": s.IntegerField()})
    progress = inline_serializer(
        "Progress",
        {
            "percent": s.IntegerField(allow_null=True),
            "eta_seconds": s.IntegerField(allow_null=True),
            "estimated": s.BooleanField(
                help_text="Whether eta_seconds is our estimate, because the program gave none."
            ),
            "at": s.DateTimeField(allow_null=True),
        },
    )
    created_at = s.DateTimeField()
    started_at = s.DateTimeField(allow_null=True)
    finished_at = s.DateTimeField(allow_null=True)
    in_cluster = s.BooleanField()
    kept = s.BooleanField(help_text="Retention passes it by.")
    stalled_since = s.DateTimeField(
        allow_null=True, help_text="Last sign of life of a running job, once it is too long ago."
    )
    origin = inline_serializer(
        "Origin",
        {
            "relation": s.ChoiceField(choices=["retry", "clone"]),
            "id": s.UUIDField(allow_null=True),
            "name": s.CharField(),
        },
        allow_null=True,
    )


class TrainJobFull(TrainJob):
    """One TrainJob with everything but its long lists, which `links` names."""

    counts = Any_()
    gang = Any_(allow_null=True)
    startup = Any_(
        help_text="Phases of the start: name, owner, since, until (null: it goes on), and the node that was last."
    )
    place = Any_(allow_null=True, help_text="Place in its queue while it waits: jobs, accelerators and pods ahead.")
    largest_gang = Any_(allow_null=True, help_text="How many of its pods would fit now, while it waits.")
    cause = Any_(allow_null=True)
    conditions = Any_()
    jobs_status = Any_()
    blueprint = s.CharField(allow_null=True)
    parameters = Any_()
    trainer_status = Any_(allow_null=True)
    suspend_requested = s.BooleanField(allow_null=True)
    cancel = Any_(allow_null=True)
    actions = s.ListField(child=s.ChoiceField(choices=ACTIONS))
    stalled = Any_(allow_null=True, help_text="since, last_line_at and last_metric_at of a stalled job.")
    storage = Any_(help_text="Bytes of logs and artifacts, numbers of samples, and when retention removes the job.")
    successors = Any_(help_text="Retries and copies of this job that the caller may see.")
    data_age = Any_()
    links = Any_()


class TrainJobPage(s.Serializer):
    """One page of the list."""

    items = TrainJob(many=True)
    next = s.CharField(allow_null=True, help_text="Cursor of the next page.")
    previous = s.CharField(allow_null=True)
    counts = Any_(required=False, help_text="With count=capped: jobs per status, counted to 1000.")


# Inline, because a serializer has an attribute `errors` of its own.
DryRun = inline_serializer(
    "DryRun",
    {
        "accepted": s.BooleanField(),
        "manifest": Any_(),
        "objects": Any_(help_text="The children that would be created; values of Secrets are left out."),
        "errors": Any_(),
        "warnings": Any_(),
        "origins": Any_(help_text="Where each effective value comes from."),
    },
)


class BlueprintSubmission(s.Serializer):
    """A blueprint with values for its parameters."""

    project = s.CharField()
    blueprint = s.CharField()
    name = s.CharField()
    parameters = s.DictField(required=False)


class ActionBody(s.Serializer):
    """Why it is asked, for the audit."""

    reason = s.CharField(required=False, allow_blank=True)


class BulkBody(s.Serializer):
    """One action and the jobs it is for."""

    action = s.ChoiceField(choices=BULK_ACTIONS)
    ids = s.ListField(child=s.UUIDField(), min_length=1, max_length=MAX_LIMIT)
    reason = s.CharField(required=False, allow_blank=True)


_PROBLEM_FIELD: dict[str, Any] = {
    "pointer": s.CharField(help_text="JSON pointer to the field."),
    "field": s.CharField(),
    "code": s.CharField(),
    "detail": s.CharField(),
}
# RFC 9457 problem details.
Problem = inline_serializer(
    "Problem",
    {
        "type": s.CharField(),
        "title": s.CharField(),
        "status": s.IntegerField(),
        "code": s.CharField(),
        "detail": s.CharField(),
        "instance": s.CharField(),
        "request_id": s.CharField(),
        "errors": inline_serializer("ProblemError", _PROBLEM_FIELD, many=True, required=False),
        "retry_after": s.IntegerField(required=False),
    },
)
Nodes = inline_serializer("Nodes", {"items": Any_(), "counts": Any_(), "gang": Any_(allow_null=True)})
Events = inline_serializer("Events", {"items": Any_(), "next": s.IntegerField(allow_null=True)})
Metrics = inline_serializer("Metrics", {"items": Any_()})
Origins = inline_serializer(
    "Origins",
    {
        "items": inline_serializer(
            "ValueOrigin",
            {
                "replicated_job": s.CharField(help_text="Which pods; empty for the job as a whole."),
                "field": s.CharField(help_text="image, command, env[NAME], requests[cpu], nodes, ..."),
                "value": Any_(),
                "source": s.ChoiceField(choices=["default", "policy", "runtime", "parameter", "job", "patch"]),
                "name": s.CharField(help_text="Which parameter, runtime, policy, or manager of a patch."),
                "path": s.CharField(help_text="The field that sets it, in the TrainJob or the runtime."),
                "overrides": s.ListField(
                    child=s.CharField(), help_text="Sources whose value it replaces, weakest first."
                ),
            },
            many=True,
        )
    },
)
Artifacts = inline_serializer("Artifacts", {"items": Any_()})
Logs = inline_serializer("LogStreams", {"items": Any_()})
BulkResults = inline_serializer(
    "BulkResults",
    {"items": Any_(help_text="Per id: `status`, and `job` as it is now (of a retry the new one), or `problem`.")},
)
Comparison = inline_serializer(
    "Comparison",
    {
        "metric": s.CharField(allow_null=True),
        "metrics": Any_(help_text="Metrics of these jobs, and how many have each."),
        "items": Any_(help_text="Per job: numbers of the metric, and points [epoch seconds, value, step]."),
        "missing": s.ListField(child=s.UUIDField(), help_text="Ids of jobs that are gone, or not for the caller."),
    },
)
Cluster = inline_serializer(
    "Cluster",
    {
        "local": s.BooleanField(help_text="Whether it is the embedded cluster of one machine."),
        "machines": Any_(help_text="Per machine: state, capacity, what is held, and by which pods."),
        "machines_not_listed": s.IntegerField(),
        "waiting": Any_(help_text="Jobs that wait, the oldest first, and how many more there are."),
        "kinds": Any_(help_text="Whether each kind that trainui works with is served."),
        "checks": Any_(
            help_text="What the cluster has and lacks: key, title, state (ok, lacks, warns, absent, unknown), text, and the remedy."
        ),
        "surveyed": Any_(help_text="When it was looked at, and why not since."),
        "gang_schedulers": s.ListField(child=s.CharField()),
        "data_age": Any_(),
    },
)
Queues = inline_serializer(
    "Queues",
    {
        "queues": Any_(
            help_text="Per queue: who waits, in order, with what is ahead in jobs and accelerators; who holds machines."
        ),
        "quotas": Any_(
            help_text="Quotas of the caller's projects, and Kueue's ClusterQueues: used and limit per resource."
        ),
        "data_age": Any_(),
    },
)
RemovedPage = inline_serializer("RemovedTrainJobs", {"items": Any_(), "next": s.IntegerField(allow_null=True)})
CREATE_BODIES: dict[Any, Any] = {"application/json": BlueprintSubmission, "application/yaml": OpenApiTypes.STR}

LIST_PARAMETERS = [
    OpenApiParameter("project", str, description="Name of a project."),
    OpenApiParameter("phase", str, description=f"Phases with commas: {', '.join(PHASES)}."),
    OpenApiParameter("status", str, enum=list(CHIPS), description="A group of phases."),
    OpenApiParameter("q", str, description="Part of the name."),
    OpenApiParameter("runtime", str),
    OpenApiParameter("owner", str, description="A user name, or `me`."),
    OpenApiParameter("since", OpenApiTypes.DATETIME),
    OpenApiParameter("until", OpenApiTypes.DATETIME),
    OpenApiParameter("limit", int, description=f"1 to {MAX_LIMIT}."),
    OpenApiParameter("cursor", str, description="`next` or `previous` of another page."),
    OpenApiParameter("count", str, enum=["capped"]),
]


def problems(*statuses: int) -> dict[Any, Any]:
    """Return the problem answers of an operation for its description."""
    return {
        (status, "application/problem+json"): OpenApiResponse(Problem, description=TITLES[status])
        for status in statuses
    }


ACTED: dict[Any, Any] = {202: TrainJobFull, **problems(401, 403, 404, 409, 422)}
KEPT: dict[Any, Any] = {200: TrainJobFull, **problems(401, 403, 404)}
