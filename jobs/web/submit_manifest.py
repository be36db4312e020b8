"""Submitting a TrainJob as it stands in a manifest: paste or upload, look at what will be created, submit."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from jobs import services
from jobs.services import Submission
from jobs.spec.manifest import dump_manifest
from jobs.spec.names import name_budget, num_nodes
from jobs.web.forms_manifest import ManifestForm
from jobs.web.people import person, projects_to_submit
from jobs.web.submit import refusal, submitted
from jobs.web.submit_clone import Copy, copy_of
from jobs.web.submit_names import free_name, kept_nonce, new_nonce, submission_key
from jobs.web.submit_review import review_of
from runtimes.models import Runtime
from runtimes.spec.kinds import API_VERSION
from trainui.accounts.models import Project
from trainui.problems import Problem
from trainui.ui.htmx import render


@require_http_methods(["GET", "POST"])
def with_manifest(request: HttpRequest) -> HttpResponse:
    """The form, the review and the submission of a manifest. A POST says by `step` what is wanted: edit, review, or create."""
    projects = projects_to_submit(person(request))
    if not projects:
        return refusal(request)
    names = [p.name for p in projects]
    copy = copy_of(request)
    if request.method == "GET":
        form = ManifestForm(names, initial=_first(request, names, copy))
        return _page(request, form, new_nonce(), copy)
    form = ManifestForm(names, request.POST, request.FILES.get("file"))
    step, nonce = request.POST.get("step", ""), kept_nonce(request.POST.get("key", ""))
    if not form.is_valid() or form.manifest is None or step == "edit":
        return _page(request, form, nonce, copy)
    project = next(p for p in projects if p.name == form.cleaned_data["project"])
    if step == "create":
        return _create(request, form, form.manifest, project, nonce, copy)
    return _review(request, form, form.manifest, project, nonce, copy)


def _first(request: HttpRequest, names: list[str], copy: Copy | None) -> dict[str, Any]:
    if copy:
        runtime = copy.job.detail.runtime
        room = name_budget(runtime, num_nodes(copy.manifest)).max_length
        name = free_name(copy.job.name, [copy.job.namespace], room)
        return {"text": dump_manifest(copy.document(name)), "project": ""}
    project = request.GET.get("project", "")
    project = project if project in names else names[0]
    return {"text": example(project), "project": ""}


def example(project: str) -> str:
    """Return a manifest to begin with: a runtime that there is, one node."""
    runtime = Runtime.objects.filter(managed=True).order_by("position").values_list("name", flat=True).first()
    name = runtime or "plain-command"
    return dump_manifest(
        {
            "apiVersion": API_VERSION,
            "kind": "TrainJob",
            "metadata": {"name": free_name(name, [project], 40), "namespace": project},
            "spec": {"runtimeRef": {"name": name}},
        }
    )


def _page(request: HttpRequest, form: ManifestForm, nonce: str, copy: Copy | None) -> HttpResponse:
    context = {"form": form, "nonce": nonce, "copy": copy, "left_out": copy.left_out if copy else []}
    return render(request, "jobs/submit/manifest.html", context, status=422 if form.errors else 200)


def _review(
    request: HttpRequest,
    form: ManifestForm,
    manifest: dict[str, Any],
    project: Project,
    nonce: str,
    copy: Copy | None,
) -> HttpResponse:
    result = services.dry_run(person(request), project, Submission(manifest))
    if result.findings.refused:
        form.add_findings(result.findings.refused)
        return _page(request, form, nonce, copy)
    context = {
        "review": review_of(result, project),
        "hidden": [*_hidden(form, project), ("key", nonce), *([("clone", str(copy.job.pk))] if copy else [])],
        "address": reverse("submit-manifest"),
        "copy": copy,
        "project": project,
    }
    return render(request, "jobs/submit/review.html", context)


def _create(
    request: HttpRequest,
    form: ManifestForm,
    manifest: dict[str, Any],
    project: Project,
    nonce: str,
    copy: Copy | None,
) -> HttpResponse:
    key = submission_key(nonce, _hidden(form, project))
    try:
        submission = Submission(manifest, key, origin=copy.job if copy else None)
        job, there = services.submit(person(request), project, submission)
    except Problem as problem:
        form.add_findings(problem.findings)
        if not problem.findings:
            form.add_error(None, problem.detail)
        return _page(request, form, nonce, copy)
    return submitted(request, job, there)


def _hidden(form: ManifestForm, project: Project) -> list[tuple[str, str]]:
    return [("project", project.name), ("text", form.source)]
