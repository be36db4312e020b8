"""What becomes of an object that comes in by the Kubernetes API: stored, and with which warnings, or refused."""

import copy
import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from jobs.spec.defaults import default_trainjob
from jobs.spec.validation import validate_status, validate_trainjob, validate_update
from runtimes.spec.defaults import default_runtime
from runtimes.spec.findings import Findings
from runtimes.spec.validation import validate_runtime

Obj = dict[str, Any]


@dataclass(frozen=True)
class Review:
    """The answer to one request: the object to store (None if refused) and all findings."""

    stored: Obj | None
    findings: Findings


def review_create(
    trainjob: Obj,
    runtime: Obj | None,
    now: datetime.datetime,
    *,
    field_validation: str = "Warn",
    priority_classes: Collection[str] | None = None,
) -> Review:
    """Return what becomes of a TrainJob that is created (`validate_trainjob`, `default_trainjob`).

    field_validation: what the API server makes of unknown fields: Warn (a warning, then dropped), Strict (an error) or Ignore.
    """
    findings = _judged(validate_trainjob(trainjob, runtime, priority_classes), field_validation)
    return _review(findings, lambda: default_trainjob(trainjob, now))


def review_update(
    old: Obj,
    new: Obj,
    runtime: Obj | None,
    now: datetime.datetime,
    *,
    jobset: Obj | None = None,
    field_validation: str = "Warn",
    priority_classes: Collection[str] | None = None,
) -> Review:
    """Return what becomes of a change of a stored TrainJob (`validate_update`). `new` is the whole object as sent."""
    stored = default_trainjob(new, now, old)
    findings = validate_update(old, stored, runtime, jobset, priority_classes)
    if not any(f.code == "wrong_type" for f in findings.errors):
        unknown = [f for f in validate_trainjob(new, runtime).submit_checks if f.code == "unknown_field"]
        findings.submit_checks = [*unknown, *findings.submit_checks]
    return _review(_judged(findings, field_validation), lambda: stored)


def review_status(old: Obj, status: Any) -> Review:
    """Return what becomes of a new status of a stored TrainJob; None takes the status away."""
    if status is None:
        return Review({k: copy.deepcopy(v) for k, v in old.items() if k != "status"}, Findings())
    return _review(validate_status(status), lambda: {**copy.deepcopy(old), "status": copy.deepcopy(status)})


def review_runtime(runtime: Obj, *, field_validation: str = "Warn") -> Review:
    """Return what becomes of a runtime that is created or changed (`validate_runtime`, `default_runtime`)."""
    return _review(_judged(validate_runtime(runtime), field_validation), lambda: default_runtime(runtime))


def _review(findings: Findings, stored: Any) -> Review:
    return Review(None if findings.errors else stored(), findings)


def _judged(findings: Findings, field_validation: str) -> Findings:
    """Move unknown fields to where the request wants them."""
    unknown = [f for f in findings.submit_checks if f.code == "unknown_field"]
    findings.submit_checks = [f for f in findings.submit_checks if f.code != "unknown_field"]
    if field_validation == "Strict":
        findings.errors = [*unknown, *findings.errors]
    elif field_validation == "Warn":
        findings.warnings = [*unknown, *findings.warnings]
    return findings
