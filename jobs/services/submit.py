"""Taking a TrainJob in: checked by the one validator, stored once per submission key, pushed to the cluster later by a worker."""

import contextlib
import hashlib
import secrets
import string
import uuid
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import IntegrityError, transaction
from django.utils import timezone

from jobs import builders
from jobs.builders.gang.size import too_large
from jobs.models import TrainJob, TrainJobDetail
from jobs.reconcile.capabilities import capabilities
from jobs.reconcile.doorbell import ring_on_commit
from jobs.reconcile.marks import SUBMISSION_ID, SUBMITTED_BY
from jobs.reconcile.masking import mask
from jobs.reconcile.runtimes import find_runtime
from jobs.services.verdict import verdict
from jobs.spec.defaults import default_trainjob
from jobs.spec.masking import mask_object
from jobs.spec.provenance import Origin, provenance
from jobs.spec.validation import validate_trainjob
from jobs.state import phases
from runtimes.models import Runtime
from runtimes.services import blueprint_of
from runtimes.spec.blueprint import Blueprint
from runtimes.spec.findings import Finding, Findings
from runtimes.spec.parameters import located, value_sources
from trainui.accounts.models import Project, User
from trainui.accounts.permissions import require
from trainui.audit.services import record
from trainui.problems import Problem

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Submission:
    """What somebody asks for: a TrainJob, and where it came from.

    key: unique per user; the same key with the same content is the same submission. blueprint, parameters: the form's values, for clone.
    origin: the job that it repeats (relation RETRY) or began as a copy of (CLONE); whoever submits it may see that job.
    """

    manifest: Manifest
    key: str | None = None
    blueprint: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    origin: TrainJob | None = None
    relation: str = phases.CLONE


@dataclass(frozen=True)
class DryRun:
    """What would happen: the TrainJob as it would be stored, its children, and everything the checks say."""

    manifest: Manifest
    objects: list[Manifest]
    findings: Findings
    origins: list[Origin]


def submit(user: User, project: Project, submission: Submission) -> tuple[TrainJob, bool]:
    """Store a submission and return its row, and whether it was there already (same key, same content).

    Raises Http404 or PermissionDenied; Problem 422 with findings for what is not acceptable, or for a key used with other content;
    Problem 409 for a name that is taken. Nothing is stored then.
    """
    require(user, "submit", project)
    fingerprint = _fingerprint(project, submission)
    if submission.key and (earlier := _earlier(user, submission.key, fingerprint)):
        return earlier, True
    manifest, runtime, findings = check(project, submission.manifest)
    if findings.refused:
        blueprint = _blueprint(submission)
        raise refused(located(blueprint, findings.refused) if blueprint else findings.refused)
    try:
        with transaction.atomic():
            job = _store(user, project, submission, manifest, runtime, fingerprint)
            verb, detail = _deed(job, submission)
            record(user, verb, job, detail=detail)
            ring_on_commit(job)
    except IntegrityError:
        if submission.key and (earlier := _earlier(user, submission.key, fingerprint)):
            return earlier, True
        name = manifest["metadata"]["name"]
        finding = Finding(
            "metadata.name",
            "name_taken",
            f"“{name}” is the name of another job in {project.name}: choose another, or delete that one first.",
        )
        raise Problem(409, "name_taken", finding.message, [finding]) from None
    return job, False


def dry_run(user: User, project: Project, submission: Submission, ask_cluster: bool = True) -> DryRun:
    """Return what `submit` would do, without doing it; findings are returned, not raised.

    ask_cluster: have the API server judge it too, which takes a call. Raises Http404 or PermissionDenied.
    """
    require(user, "submit", project)
    manifest, runtime, findings = check(project, submission.manifest)
    objects: list[Manifest] = []
    if runtime is not None and not findings.errors:
        with contextlib.suppress(builders.BuildError):  # it finds what the submit checks say in other words
            objects = builders.build(manifest, runtime, capabilities())
    name = manifest.get("metadata", {}).get("name", "")
    if name and TrainJob.objects.filter(namespace=project.namespace, name=name, live=True).exists():
        findings.submit_checks.append(_name_taken(name, project))
    if ask_cluster and not findings.refused:  # what we refuse never comes that far
        findings.extend(verdict(project, manifest))
    blueprint = _blueprint(submission)
    if blueprint:
        findings.errors = located(blueprint, findings.errors)
        findings.submit_checks = located(blueprint, findings.submit_checks)
    sources = value_sources(blueprint, submission.parameters) if blueprint else {}
    origins = provenance(manifest, runtime, sources) if runtime is not None else []
    return DryRun(mask_object(manifest)[0], [mask_object(mask(o))[0] for o in objects], findings, origins)


def check(project: Project, manifest: Manifest) -> tuple[Manifest, Manifest | None, Findings]:
    """Return the TrainJob with defaults, its runtime (None if unknown), and what the validator says of it in this project."""
    manifest = orjson.loads(orjson.dumps(manifest))  # ours to change
    findings = Findings()
    metadata = manifest.setdefault("metadata", {})
    if isinstance(metadata, dict):
        given = metadata.setdefault("namespace", project.namespace)
        if given != project.namespace:
            findings.error(
                "metadata.namespace",
                "wrong_project",
                f"The namespace is “{given}”, but this submission goes to the project “{project.name}”.",
            )
        _name_it(metadata)
    runtime = find_runtime(manifest, project)
    findings.extend(validate_trainjob(manifest, runtime))  # before the defaults, which prune what is unknown
    with contextlib.suppress(
        TypeError, AttributeError, KeyError
    ):  # of another shape than a TrainJob: the findings say where
        manifest = default_trainjob(manifest, timezone.now())
    if runtime is not None and not findings.refused:  # what a build finds would end the job later
        has = capabilities()
        try:
            built = builders.build(manifest, runtime, has)
            if not has.replace_gang:  # the local cluster's scheduler has no such limits
                findings.warnings.extend(too_large(built, builders.expected(manifest, runtime, has)["gang"]))
        except builders.BuildError as error:
            findings.errors.extend(error.findings)
    return manifest, runtime, findings


def refused(findings: list[Finding]) -> Problem:
    """Return the problem for fields that are not acceptable."""
    detail = (
        findings[0].message if len(findings) == 1 else f"{len(findings)} fields are not acceptable; nothing was stored."
    )
    return Problem(422, "invalid", detail, findings)


def _store(
    user: User, project: Project, submission: Submission, manifest: Manifest, runtime: Manifest | None, fingerprint: str
) -> TrainJob:
    now = timezone.now()
    reference = manifest["spec"]["runtimeRef"]
    job = TrainJob(
        id=uuid.uuid4(), project=project, namespace=project.namespace, name=manifest["metadata"]["name"], owner=user,
        runtime_kind=reference["kind"], runtime_name=reference["name"], created_at=now, due_at=now, since=now,
        submission_key=submission.key or None, fingerprint=fingerprint, sentence="Accepted; it is being sent to the cluster.",
        origin=submission.origin, origin_name=submission.origin.name if submission.origin else "",
        origin_relation=submission.relation if submission.origin else "",
    )  # fmt: skip
    metadata = manifest["metadata"]
    metadata["annotations"] = (metadata.get("annotations") or {}) | {
        SUBMISSION_ID: str(job.id),
        SUBMITTED_BY: user.get_username(),
    }
    if runtime is not None:
        job.nodes_expected = sum(
            e["count"]
            for e in builders.expected(manifest, runtime, capabilities())["replicated_jobs"]
            if e.get("runs_ranks")
        )
    job.save(force_insert=True)
    TrainJobDetail.objects.create(
        job=job, manifest=manifest, runtime=runtime, blueprint=submission.blueprint, parameters=submission.parameters
    )
    return job


def _deed(job: TrainJob, submission: Submission) -> tuple[str, dict[str, Any]]:
    """What the audit is to hold of a submission."""
    detail: dict[str, Any] = {"runtime": job.runtime_name}
    if submission.origin is None:
        return "job.submit", detail
    return f"job.{submission.relation}", detail | {"origin": str(submission.origin)}


def _name_taken(name: str, project: Project) -> Finding:
    return Finding(
        "metadata.name",
        "name_taken",
        f"“{name}” is the name of another job in {project.name}: choose another, or delete that one first.",
    )


def _blueprint(submission: Submission) -> Blueprint | None:
    row = Runtime.objects.filter(name=submission.blueprint, managed=True).first() if submission.blueprint else None
    return blueprint_of(row) if row else None


def _earlier(user: User, key: str, fingerprint: str) -> TrainJob | None:
    job = TrainJob.objects.filter(owner=user, submission_key=key).first()
    if job and job.fingerprint != fingerprint:
        raise Problem(
            422,
            "idempotency_key_reused",
            "This Idempotency-Key was used for another submission; use a new key for new content.",
        )
    return job


def _fingerprint(project: Project, submission: Submission) -> str:
    content = orjson.dumps(
        [str(project.pk), submission.manifest, submission.blueprint, submission.parameters], option=orjson.OPT_SORT_KEYS
    )
    return hashlib.sha256(content).hexdigest()


def _name_it(metadata: dict[str, Any]) -> None:
    prefix = metadata.pop("generateName", None)
    if prefix and not metadata.get("name"):
        metadata["name"] = (
            f"{prefix}{''.join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(5))}"
        )
