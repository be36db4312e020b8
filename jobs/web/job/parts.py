"""Contexts of the parts that pages are put together from; each is also a fragment that is fetched again when something changed."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils import timezone

from jobs.models import LogStream, TrainJob
from jobs.queries import job_page as queries
from jobs.queries.job import Series, metric_series, state_of
from jobs.queries.job import artifacts as artifacts_of
from jobs.queries.queue import WAITING, place_of
from jobs.queries.room import largest_gang
from jobs.spec.masking import mask_text
from jobs.web.job import charts as drawing
from jobs.web.job.differences import differences
from jobs.web.job.nodes import Archived, Node, gang_of, nodes_of, parse_time
from jobs.web.job.origins import configuration
from jobs.web.job.startup import Startup, started_at, startup_of
from jobs.web.job.timeline import Milestones, timeline

VALUES_SHOWN = 200
Context = dict[str, Any]


def nodes(job: TrainJob) -> list[Node]:
    """Return the nodes of a job, those that are gone named by their archived logs."""
    logs = LogStream.objects.filter(job=job).values_list("pod", "rank", "attempt")
    return nodes_of(state_of(job), job.phase, [Archived(*log) for log in logs])


def state(job: TrainJob) -> Context:
    """Timeline, gang and the cause of a failure."""
    found = state_of(job)
    shown = nodes(job)
    cause = found.get("cause")
    times = Milestones(
        job.created_at, job.pushed_at, job.scheduled_at, job.started_at, queries.first_report(job), job.finished_at
    )
    return waiting(job) | {
        "steps": timeline(times, job.phase, job.tone),
        "gang": gang_of(found, shown),
        "startup": startup(job, found),
        "cause": cause | {"message": mask_text(cause.get("message") or "")} if cause else None,
        "cause_log": _cause_log(cause, shown) if cause else "",
    }


def waiting(job: TrainJob) -> Context:
    """Where a job that waits stands in its queue, and the largest gang of its shape that fits now."""
    if job.phase not in WAITING:
        return {"place": None, "fit": None}
    return {"place": place_of(job), "fit": largest_gang(job)}


def startup(job: TrainJob, found: Context) -> Startup:
    """The phases of the start."""
    entries = found.get("startup") or []
    began = started_at(entries)
    sign, said = queries.first_sign(job, began) if began is not None else (None, "")
    return startup_of(entries, sign, said, job.phase, timezone.now())


def conditions(job: TrainJob) -> Context:
    """What stands in the TrainJob's status, for those who know Kubeflow's words."""
    found = state_of(job)
    return {
        "conditions": [_condition(c) for c in found.get("conditions") or []],
        "unknown_conditions": found.get("unknown_conditions") or [],
    }


def nodes_page(job: TrainJob, text: str, limit: int) -> Context:
    """One page of the table of nodes; `text` is where it begins."""
    found = nodes(job)
    first = min(int(text), len(found)) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    shown = found[first : first + limit]
    return {
        "nodes": shown,
        "gang": gang_of(state_of(job), found),
        "first": first,
        "last": first + len(shown),
        "total": len(found),
        "previous": max(0, first - limit) if first else None,
        "next": first + limit if first + limit < len(found) else None,
    }


def metrics(job: TrainJob) -> Context:
    """The chart at a glance and the newest value of every metric."""
    context = newest(job)
    name = queries.main_metric([row["name"] for row in context["newest"] if row["drawable"]])
    series = metric_series(job, name) if name else []
    context["chart"] = _chart(series[0]) if series else None
    return context


def newest(job: TrainJob) -> Context:
    """The newest values, texts of the last report among them."""
    values = queries.newest_values(job)
    rows: dict[str, Context] = {
        n.name: {"name": n.name, "value": drawing.number(n.value), "drawable": True} for n in values
    }
    for metric in (job.detail.trainer_status or {}).get("metrics") or []:
        rows.setdefault(
            metric["name"],
            {"name": metric["name"], "value": mask_text(metric["value"]), "drawable": False},
        )
    times = [n.at for n in values] + ([job.progress_at] if job.progress_at else [])
    return {"newest": sorted(rows.values(), key=lambda row: str(row["name"])), "reported_at": max(times, default=None)}


def charts(job: TrainJob) -> Context:
    """A chart per metric, the one that stands for the job first."""
    after = queries.last_sample(job)
    found = metric_series(job)
    main = queries.main_metric([s.name for s in found])
    found.sort(key=lambda s: (s.name != main, s.name))
    return {"charts": [_chart(s) for s in found], "after": after}


def values(name: str) -> Callable[[TrainJob], Context]:
    """The values of one metric as a table."""

    def add(job: TrainJob) -> Context:
        found = metric_series(job, name) if name else []
        return {"chart": _chart(found[0]) if found else None}

    return add


def artifacts(job: TrainJob) -> Context:
    """The files that the job handed over."""
    return {"artifacts": artifacts_of(job)}


def config(job: TrainJob) -> Context:
    """What the job was given and where each value comes from; how the local cluster differs."""
    return {
        "configuration": configuration(job),
        "blueprint": job.detail.blueprint,
        "differences": [] if settings.POD_DNS else differences(job),
    }


def _condition(condition: Context) -> Context:
    message = mask_text(str(condition.get("message") or ""))
    return condition | {"message": message, "at": parse_time(condition.get("lastTransitionTime"))}


def _chart(series: Series) -> Context:
    pairs = list(zip(series.times, series.values, strict=True))
    step = -(-len(pairs) // VALUES_SHOWN) or 1
    return {
        "name": series.name,
        "line": drawing.draw(series.times, series.values),
        "last": drawing.number(series.last),
        "last_at": series.last_at,
        "lowest": drawing.number(series.best_low),
        "highest": drawing.number(series.best_high),
        "count": len(pairs),
        "rows": [(t - pairs[0][0], drawing.number(v)) for t, v in pairs[::-step]],
        "thinned": step > 1,
    }


def _cause_log(cause: Context, shown: list[Node]) -> str:
    """The query of the log that tells about a failure, "" when nothing of it is archived."""
    pod, rank = cause.get("pod"), cause.get("rank")
    node = next((n for n in shown if n.pod and n.pod == pod), None)
    if node is None and rank is not None:
        node = next((n for n in shown if n.rank == rank), None)
    return node.log_query if node is not None and node.has_log else ""
