"""The one door: pages, REST and dry run change jobs only through these functions. They write intent; workers do the rest."""

from jobs.services.actions import bulk, cancel, clone_values, delete, resume, suspend
from jobs.services.submit import DryRun, Submission, dry_run, submit

__all__ = ["DryRun", "Submission", "bulk", "cancel", "clone_values", "delete", "dry_run", "resume", "submit", "suspend"]
