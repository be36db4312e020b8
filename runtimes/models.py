"""The catalog's rows: runtimes in the cluster, and the blueprints that make some of them."""

import uuid

from django.db import models


class Runtime(models.Model):
    """A TrainingRuntime or ClusterTrainingRuntime; with a card and parameters it is a blueprint.

    Writers: the loader writes blueprint columns; watch writes what it observed; sync writes `drifted` and `apply_error`.
    """

    CLUSTER_KIND = "ClusterTrainingRuntime"
    NAMESPACED_KIND = "TrainingRuntime"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=40, default=CLUSTER_KIND)
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=253)
    # blueprint, by the loader
    managed = models.BooleanField(default=False)
    title = models.CharField(max_length=120, blank=True, default="")
    summary = models.CharField(max_length=300, blank=True, default="")
    framework = models.CharField(max_length=63, blank=True, default="")
    position = models.PositiveIntegerField(default=1000)
    card = models.JSONField(default=dict, blank=True)
    parameters = models.JSONField(default=list, blank=True)
    manifest = models.JSONField(null=True, blank=True)
    source = models.TextField(blank=True, default="")  # the blueprint file as it was loaded
    # by watch
    uid = models.CharField(max_length=64, blank=True, default="")
    resource_version = models.CharField(max_length=64, blank=True, default="")
    observed = models.JSONField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    # by sync
    drifted = models.BooleanField(default=False)
    apply_error = models.TextField(blank=True, default="")
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "namespace", "name"], name="runtime_kind_namespace_name")
        ]
        indexes = [models.Index(fields=["position", "name"], name="runtime_order")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def effective(self) -> dict | None:
        """The manifest that a job made now would get: the cluster's, else the one we are about to apply."""
        return self.observed or self.manifest
