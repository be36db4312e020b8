"""The one door: pages, REST and dry run change jobs only through these functions. They write intent; workers do the rest."""

from jobs.services.actions import cancel, clone_values, delete, keep, resume, suspend
from jobs.services.again import retry, retry_key
from jobs.services.many import BULK_ACTIONS, BulkResult, bulk
from jobs.services.submit import DryRun, Submission, dry_run, submit

__all__ = [
    "BULK_ACTIONS",
    "BulkResult",
    "DryRun",
    "Submission",
    "bulk",
    "cancel",
    "clone_values",
    "delete",
    "dry_run",
    "keep",
    "resume",
    "retry",
    "retry_key",
    "submit",
    "suspend",
]
