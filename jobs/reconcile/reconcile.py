"""One pass over one TrainJob, under its lease: intent into the cluster, children as built, state into the row. Level-triggered and idempotent."""

import logging
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, DateTimeField, F, Value, When
from django.utils import timezone

from jobs import builders
from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile import children, queueing, retire
from jobs.reconcile.adopt import row_of_trainjob
from jobs.reconcile.carry_out import Blocked, Refused, carry_out
from jobs.reconcile.desired import NotYet, desired
from jobs.reconcile.doorbell import ring
from jobs.reconcile.kube_events import creation_failed
from jobs.reconcile.lease import LeaseLost, guarded, job_lease
from jobs.reconcile.marks import submission_of
from jobs.reconcile.masking import mask
from jobs.reconcile.mirror import Mirror, events_of
from jobs.reconcile.outcome import columns, observed, status_patch
from jobs.reconcile.push import NameTaken, find_own, push
from jobs.reconcile.stalled import stalled_since
from jobs.state import phases
from jobs.state.model import JobState
from runtimes.spec.findings import Finding
from runtimes.spec.kinds import ANNOTATION_NUM_NODES, MULTIKUEUE
from trainui.claimed import claimed
from trainui.cluster import kinds
from trainui.cluster.client import Cluster, Object
from trainui.cluster.errors import ClusterError, Conflict, Invalid, NotFound
from trainui.events.changes import Change, publish

log = logging.getLogger(__name__)
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 60.0
UNSEEN_SECONDS = 5.0  # how long watch may take to show what was created
OURS_TO_END = ("DeadlineExceeded", "Refused")  # reasons of Failed that no JobSet has told: its pods may still run


@dataclass
class Pass:
    """One pass: what it knows and what it found out."""

    job: TrainJob
    token: uuid.UUID
    now: datetime
    mirror: Mirror
    cluster: Cluster | None = None
    trainjob: Object | None = None
    workloads: list[Object] | None = None  # Kueue's; None for a job that it does not manage
    findings: list[Finding] = field(default_factory=list)
    trouble: str = ""  # a failure that may pass, said to the user and tried again
    recheck_at: datetime | None = None
    namesake: Object | None = None  # the TrainJob that has the name which this job was to get
    detail: dict[str, Any] = field(default_factory=dict)  # columns of the detail row to write

    @property
    def name(self) -> str:
        return self.job.name

    def look_again(self, at: datetime | None) -> None:
        """Remember the earliest time at which to look again."""
        if at is not None and (self.recheck_at is None or at < self.recheck_at):
            self.recheck_at = at


def reconcile_job(job_id: uuid.UUID | str) -> None:
    """Bring one job forward as far as it goes now. Does nothing while another worker holds its lease."""
    with job_lease(job_id) as token:
        if token is None:
            return
        job = TrainJob.objects.select_related("detail", "project", "cancel_requested_by", "suspended_by").get(pk=job_id)
        seen_due = job.due_at
        this = Pass(job, token, timezone.now(), Mirror.of(job))
        try:
            _forward(this)
        except LeaseLost:  # nothing is made of what may be long over
            return
        except ClusterError as error:
            _postpone(this, error)
        gone = _write(this, seen_due)
    if this.namesake is not None and (other := row_of_trainjob(this.namesake)):
        ring(other)  # watch left it without a row while our submission held the name
    if not gone and TrainJob.objects.filter(pk=job_id, due_at__lte=timezone.now()).exists():
        ring(job.pk)  # something changed while we worked and its ring found our lease


def _forward(this: Pass) -> None:
    job = this.job
    if job.finished and not job.live:
        return
    if job.uid is None and not _bring_in(this):
        return
    mirrored = this.mirror.one(kinds.TRAIN_JOB, job.name)
    this.trainjob = this.trainjob or mirrored
    if not _is_own(this, this.trainjob):
        this.trainjob = _read(this)
    if this.trainjob is None or not _is_own(this, this.trainjob):
        return
    if not _is_own(this, mirrored):
        _look_while_unseen(this)
    if this.trainjob["metadata"].get("deletionTimestamp"):
        return
    if job.cancel_requested_at:
        _delete(this)
        return
    queueing.read_workloads(this)
    _apply_suspend(this)
    _apply_children(this)


def _is_own(this: Pass, trainjob: Object | None) -> bool:
    return trainjob is not None and trainjob["metadata"]["uid"] == this.job.uid


def _look_while_unseen(this: Pass) -> None:
    """Come back for a TrainJob that watch has not shown: one that went before watch could see it would never be told of."""
    asked = [at for at in (this.job.pushed_at, this.job.cancel_requested_at) if at is not None]
    _come_back(this, max(asked, default=this.now), UNSEEN_SECONDS)


def _come_back(this: Pass, since: datetime, first: float) -> None:
    """Look again after some seconds at first, later the longer it lasts."""
    least, most = timedelta(seconds=first), timedelta(seconds=LAST_RETRY_SECONDS)
    this.look_again(this.now + min(most, max(least, (this.now - since) / 4)))


def _bring_in(this: Pass) -> bool:
    """See to it that the TrainJob is in the cluster; False when it never will be, or was withdrawn."""
    job = this.job
    if job.finished:
        return False
    if job.cancel_requested_at and not job.attempts:
        return False
    this.cluster = claimed()
    try:
        # Watch may have seen what a lost answer left in the cluster, even if it ended and went since.
        found = _mirrored_own(this) or (find_own(this.cluster, job) if job.cancel_requested_at else None)
        if found is not None:
            job.uid = found["metadata"]["uid"]
            guarded(job.pk, this.token, uid=job.uid)
            this.trainjob = found
        elif job.cancel_requested_at:
            return False
        else:
            this.trainjob = push(this.cluster, job, this.token, this.now)
    except NameTaken as error:
        if job.cancel_requested_at:
            return False
        this.findings = [
            Finding("metadata.name", "name_taken", f"{error}: choose another name, or delete that one first.")
        ]
        this.namesake = error.namesake
        return False
    except Invalid as error:
        this.findings = _findings(error)
        return False
    return True


def _mirrored_own(this: Pass) -> Object | None:
    mirrored = this.mirror.one(kinds.TRAIN_JOB, this.job.name)
    return mirrored if mirrored is not None and submission_of(mirrored) == str(this.job.pk) else None


def _read(this: Pass) -> Object | None:
    this.cluster = this.cluster or claimed()
    try:
        return this.cluster.get(kinds.TRAIN_JOB, this.job.namespace, this.job.name)
    except NotFound:
        return None


def _delete(this: Pass) -> None:
    this.cluster = this.cluster or claimed()
    try:
        this.cluster.delete(kinds.TRAIN_JOB, this.job.namespace, this.name, propagation="Foreground", uid=this.job.uid)
    except (NotFound, Conflict):  # gone, or another one has the name by now
        this.trainjob = None
        return
    this.trainjob = _read(this)


def _apply_suspend(this: Pass) -> None:
    assert this.trainjob is not None
    wanted, here = this.job.desired_suspend, TrainJob.objects.filter(pk=this.job.pk, lease_token=this.token)
    if wanted is None:
        resumed = this.job.phase == phases.RUNNING and not queueing.is_held(this)  # from outside
        if this.job.suspended_by_id and resumed:
            here.filter(desired_suspend=None).update(suspended_by=None)
        return
    if this.workloads is not None and not this.job.finished:
        if not queueing.hold(this, wanted):
            return
    elif not this.job.finished and not _patch_suspend(this, wanted):
        return
    # Services write this column; it is taken back only while it still says what was just done.
    here.filter(desired_suspend=wanted).update(desired_suspend=None)


def _patch_suspend(this: Pass, wanted: bool) -> bool:
    """Set the one field; False when the job has left the cluster.

    The mirror is not asked: another job may have the name by now, and what we patched a moment ago it has not seen.
    """
    this.trainjob = live = _read(this)
    if live is None or live["metadata"]["uid"] != this.job.uid:
        return False
    if bool(live["spec"].get("suspend")) != wanted:
        patch = {"metadata": {"resourceVersion": live["metadata"]["resourceVersion"]}, "spec": {"suspend": wanted}}
        assert this.cluster is not None
        this.trainjob = this.cluster.merge_patch(kinds.TRAIN_JOB, this.job.namespace, this.name, patch)
    return True


def _apply_children(this: Pass) -> None:
    assert this.trainjob is not None
    over = this.job.finished or _terminal(this.trainjob)
    try:
        built = [] if over else _build(this)
    except NotYet as wait:
        this.trouble = str(wait)
        this.look_again(this.now + timedelta(seconds=10))
        return
    except builders.BuildError as error:
        this.findings = error.findings
        return
    applied, uid = this.job.detail.applied, this.trainjob["metadata"]["uid"]
    todo = children.plan(built, this.mirror, applied, uid, this.now, stop=over and _ended_by_us(this.trainjob))
    this.look_again(todo.recheck_at)
    if todo.empty:
        this.detail["applied"] = todo.applied
    else:
        _carry_out(this, todo)


def _build(this: Pass) -> list[Object]:
    assert this.trainjob is not None
    trainjob, resized = _as_started(this, this.trainjob)
    wanted = desired(
        this.job, trainjob, this.token, have_keys=children.has_keys(this.mirror, this.job.detail.applied, this.now)
    )
    expected = {"replicated_jobs": wanted.expected, "gang": wanted.gang, "resized": resized}
    this.detail["expected"] = expected | {"demand": queueing.demand_of(this, wanted)}
    this.detail["objects_built"] = [mask(obj) for obj in wanted.objects]
    if (
        this.detail["expected"] != this.job.detail.expected
    ):  # known before there is a pod: log capture asks whose rank it is
        details = TrainJobDetail.objects.filter(pk=this.job.pk, job__lease_token=this.token)
        details.update(expected=this.detail["expected"])
    return wanted.objects


def _as_started(this: Pass, trainjob: Object) -> tuple[Object, str]:
    """Return the TrainJob with the number of nodes that its running JobSet has, and that number: resizing waits for the next start."""
    annotations = trainjob["metadata"].get("annotations") or {}
    jobset, before = this.mirror.one(kinds.JOB_SET, this.name), this.job.detail.expected.get("resized")
    asked = str(annotations.get(ANNOTATION_NUM_NODES, ""))
    if before is None or before == asked or jobset is None or jobset["spec"].get("suspend"):
        return trainjob, asked
    kept = annotations | {ANNOTATION_NUM_NODES: before} if before else {**annotations}
    if not before:
        kept.pop(ANNOTATION_NUM_NODES)
    return trainjob | {"metadata": trainjob["metadata"] | {"annotations": kept}}, before


def _carry_out(this: Pass, todo: children.Plan) -> None:
    live = _read(this)  # a stale mirror must not run a finished or deleted job again
    this.trainjob = live
    if (
        live is None
        or live["metadata"]["uid"] != this.job.uid
        or live["metadata"].get("deletionTimestamp")
        or (todo.apply and _terminal(live))
    ):
        return
    assert this.cluster is not None
    try:
        done = carry_out(this.cluster, todo, live["metadata"]["uid"], this.now)
    except Refused as refusal:
        this.findings = _findings(refusal.error)
    except (Blocked, ClusterError) as error:
        if isinstance(error, ClusterError) and error.retryable:
            raise
        _note_trouble(this, str(error))
        creation_failed(this.cluster, live, this.trouble)
    else:
        this.detail["applied"] = done.applied
        if done.again:
            this.look_again(this.now + timedelta(seconds=FIRST_RETRY_SECONDS))
        if done.kept:
            creation_failed(this.cluster, live, done.kept)


def _findings(error: Invalid) -> list[Finding]:
    """Return what the API server holds against an object, at its fields."""
    found = [
        Finding(str(c.get("field", "")), str(c.get("reason", "invalid")), str(c.get("message", error.message)))
        for c in error.causes
    ]
    return found or [Finding("", "refused", error.message)]


def _ended_by_us(trainjob: Object) -> bool:
    conditions = (trainjob.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Failed" and c["status"] == "True" and c.get("reason") in OURS_TO_END for c in conditions)


def _terminal(trainjob: Object) -> bool:
    conditions = (trainjob.get("status") or {}).get("conditions") or []
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def _postpone(this: Pass, error: ClusterError) -> None:
    """Note a failed call for the user and come back later."""
    log.warning("job %s: %s", this.job, error)
    attempts = _note(this, str(error), answered=error.refused)
    pause = timedelta(seconds=error.retry_after) if error.retry_after else _pause(attempts)
    this.look_again(this.now + pause)


def _note_trouble(this: Pass, text: str) -> None:
    """Note what keeps the children from being made, and come back: at once at first, later the longer it lasts."""
    _note(this, text)
    _come_back(this, datetime.fromisoformat(this.detail["push_error"]["since"]), FIRST_RETRY_SECONDS)


def _note(this: Pass, text: str, answered: bool = True) -> int:
    """Remember the last failure, since when it lasts and how often it was met; return how often. answered: the API server said no."""
    before = this.job.detail.push_error or {}
    now, attempts = this.now.isoformat(), int(before.get("attempts", 0)) + 1
    note = {"time": now, "attempts": attempts, "text": text, "answered": answered}
    this.detail["push_error"] = note | {"since": before.get("since", now)}
    this.trouble = text
    return attempts


def _pause(attempts: int) -> timedelta:
    return timedelta(seconds=min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(max(attempts - 1, 0), 8)))


def _write(this: Pass, seen_due: datetime | None) -> bool:
    """Observe, write conditions to the cluster and derived columns to the row; True when the row itself was removed."""
    job = this.job
    if not this.trouble and job.detail.push_error:
        this.detail["push_error"] = None
    state = observed(this, events_of(job))
    if this.trainjob is not None and this.trainjob["metadata"]["uid"] == job.uid:
        _write_status(this, state)
    gone = state.finished and (this.trainjob is None or this.trainjob["metadata"]["uid"] != job.uid)
    if gone and job.delete_requested_at:
        if not guarded(job.pk, this.token, due_at=F("due_at")):
            return False
        retire.purge(job, state.phase)
        _publish(this, state)
        return True
    derived = columns(this, state, live=not gone) | {"stalled_since": stalled_since(this, state)}
    recheck = _earliest(state.recheck_at, this.recheck_at)
    # A change that came while we worked has moved `due_at`: it stays due.
    unmoved = {"due_at": seen_due} if seen_due else {"due_at__isnull": True}
    due = Case(When(**unmoved, then=Value(recheck, output_field=DateTimeField())), default=F("due_at"))
    this.detail["state"] = state.as_dict() | queueing.place(this)
    with transaction.atomic():
        ours = guarded(job.pk, this.token, due_at=due, **derived)
        if ours:
            TrainJobDetail.objects.filter(pk=job.pk).update(**this.detail)
    if ours:
        if gone or state.finished:
            retire.release(job)
        if (
            any(getattr(job, name) != value for name, value in derived.items() if name != "reconciled_at")
            or this.job.detail.state != this.detail["state"]
        ):
            _publish(this, state)
    return False


def _write_status(this: Pass, state: JobState) -> None:
    assert this.trainjob is not None
    patch = status_patch(this.trainjob, state, this.job.detail.trainer_status)
    elsewhere = this.trainjob["spec"].get("managedBy") == MULTIKUEUE
    if patch is None or elsewhere or this.trainjob["metadata"].get("deletionTimestamp"):
        return
    # A stale mirror must not write onto a newer state, or onto another job of that name.
    patch["metadata"] = {"resourceVersion": this.trainjob["metadata"]["resourceVersion"]}
    try:
        this.cluster = this.cluster or claimed()
        this.cluster.merge_patch(kinds.TRAIN_JOB, this.job.namespace, this.name, patch, subresource="status")
    except NotFound:
        return
    except Conflict:
        this.look_again(this.now + timedelta(seconds=FIRST_RETRY_SECONDS))
    except ClusterError as error:
        _postpone(this, error)


def _publish(this: Pass, state: JobState) -> None:
    data = {"phase": state.phase, "name": this.job.name}
    publish(Change("job-changed", str(this.job.project_id), str(this.job.pk), data))


def _earliest(text: str | None, other: datetime | None) -> datetime | None:
    at = datetime.fromisoformat(text) if text else None
    return min((t for t in (at, other) if t is not None), default=None)
