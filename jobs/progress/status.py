"""Kubeflow's progress report (`trainerStatus`): checked as upstream's CRD does, kept as history."""

from datetime import datetime
from math import isfinite
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobs.metrics.progress import note_progress
from jobs.metrics.store import Point, keep_points
from jobs.models import TrainJob, TrainJobDetail
from trainui.events.changes import Change, publish_on_commit

MAX_METRICS = 256
MAX_TEXT = 64
STEPS = ("step", "global_step", "iteration", "iter")  # metrics that say where the others of the same report belong


class StatusRefused(ValueError):
    """A report that upstream's CRD would not take either; the text names the field."""


def record_status(job: TrainJob, body: Any) -> None:
    """Keep one report: the newest as the job's progress, each number of it as a point of its series.

    Raises StatusRefused for values of the wrong form (facts: kubeflow-trainer 1.1, status.trainerStatus); nothing is kept then.
    """
    report = _checked(body)
    if report is None:
        return
    at = _time(report.get("lastUpdatedTime"))
    with transaction.atomic():
        percent, eta = report.get("progressPercentage"), report.get("estimatedRemainingSeconds")
        note_progress(job.pk, percent, eta, at)
        TrainJobDetail.objects.filter(pk=job.pk).update(trainer_status=report)
        TrainJob.objects.filter(pk=job.pk, finished_at__isnull=True).update(due_at=timezone.now())
        keep_points(job.pk, _points(report, at))
        publish_on_commit(Change("metrics-changed", str(job.project_id), str(job.pk), {"percent": percent}))


def _checked(body: Any) -> dict[str, Any] | None:
    if not isinstance(body, dict):
        raise StatusRefused("the body must be an object")
    report = body.get("trainerStatus")
    if report is None:
        return None
    if not isinstance(report, dict):
        raise StatusRefused("trainerStatus must be an object")
    _whole(report, "progressPercentage", 100)
    _whole(report, "estimatedRemainingSeconds", 2**31 - 1)
    metrics = report.get("metrics") or []
    if not isinstance(metrics, list) or len(metrics) > MAX_METRICS:
        raise StatusRefused(f"trainerStatus.metrics must be a list of at most {MAX_METRICS}")
    for index, metric in enumerate(metrics):
        for key in ("name", "value"):
            text = metric.get(key) if isinstance(metric, dict) else None
            if not isinstance(text, str) or not 1 <= len(text) <= MAX_TEXT:
                raise StatusRefused(f"trainerStatus.metrics[{index}].{key} must be text of 1 to {MAX_TEXT} characters")
    return report


def _whole(report: dict[str, Any], name: str, maximum: int) -> None:
    value = report.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum):
        raise StatusRefused(f"trainerStatus.{name} must be a whole number from 0 to {maximum}")


def _time(text: Any) -> datetime:
    if not isinstance(text, str):
        raise StatusRefused("trainerStatus.lastUpdatedTime is required")
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise StatusRefused("trainerStatus.lastUpdatedTime must be an RFC 3339 time") from None
    return at if at.tzinfo else at.replace(tzinfo=timezone.get_default_timezone())


def _points(report: dict[str, Any], at: datetime) -> list[Point]:
    values: dict[str, float] = {}
    for metric in report.get("metrics") or []:
        try:
            value = float(metric["value"])
        except ValueError:  # a text is shown as the newest value, but is no point of a series
            continue
        if isfinite(value):
            values[metric["name"]] = value
    step = next((int(values[n]) for n in STEPS if n in values and 0 <= values[n] < 2**62), None)
    return [Point(name, at, value, step) for name, value in values.items()]
