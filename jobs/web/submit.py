"""Submitting by form: choose a blueprint, fill in its parameters, look at what will be created, submit.

Nothing is stored between the steps: each sends everything again, and the services check it again.
"""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods

from jobs import services
from jobs.services import Submission
from jobs.spec.names import name_budget
from jobs.web.forms import ParameterForm
from jobs.web.people import person, projects_to_submit
from jobs.web.submit_clone import Copy, copy_of
from jobs.web.submit_names import free_name, kept_nonce, new_nonce, submission_key
from jobs.web.submit_review import changes_since, review_of
from runtimes.models import Runtime
from runtimes.services import blueprint_of
from runtimes.spec.blueprint import Blueprint, blueprint_of_runtime
from runtimes.spec.defaults import default_runtime
from runtimes.spec.parameters import located
from runtimes.web.cards import RuntimeCard, catalog, find_runtime, paragraphs
from trainui.accounts.models import Project
from trainui.accounts.permissions import roles_of, visible_projects
from trainui.problems import Problem
from trainui.ui.htmx import render


@dataclass(frozen=True)
class Sheet:
    """Everything about the blueprint that a form is made of. ours: it is one of the catalog's, so a copy can open the same form."""

    row: Runtime
    card: RuntimeCard
    blueprint: Blueprint
    runtime: dict[str, Any]
    projects: list[Project]
    ours: bool

    @property
    def address(self) -> str:
        """Where the form is."""
        return reverse("submit-with", args=self.card.path)

    @property
    def description(self) -> list[str]:
        """What the blueprint says of itself, by paragraph."""
        return paragraphs(self.blueprint.card.description)

    def form(self, data: Any = None, initial: dict[str, Any] | None = None) -> ParameterForm:
        """Return the form, filled from a request or from initial values."""
        return ParameterForm(self.blueprint, self.runtime, [p.name for p in self.projects], data, initial)


@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """First step: the blueprints, and the way with a manifest. `?clone=` goes on with a copy of a job."""
    copy = copy_of(request)
    if copy is not None:
        way = reverse("submit-with", args=[copy.blueprint]) if copy.blueprint else reverse("submit-manifest")
        return redirect(f"{way}?{urlencode({'clone': str(copy.job.pk)})}")
    projects = projects_to_submit(person(request))
    if not projects:
        return refusal(request)
    wanted = request.GET.get("project", "")
    cards = catalog(person(request))
    context = {
        "blueprints": [card for card in cards if card.blueprint],
        "others": [card for card in cards if not card.blueprint],
        "query": f"?{urlencode({'project': wanted})}" if wanted else "",
        "only_looking": bool(wanted) and wanted not in [p.name for p in projects],
        "wanted": wanted,
    }
    return render(request, "jobs/submit/start.html", context)


@require_http_methods(["GET", "POST"])
def with_blueprint(request: HttpRequest, name: str, namespace: str = "") -> HttpResponse:
    """Second and third step. A POST says by `step` what is wanted: check (one field), edit, review, or create."""
    sheet = _sheet(request, name, namespace)
    if not sheet.projects:
        return refusal(request)
    copy = copy_of(request)
    if request.method == "GET":
        return _form_page(request, sheet, _first_form(request, sheet, copy), new_nonce(), copy)
    form = sheet.form(request.POST)
    step = request.POST.get("step", "")
    if step == "check":
        return _check(request, sheet, form)
    nonce = kept_nonce(request.POST.get("key", ""))
    if step == "edit" or not form.is_valid():
        return _form_page(request, sheet, form, nonce, copy)
    project = _project(sheet, form)
    if step == "create":
        return _create(request, sheet, form, project, nonce, copy)
    return _review(request, sheet, form, project, nonce, copy)


def _sheet(request: HttpRequest, name: str, namespace: str) -> Sheet:
    user = person(request)
    row, card = find_runtime(user, name, namespace)
    if not row.effective:
        raise Http404
    ours = row.managed and bool(row.source)
    # What the cluster has is what jobs get, edited or not: placeholders and counts come from it.
    blueprint = replace(blueprint_of(row), runtime=row.effective) if ours else blueprint_of_runtime(row.effective)
    projects = [p for p in projects_to_submit(user) if namespace in ("", p.namespace)]
    return Sheet(row, card, blueprint, default_runtime(row.effective), projects, ours)


def _first_form(request: HttpRequest, sheet: Sheet, copy: Copy | None) -> ParameterForm:
    names = [p.name for p in sheet.projects]
    wanted = copy.job.project.name if copy else request.GET.get("project", "")
    project = wanted if wanted in names else names[0] if len(names) == 1 else ""
    base = copy.job.name if copy else sheet.blueprint.name
    name = free_name(base, [project] if project else names, name_budget(sheet.runtime, None).max_length)
    values = copy.initial(sheet.blueprint) if copy else {}
    return sheet.form(initial={"project": project, "name": name, **values})


def _form_page(request: HttpRequest, sheet: Sheet, form: ParameterForm, nonce: str, copy: Copy | None) -> HttpResponse:
    context = {
        "sheet": sheet,
        "card": sheet.card,
        "form": form,
        "nonce": nonce,
        "copy": copy,
        "changes": changes_since(form, copy.parameters) if copy and form.is_bound else [],
    }
    return render(request, "jobs/submit/form.html", context, status=422 if form.errors else 200)


def _check(request: HttpRequest, sheet: Sheet, form: ParameterForm) -> HttpResponse:
    """Answer what is to be said below one field, as it is now; once all fields are good, that is what a review would say."""
    field = request.POST.get("field", "")
    if field not in form.fields:
        raise Http404
    if form.is_valid():
        project = _project(sheet, form)
        result = services.dry_run(person(request), project, _submission(sheet, form), ask_cluster=False)
        form.add_findings(located(sheet.blueprint, result.findings.refused))
    context: dict[str, Any] = {"errors": form.errors.get(field, []), "hint": form.hint(field)}
    return render(request, "jobs/submit/_said.html", context, fragment="jobs/submit/_said.html")


def _project(sheet: Sheet, form: ParameterForm) -> Project:
    return next(p for p in sheet.projects if p.name == form.cleaned_data["project"])


def _submission(sheet: Sheet, form: ParameterForm, key: str | None = None) -> Submission:
    if not sheet.ours:  # without a form of its own, the manifest alone tells what was wanted
        return Submission(form.trainjob, key)
    return Submission(form.trainjob, key, blueprint=sheet.row.name, parameters=form.values())


def _review(
    request: HttpRequest, sheet: Sheet, form: ParameterForm, project: Project, nonce: str, copy: Copy | None
) -> HttpResponse:
    result = services.dry_run(person(request), project, _submission(sheet, form))
    form.add_findings(located(sheet.blueprint, result.findings.refused))
    if form.errors:
        return _form_page(request, sheet, form, nonce, copy)
    context = {
        "sheet": sheet,
        "card": sheet.card,
        "review": review_of(result, project, form),
        "hidden": [*form.hidden(), ("key", nonce), *([("clone", str(copy.job.pk))] if copy else [])],
        "address": sheet.address,
        "copy": copy,
        "changes": changes_since(form, copy.parameters) if copy else [],
        "project": project,
    }
    return render(request, "jobs/submit/review.html", context)


def _create(
    request: HttpRequest, sheet: Sheet, form: ParameterForm, project: Project, nonce: str, copy: Copy | None
) -> HttpResponse:
    key = submission_key(nonce, [("runtime", str(sheet.row)), *form.hidden()])
    try:
        submission = replace(_submission(sheet, form, key), origin=copy.job if copy else None)
        job, there = services.submit(person(request), project, submission)
    except Problem as problem:
        form.add_findings(located(sheet.blueprint, problem.findings))
        if not problem.findings:
            form.add_error(None, problem.detail)
        return _form_page(request, sheet, form, nonce, copy)
    return submitted(request, job, there)


def submitted(request: HttpRequest, job: Any, there: bool) -> HttpResponse:
    """Go to the page of a job that was just made, or that this very form has made already."""
    if there:
        messages.info(request, f"{job.name} was submitted already; here it is.")
    else:
        messages.success(request, f"{job.name} is submitted.")
    return redirect("job", job.pk)


def refusal(request: HttpRequest) -> HttpResponse:
    """Say why somebody may not submit, and who can change that."""
    user = person(request)
    roles = roles_of(user)
    projects = [(p, roles.get(p.pk, "")) for p in visible_projects(user).order_by("name")[:20]]
    return render(request, "jobs/submit/refusal.html", {"mine": projects}, status=403)
