"""Reading what is submitted: a TrainJob as JSON or YAML, or a blueprint's name and parameters; always into one Submission."""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from django.http import Http404
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from jobs.models import TrainJob
from jobs.queries.job import visible_job
from jobs.services import Submission
from jobs.spec.manifest import ManifestError, check_manifest
from runtimes.models import Runtime
from runtimes.services import blueprint_of
from runtimes.spec.findings import Finding
from runtimes.spec.parameters import bind
from runtimes.spec.yaml_reader import ReadError, read_document
from trainui.accounts.models import Project, User
from trainui.accounts.permissions import visible_projects
from trainui.problems import Problem

MAX_KEY = 200
BLUEPRINT_FIELDS = {"project", "blueprint", "name", "parameters"}


class ManifestParser(BaseParser):
    """Hands the bytes of a manifest on: `load_manifest` reads JSON and YAML with the same care."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the body unread."""
        return bytes(stream.read())


class YamlParser(ManifestParser):
    """The same for YAML, as kubectl writes it."""

    media_type = "application/yaml"


class TextYamlParser(ManifestParser):
    """The older name of YAML."""

    media_type = "text/yaml"


def read_submission(request: Request, user: User) -> tuple[Project, Submission]:
    """Return where a submission goes and what it is. Raises Problem 422 with a pointer to what is wrong."""
    try:
        body = read_document(_bytes_of(request))
        if not (isinstance(body, dict) and "blueprint" in body):
            body = check_manifest(body)
    except (ReadError, ManifestError) as error:
        raise Problem(422, "invalid", error.findings[0].message, error.findings) from None
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > MAX_KEY:
        message = f"An Idempotency-Key may have {MAX_KEY} characters."
        raise Problem(422, "invalid_header", message, [Finding("Idempotency-Key", "too_long", message)])
    origin = _origin(request, user)
    if "blueprint" in body:
        return _from_blueprint(body, key, user, origin)
    namespace = body.get("metadata", {}).get("namespace") if isinstance(body.get("metadata"), dict) else None
    name = request.query_params.get("project") or namespace
    if not name:
        raise _wrong(
            "metadata.namespace", "required", "Say which project it goes to: metadata.namespace, or ?project=NAME."
        )
    return project_named(user, str(name), "metadata.namespace"), Submission(body, key or None, origin=origin)


def _bytes_of(request: Request) -> bytes:
    """Return the body as ManifestParser leaves it; one without a Content-Length (chunked) is no body to REST framework."""
    data = request.data
    return data if isinstance(data, bytes) else bytes(request._request.body)


def _origin(request: Request, user: User) -> TrainJob | None:
    """Return the job that `?clone_of=` names, for the new one to be linked to."""
    text = request.query_params.get("clone_of", "")
    if not text:
        return None
    try:
        return visible_job(user, uuid.UUID(text))
    except (ValueError, Http404):
        raise _wrong("clone_of", "unknown_reference", f"There is no job “{text[:50]}” that you may see.") from None


def _from_blueprint(body: dict[str, Any], key: str, user: User, origin: TrainJob | None) -> tuple[Project, Submission]:
    unknown = sorted(set(body) - BLUEPRINT_FIELDS)
    if unknown:
        raise _wrong(
            unknown[0],
            "unknown_field",
            f"“{unknown[0]}” is not known here; there are {', '.join(sorted(BLUEPRINT_FIELDS))}.",
        )
    for field in ("project", "blueprint", "name"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise _wrong(field, "required", f"“{field}” is needed, as text.")
    values = body.get("parameters") or {}
    if not isinstance(values, dict):
        raise _wrong("parameters", "wrong_type", "“parameters” must be an object of names and values.")
    project = project_named(user, body["project"], "project")
    row = Runtime.objects.filter(name=body["blueprint"], managed=True).first()
    if row is None:
        known = ", ".join(Runtime.objects.filter(managed=True).values_list("name", flat=True))
        raise _wrong(
            "blueprint", "unknown_reference", f"There is no blueprint “{body['blueprint']}”; there are {known}."
        )
    manifest, findings = bind(blueprint_of(row), body["name"], project.namespace, values, channel="api")
    if findings.refused:
        raise Problem(422, "invalid", findings.refused[0].message, findings.refused)
    return project, Submission(manifest, key or None, blueprint=row.name, parameters=values, origin=origin)


def as_sent(submission: Submission, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings at the fields of the body that was sent: one made of parameters has `name` and `project`, and no metadata."""
    if not submission.blueprint:
        return list(findings)
    names = {"metadata.name": "name", "metadata.namespace": "project"}
    return [replace(f, path=names.get(f.path, f.path)) for f in findings]


def project_named(user: User, name: str, field: str) -> Project:
    """Return a project the user may see. Raises Problem 422 at `field`, the same for one that does not exist."""
    project = visible_projects(user).filter(name=name).first()
    if project is None:
        raise _wrong(field, "unknown_reference", f"There is no project “{name}” that you may see.")
    return project


def _wrong(path: str, code: str, message: str) -> Problem:
    return Problem(422, "invalid", message, [Finding(path, code, message)])
