"""One row per security-relevant deed; rows are only ever added."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

_WORDS = {
    "project.create": "made the project",
    "project.update": "edited the project",
    "project.delete": "deleted the project",
    "member.add": "added",
    "member.change": "changed the role of",
    "member.remove": "removed",
    "job.submit": "submitted",
    "job.suspend": "suspended",
    "job.resume": "resumed",
    "job.cancel": "cancelled",
    "job.delete": "deleted",
    "job.clone": "submitted as a copy",
    "job.retry": "ran again as",
    "job.keep": "chose to keep",
    "job.release": "chose to keep no longer",
    "job.remove": "removed the record of",
}


class AuditEntry(models.Model):
    """Who did what to which object; it outlives actor, project and object, so their names are copied."""

    at = models.DateTimeField(default=timezone.now, db_index=True, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="audit_entries"
    )
    actor_name = models.CharField(max_length=150, blank=True)
    verb = models.CharField(max_length=60)
    object_kind = models.CharField(max_length=60, blank=True)
    object_name = models.CharField(max_length=260, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    project = models.ForeignKey(
        "accounts.Project", null=True, blank=True, on_delete=models.SET_NULL, related_name="audit_entries"
    )
    project_name = models.CharField(max_length=63, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name_plural = "audit entries"
        indexes: ClassVar = [
            models.Index(fields=["project", "-at"], name="audit_project_at"),
            models.Index(fields=["object_kind", "object_id", "-at"], name="audit_object_at"),
            models.Index(fields=["verb", "-id"], name="audit_verb"),  # the list of removed jobs
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name or '-'} {self.verb} {self.object_name}".strip()

    @property
    def deed(self) -> str:
        """What was done, in words where we have some, else the verb."""
        return _WORDS.get(self.verb, self.verb)
