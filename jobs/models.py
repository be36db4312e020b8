"""Rows of TrainJobs. Each column has one writer: services (intent), watch (what was observed, `due_at`), reconcile (what follows from both)."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.state import phases


class TrainJob(models.Model):
    """The narrow row that lists read. Heavy documents are in `TrainJobDetail` and `MirrorObject`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("accounts.Project", on_delete=models.PROTECT, related_name="trainjobs")
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=63)
    uid = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001  null is "the cluster never showed it"
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="trainjobs"
    )
    runtime_kind = models.CharField(max_length=40)
    runtime_name = models.CharField(max_length=253)
    created_at = models.DateTimeField()
    live = models.BooleanField(default=True)  # False once it can no longer be in the cluster under this name

    # intent, by services
    submission_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001  null is "none", which is not unique
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    desired_suspend = models.BooleanField(null=True, blank=True)  # null: as the cluster has it
    suspended_by = models.ForeignKey(  # who asked last that it waits, until somebody or something resumes it
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    cancel_reason = models.CharField(max_length=300, blank=True, default="")
    delete_requested_at = models.DateTimeField(null=True, blank=True)
    kept = models.BooleanField(default=False)  # retention passes it by
    origin = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="successors")
    origin_relation = models.CharField(max_length=10, blank=True, default="")  # RETRY or CLONE of `jobs.state.phases`
    origin_name = models.CharField(max_length=63, blank=True, default="")  # outlives the origin

    # by services and watch: when somebody should look (null: nobody)
    due_at = models.DateTimeField(null=True, blank=True)
    # by watch
    observed_at = models.DateTimeField(null=True, blank=True)

    # lease of reconcile
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    lease_holder = models.CharField(
        max_length=200, blank=True, default=""
    )  # the process, so that it is seen when it is gone

    # by reconcile, guarded by the lease
    pushed_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    phase = models.CharField(max_length=20, default=phases.CREATING)
    code = models.CharField(max_length=40, default="AwaitingCluster")
    tone = models.CharField(max_length=10, default="neutral")
    sentence = models.TextField(blank=True, default="")
    since = models.DateTimeField(null=True, blank=True)
    nodes_expected = models.PositiveIntegerField(default=0)
    nodes_ready = models.PositiveIntegerField(default=0)
    scheduled_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    stalled_since = models.DateTimeField(null=True, blank=True)  # its last sign of life, once that is too long ago
    reconciled_at = models.DateTimeField(null=True, blank=True)
    port = models.PositiveIntegerField(
        null=True, blank=True
    )  # rendezvous port leased to the job where pod names do not resolve

    # by the progress endpoint, or by log capture for programs that only print
    progress_percent = models.PositiveSmallIntegerField(null=True, blank=True)
    eta_seconds = models.PositiveIntegerField(null=True, blank=True)
    eta_estimated = models.BooleanField(default=False)  # ours, because the program gave none
    progress_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["namespace", "name"], condition=Q(live=True), name="trainjob_live_name"),
            models.UniqueConstraint(fields=["owner", "submission_key"], name="trainjob_submission_key"),
            models.UniqueConstraint(fields=["uid"], name="trainjob_uid"),
            models.UniqueConstraint(fields=["port"], condition=Q(port__isnull=False), name="trainjob_port"),
        ]
        indexes = [
            models.Index(fields=["project", "-created_at", "-id"], name="trainjob_project_list"),
            models.Index(fields=["project", "phase", "-created_at", "-id"], name="trainjob_phase_list"),
            models.Index(fields=["-created_at", "-id"], name="trainjob_list"),
            models.Index(fields=["phase", "-created_at", "-id"], name="trainjob_phase"),  # admins see all projects
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="trainjob_due"),
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="trainjob_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        """Whether the phase is one that a job never leaves."""
        return self.phase in phases.FINISHED


class TrainJobDetail(models.Model):
    """Heavy documents of one TrainJob, read by its page only."""

    job = models.OneToOneField(TrainJob, on_delete=models.CASCADE, primary_key=True, related_name="detail")
    manifest = models.JSONField()  # the TrainJob as submitted (or first seen), by services or watch
    runtime = models.JSONField(null=True, blank=True)  # its own copy of the runtime, by services or the first reconcile
    blueprint = models.CharField(max_length=253, blank=True, default="")
    parameters = models.JSONField(default=dict, blank=True)  # values of the form, for clone
    # by reconcile: children as last built (values of Secrets left out), what observe counts against, and what was applied
    objects_built = models.JSONField(default=list, blank=True)
    expected = models.JSONField(default=dict, blank=True)  # {replicated_jobs, gang}
    applied = models.JSONField(default=dict, blank=True)  # {kind/name: {hash, version, at, seen}}
    state = models.JSONField(default=dict, blank=True)  # JobState as JSON
    trainer_status = models.JSONField(
        null=True, blank=True
    )  # Kubeflow's trainerStatus as last reported, by the progress endpoint
    progress_history = models.JSONField(
        default=list, blank=True
    )  # [[epoch seconds, percent]], by whoever writes progress
    push_error = models.JSONField(null=True, blank=True)  # {at, attempts, message}

    def __str__(self) -> str:
        return str(self.job_id)


class MirrorObject(models.Model):
    """An object of the cluster as watch saw it last; `job` links it to the TrainJob it belongs to."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=100)  # group/Kind, e.g. `batch/Job`, `/Pod`
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    resource_version = models.CharField(max_length=64)
    job = models.ForeignKey(TrainJob, on_delete=models.SET_NULL, null=True, blank=True, related_name="mirror")
    raw = models.JSONField()
    # Of a pod that has a machine and is not over: which, and what it holds of it (resource -> quantity).
    machine = models.CharField(max_length=253, blank=True, default="")
    holds = models.JSONField(default=dict)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "namespace", "name"], name="mirror_kind_namespace_name")]
        indexes = [
            models.Index(fields=["uid"], name="mirror_uid"),  # of events, which name their object by it
            models.Index(fields=["machine"], name="mirror_machine", condition=~models.Q(machine="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class JobEvent(models.Model):
    """A Kubernetes Event kept beyond the hour that the cluster keeps it, or an entry of our own."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(TrainJob, on_delete=models.CASCADE, related_name="events")
    uid = models.CharField(max_length=64, unique=True)
    type = models.CharField(max_length=10)
    reason = models.CharField(max_length=128)
    message = models.TextField()
    object_kind = models.CharField(max_length=63)
    object_name = models.CharField(max_length=253)
    object_uid = models.CharField(max_length=64, blank=True, default="")
    source = models.CharField(max_length=128, blank=True, default="")
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    raw = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["job", "-last_at", "-id"], name="jobevent_list")]

    def __str__(self) -> str:
        return f"{self.reason} {self.object_kind}/{self.object_name}"


class MetricSample(models.Model):
    """One value of one metric at one time, as training code reported it."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(TrainJob, on_delete=models.CASCADE, related_name="metrics")
    name = models.CharField(max_length=64)
    at = models.DateTimeField()
    step = models.BigIntegerField(null=True, blank=True)
    value = models.FloatField()

    class Meta:
        indexes = [models.Index(fields=["job", "name", "at", "id"], name="metric_series")]

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class MetricSeries(models.Model):
    """One metric of one job in short: exact numbers, also where samples were left out or thinned. By `jobs.metrics.store`."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(TrainJob, on_delete=models.CASCADE, related_name="series")
    name = models.CharField(max_length=64)
    seen = models.BigIntegerField(default=0)  # values that were reported
    kept = models.PositiveIntegerField(default=0)  # samples that are stored
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    last_step = models.BigIntegerField(null=True, blank=True)
    last = models.FloatField()
    lowest = models.FloatField()
    highest = models.FloatField()
    sampled_at = models.DateTimeField()  # of the newest sample that is stored

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="metricseries_name")]

    def __str__(self) -> str:
        return f"{self.name}={self.last}"


class LogStream(models.Model):
    """The archived log of one container of one pod; the bytes are in the archive's folder."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(TrainJob, on_delete=models.CASCADE, related_name="logs")
    pod = models.CharField(max_length=253)
    pod_uid = models.CharField(max_length=64)
    container = models.CharField(max_length=63)
    attempt = models.PositiveIntegerField(default=0)  # JobSet restart attempt
    restart = models.PositiveIntegerField(default=0)  # container restart count
    replicated_job = models.CharField(max_length=253, blank=True, default="")
    rank = models.PositiveIntegerField(null=True, blank=True)
    order = models.PositiveIntegerField(default=0)
    folder = models.CharField(max_length=500)  # relative to LOGS_DIR
    bytes = models.BigIntegerField(default=0)
    lines = models.BigIntegerField(default=0)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    complete = models.BooleanField(default=False)
    problem = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pod_uid", "container", "restart"], name="logstream_container")]
        indexes = [models.Index(fields=["job", "order"], name="logstream_order")]

    def __str__(self) -> str:
        return f"{self.pod}/{self.container}"


class Artifact(models.Model):
    """A file that a job handed over to keep; the bytes are in ARTIFACTS_DIR."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(TrainJob, on_delete=models.CASCADE, related_name="artifacts")
    name = models.CharField(max_length=200)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    path = models.CharField(max_length=500)  # relative to ARTIFACTS_DIR
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="artifact_name")]

    def __str__(self) -> str:
        return self.name


class Lease(models.Model):
    """Who leads a task that only one process may do (watch); the token fences off a leader that was replaced."""

    name = models.CharField(max_length=63, primary_key=True)
    holder = models.CharField(max_length=200, blank=True, default="")
    token = models.UUIDField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


CLAIM = "claim"  # a row of WatchState: its problem says who else reconciles this cluster


class WatchState(models.Model):
    """How far the mirror is, per kind: pages show the age of what they display."""

    kind = models.CharField(max_length=100, primary_key=True)
    version = models.CharField(max_length=30, blank=True, default="")  # of the API, as the cluster serves it
    resource_version = models.CharField(max_length=64, blank=True, default="")
    listed_at = models.DateTimeField(null=True, blank=True)
    alive_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=500, blank=True, default="")

    def __str__(self) -> str:
        return self.kind


class ClusterSurvey(models.Model):
    """What the cluster has, as the survey found it last: one row. Pages read this, never the cluster."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    facts = models.JSONField(default=dict)
    at = models.DateTimeField(null=True, blank=True)  # when the facts were found
    problem = models.CharField(max_length=500, blank=True, default="")  # why newer ones could not be

    def __str__(self) -> str:
        return f"survey of {self.at}"
