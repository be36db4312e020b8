"""The audit application: who did what, and when."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Registers the application under the label `audit`."""

    name = "trainui.audit"
    label = "audit"
    default_auto_field = "django.db.models.BigAutoField"
