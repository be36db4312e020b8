"""The shell around log capture: which containers to follow, and what their archives hold as rows, events and metric samples."""

import logging
import shutil
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.utils import timezone

from jobs.logs.captures import Captures, Container, LogProgress
from jobs.logs.progress import Sample
from jobs.metrics.percent import percent_of
from jobs.metrics.progress import note_progress
from jobs.metrics.store import Point, keep_points
from jobs.models import LogStream, MirrorObject, TrainJob
from jobs.reconcile.doorbell import ring
from jobs.state.view import View
from trainui.cluster import kinds
from trainui.cluster.connection import connect
from trainui.database import borrowed_connection
from trainui.events.changes import Change, publish

log = logging.getLogger(__name__)
REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
BEHIND_RANKS = 1_000_000  # order of logs without a rank: initializers and helpers come after the ranks


class LogRows:
    """Listener of `Captures`: keeps the rows of logs, and rings the event stream.

    leads: asked inside each transaction whether this process still leads the watch: one that was paused must not write what it knew over
    what the next leader wrote (archives have a lock of their own).
    """

    def __init__(self, leads: Callable[[], bool] = lambda: True) -> None:
        self._leads = leads
        self._rows: dict[Container, int] = {}
        self._projects: dict[str, str] = {}
        self._lock = threading.Lock()

    @borrowed_connection()
    def progress(self, container: Container, progress: LogProgress) -> None:
        """Write how much of a log is archived, and tell open pages."""
        self._write(container, progress, {})

    @borrowed_connection()
    def finished(self, container: Container, progress: LogProgress, reason: str) -> None:
        """Note that a log is complete; a reason other than `ended` is shown with it."""
        problems = {
            "gone": "The pod went away before its log was read to the end.",
            "replaced": "A later attempt began before this log was read to the end.",
        }
        if not self._write(container, progress, {"complete": True, "problem": problems.get(reason, "")}):
            shutil.rmtree(
                Path(settings.LOGS_DIR) / container.job_id, ignore_errors=True
            )  # its record was deleted meanwhile

    @borrowed_connection()
    def samples(self, container: Container, samples: list[Sample]) -> None:
        """Keep metrics that were printed, unless the program reports them itself, or another rank prints the same."""
        row = self._row(container)
        if row is None:
            return
        job = TrainJob.objects.select_related("detail").get(pk=container.job_id)
        if job.detail.trainer_status is not None or not _speaks_for_job(row):
            return
        with transaction.atomic():
            if not self._leads():
                return
            keep_points(job.pk, [Point(s.name, _time(s.stamp), s.value, s.step) for s in samples])
            percent = percent_of((s.name, s.value, s.step) for s in samples)
            if percent is not None:
                note_progress(job.pk, percent, None, _time(samples[-1].stamp))
        publish(Change("metrics-changed", str(job.project_id), str(job.pk)))

    def _write(self, container: Container, progress: LogProgress, more: dict[str, Any]) -> bool:
        """Bring the row of a log up to date, if that is still ours to do; False when the job's record is gone."""
        row = self._row(container)
        if row is None:
            return False
        stamps = (
            {"first_at": _time(progress.first_stamp), "last_at": _time(progress.last_stamp)} if progress.lines else {}
        )
        speaks_again = bool(getattr(row, "stalled", None)) and progress.lines > row.lines
        with transaction.atomic():
            if not self._leads():
                return True
            LogStream.objects.filter(pk=row.pk).update(bytes=progress.bytes, lines=progress.lines, **stamps, **more)
            if speaks_again:
                TrainJob.objects.filter(pk=container.job_id).update(due_at=timezone.now())
        if speaks_again:
            ring(row.job_id)  # it gives a sign of life again
        publish(
            Change(
                "log-appended",
                self._project(container.job_id),
                container.job_id,
                {"stream": row.pk, "lines": progress.lines, **({"complete": True} if more else {})},
            )
        )
        return True

    def _row(self, container: Container) -> LogStream | None:
        """Return the row of a log; None when the job's record is gone."""
        with self._lock:
            known = self._rows.get(container)
        if known is not None:
            return LogStream.objects.annotate(stalled=F("job__stalled_since")).filter(pk=known).first()
        if not TrainJob.objects.filter(pk=container.job_id).exists():
            return None
        pod = (
            MirrorObject.objects.filter(kind=kinds.POD.key, uid=container.pod_uid).values_list("raw", flat=True).first()
            or {}
        )
        with transaction.atomic():
            row, _ = LogStream.objects.get_or_create(
                pod_uid=container.pod_uid, container=container.name, restart=container.attempt,
                defaults={"job_id": container.job_id, "pod": container.pod, "folder": container.folder, **_place(pod, container)},
            )  # fmt: skip
        with self._lock:
            self._rows[container] = row.pk
        return row

    def _project(self, job_id: str) -> str:
        if job_id not in self._projects:
            self._projects[job_id] = str(TrainJob.objects.values_list("project_id", flat=True).get(pk=job_id))
        return self._projects[job_id]


def start_captures(leads: Callable[[], bool]) -> Captures:
    """Return the followers of this process; feed them with `follow`. leads: whether it still leads the watch."""

    def open_log(namespace: str, pod: str, container: str, since_time: str | None, *, previous: bool) -> Any:
        return connect(settings.KUBECONFIG).logs(namespace, pod, container, since_time, previous=previous)

    return Captures(Path(settings.LOGS_DIR), open_log, LogRows(leads), settings.LOG_MAX_BYTES)


def follow(captures: Captures, job_ids: set[uuid.UUID]) -> None:
    """Tell the followers which pods these jobs have now."""
    for job_id in job_ids:
        pods = MirrorObject.objects.filter(kind=kinds.POD.key, job_id=job_id).values_list("raw", flat=True)
        captures.update(str(job_id), list(pods))


def follow_all(captures: Captures) -> None:
    """Take up the logs of every job with pods or open logs, after a start."""
    with_pods = set(MirrorObject.objects.filter(kind=kinds.POD.key, job__isnull=False).values_list("job_id", flat=True))
    open_logs = set(LogStream.objects.filter(complete=False).values_list("job_id", flat=True))
    try:
        follow(captures, with_pods | open_logs)
    except DatabaseError:
        log.exception("could not take up all logs; the next change of a pod does")


def _place(pod: dict[str, Any], container: Container) -> dict[str, Any]:
    """Return which rank a container is, and its order among the logs of its job."""
    metadata = pod.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    index = annotations.get(COMPLETION_INDEX, labels.get(COMPLETION_INDEX, ""))
    main = container.name == "node"
    job = TrainJob.objects.select_related("detail").get(pk=container.job_id)
    rank = _rank(job, pod) if main else None
    number = int(index) if str(index).isdigit() else 0
    return {
        "replicated_job": labels.get(REPLICATED_JOB, ""),
        "attempt": int(labels.get(RESTART_ATTEMPT, "0") or 0),
        "rank": rank,
        "order": rank if rank is not None else BEHIND_RANKS + number,
    }


def _rank(job: TrainJob, pod: dict[str, Any]) -> int | None:
    """Return the rank of a pod by what was built (which is stored before any pod is there): the state may not have seen it yet."""
    record = {"name": job.name, "namespace": job.namespace, "expected": job.detail.expected.get("replicated_jobs", [])}
    view = View({"record": record, "pods": [pod]}, timezone.now())
    return next((slot.rank for slot in view.slots if slot.pod is not None), None)


def _speaks_for_job(row: LogStream) -> bool:
    """Whether metrics in this log are the job's: those of rank 0, or of a launcher."""
    return row.rank in (0, None)


def _time(stamp: int) -> datetime:
    return datetime.fromtimestamp(stamp / 1e9, tz=UTC)
