"""The page that compares one metric of several jobs: a chart, a table of values, and the settings that differ."""

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from jobs.models import TrainJob
from jobs.queries import compare as queries
from jobs.queries.compare import MAX_JOBS, Curve, Extreme
from jobs.web.compare_chart import RELATIVE, STEP, TIME, Chart, best_is, draw
from jobs.web.compare_settings import differing
from jobs.web.job.charts import number
from jobs.web.people import person
from trainui.ui.htmx import render
from trainui.ui.times import duration

AXES = {STEP: "Step", RELATIVE: "Time since start", TIME: "Clock time"}


@dataclass(frozen=True)
class Asked:
    """What the address of a comparison asks for; jobs are those the user may see."""

    jobs: list[TrainJob]
    metric: str
    axis: str
    log: bool
    names: list[tuple[str, int]]
    missing: int
    too_many: int

    def url(self, **changes: Any) -> str:
        """Return the address of the same comparison with other choices: metric, x, scale, or jobs (ids)."""
        ids = changes.pop("jobs", [job.pk for job in self.jobs])
        words = {"metric": self.metric, "x": self.axis, "scale": "log" if self.log else ""} | changes
        query = urlencode({"jobs": ",".join(str(job_id) for job_id in ids), **{k: v for k, v in words.items() if v}})
        return f"{reverse('compare')}?{query}"


@dataclass(frozen=True)
class Row:
    """One job of the comparison. index: which colour and dashes it has. best: whether no other job has a better best value."""

    index: int
    curve: Curve
    newest: str
    newest_where: str
    lowest: str
    lowest_where: str
    highest: str
    highest_where: str
    best: bool
    remark: str
    without_url: str

    @property
    def job(self) -> TrainJob:
        """The job."""
        return self.curve.job


@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Compare a metric of the jobs that the address names; only those that the user may see are shown."""
    asked = _asked(request)
    curves = queries.curves_of(asked.jobs, asked.metric) if asked.metric else []
    axis = asked.axis or (STEP if curves and all(c.has_steps for c in curves if c.points) else RELATIVE)
    asked = Asked(asked.jobs, asked.metric, axis, asked.log, asked.names, asked.missing, asked.too_many)
    chart = draw([_xy(curve, axis) for curve in curves], axis, asked.log)
    rows = _rows(asked, curves)
    context = {
        "asked": asked,
        "rows": rows,
        "chart": chart,
        "lines": _lines(chart, rows),
        "better": best_is(asked.metric),
        "axes": [(name, label, asked.url(x=name), name == axis) for name, label in AXES.items()],
        "scales": [("", "Linear", asked.url(scale=""), not asked.log), ("log", "Log", asked.url(scale="log"), asked.log)],
        "settings": differing(asked.jobs) if len(asked.jobs) > 1 else [],
        "offered": queries.comparable(person(request), asked.jobs) if len(asked.jobs) < MAX_JOBS else [],
        "here": asked.url(),
        "values_query": urlencode({"jobs": ",".join(str(job.pk) for job in asked.jobs), "metric": asked.metric}),
        "topics": " ".join(str(job.pk) for job in asked.jobs),
        "paced": " ".join(
            f"{name}:{job.pk}" for job in asked.jobs if not job.finished for name in ("metrics-changed", "job-changed")
        ),
        "most": MAX_JOBS,
    }  # fmt: skip
    return render(request, "jobs/compare/index.html", context, fragment="jobs/compare/_comparison.html")


def _asked(request: HttpRequest) -> Asked:
    ids, wrong = queries.parse_ids([*request.GET.getlist("jobs"), *request.GET.getlist("add")])
    jobs = queries.visible_jobs(person(request), ids[:MAX_JOBS])
    missing = len(ids[:MAX_JOBS]) - len(jobs) + len(wrong)
    if (ids or wrong) and not jobs:
        raise Http404
    names = queries.names_of(jobs) if jobs else []
    metric = request.GET.get("metric", "").strip()
    metric = metric if metric in dict(names) else queries.usual_metric(names)
    axis = request.GET.get("x", "")
    return Asked(
        jobs,
        metric,
        axis if axis in AXES else "",
        request.GET.get("scale") == "log",
        names,
        missing,
        max(len(ids) - MAX_JOBS, 0),
    )


def _xy(curve: Curve, axis: str) -> list[tuple[float, float]]:
    if axis == STEP:
        # A run that went back to an earlier step draws over what it did before.
        return sorted((float(p.step), p.value) for p in curve.points if p.step is not None)
    begin = curve.began if axis == RELATIVE else 0.0
    return [(p.at - begin, p.value) for p in curve.points]


def _lines(chart: Chart | None, rows: Sequence[Row]) -> list[tuple[Row, Any]]:
    """The lines to draw with their rows, the first job's last so that it lies on top."""
    return [(row, line) for row, line in zip(rows, chart.lines, strict=True) if line.path][::-1] if chart else []


def _rows(asked: Asked, curves: Sequence[Curve]) -> list[Row]:
    better = best_is(asked.metric)
    found = curves or [Curve(job) for job in asked.jobs]
    bests = [_best(curve, better) for curve in found]
    known = [value for value in bests if value is not None]
    winner = (min(known) if better == "low" else max(known)) if better and len(known) > 1 else None
    rows = []
    for index, (curve, best) in enumerate(zip(found, bests, strict=True)):
        series = curve.series
        others = [job.pk for job in asked.jobs if job.pk != curve.job.pk]
        rows.append(
            Row(
                index, curve, number(series.last) if series else "—", _where(asked, curve, series.last_step, series.last_at.timestamp()) if series else "",
                *_said(asked, curve, curve.lowest, series.lowest if series else None),
                *_said(asked, curve, curve.highest, series.highest if series else None),
                best is not None and best == winner, _remark(asked, curve), asked.url(jobs=others) if others else "",
            )
        )  # fmt: skip
    return rows


def _said(asked: Asked, curve: Curve, extreme: Extreme | None, exact: float | None) -> tuple[str, str]:
    """A value and where it was; the exact one may have been thinned away, then where is not known."""
    if exact is None:
        return "—", ""
    there = extreme is not None and math.isclose(extreme.value, exact, rel_tol=1e-12)
    return number(exact), _where(asked, curve, extreme.step, extreme.at) if there and extreme else ""


def _where(asked: Asked, curve: Curve, step: int | None, at: float) -> str:
    if asked.axis == STEP and step is not None:
        return f"step {step:,}"
    return f"after {duration(at - curve.began)}"


def _best(curve: Curve, better: str) -> float | None:
    if curve.series is None or not better:
        return None
    return curve.series.lowest if better == "low" else curve.series.highest


def _remark(asked: Asked, curve: Curve) -> str:
    if curve.series is None:
        return f"reports no {asked.metric}" if asked.metric else "reports no metrics"
    if asked.axis == STEP and not curve.has_steps:
        return "reports no steps: see it by time"
    return ""


def compare_url(ids: Sequence[uuid.UUID]) -> str:
    """Return the address of a comparison of jobs."""
    return f"{reverse('compare')}?{urlencode({'jobs': ','.join(str(job_id) for job_id in ids)})}"
