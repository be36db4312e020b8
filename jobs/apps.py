"""The Django app of TrainJobs."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Loads Celery's app with Django, so that every process rings the same broker."""

    name = "jobs"

    def ready(self) -> None:
        """Load Celery's app: without it a process of its own would ring Celery's default broker."""
        import trainui.celery  # noqa: F401
