"""Projects and their members."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from trainui.accounts import services
from trainui.accounts.forms import MemberForm, ProjectEditForm, ProjectForm, add_errors
from trainui.accounts.models import Membership, Project, Role
from trainui.accounts.permissions import can, require, visible_projects
from trainui.ui.htmx import render

AUDIT_SHOWN = 15


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """List the projects the user may see."""
    mine = Prefetch("memberships", Membership.objects.filter(user=request.user), to_attr="mine")  # type: ignore[misc]
    projects = visible_projects(request.user).annotate(size=Count("members", distinct=True)).prefetch_related(mine)
    if wanted := request.GET.get("q", "").strip():
        projects = projects.filter(name__icontains=wanted) | projects.filter(title__icontains=wanted)
    context = {
        "projects": projects.distinct().order_by("name"),
        "q": wanted,
        "may_create": can(request.user, "administer", "projects"),
    }
    return render(request, "accounts/projects.html", context)


@require_http_methods(["GET", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """Make a project, for admins."""
    require(request.user, "administer", "projects")
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            project = services.create_project(request.user, **form.cleaned_data)  # type: ignore[arg-type]
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, f"Project {project.name} is there. Add its members next.")
            return redirect("project", project.name)
    return render(request, "accounts/project_form.html", {"form": form}, status=422 if form.errors else 200)


@require_GET
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """Show one project and its members."""
    return _detail(request, _project(request, name), MemberForm())


def _project(request: HttpRequest, name: str) -> Project:
    return get_object_or_404(visible_projects(request.user), name=name)


def _detail(request: HttpRequest, project: Project, form: MemberForm, status: int = 200) -> HttpResponse:
    administers = can(request.user, "administer", project)
    context = {
        "project": project,
        "members": project.memberships.select_related("user"),
        "roles": Role.choices,
        "form": form,
        "administers": administers,
        "may_delete": can(request.user, "administer", "projects"),
        "entries": project.audit_entries.select_related("actor")[:AUDIT_SHOWN] if administers else [],
    }
    return render(request, "accounts/project.html", context, fragment="accounts/_members.html", status=status)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """Change title and description, for project admins."""
    project = _project(request, name)
    require(request.user, "administer", project)
    form = ProjectEditForm(request.POST or None, instance=Project.objects.get(pk=project.pk))
    if request.method == "POST" and form.is_valid():
        services.update_project(request.user, project, **form.cleaned_data)  # type: ignore[arg-type]
        messages.success(request, "Saved.")
        return redirect("project", project.name)
    context = {"form": form, "project": project}
    return render(request, "accounts/project_form.html", context, status=422 if form.errors else 200)


@require_POST
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a project, for admins; refused while jobs of it remain."""
    project = _project(request, name)
    try:
        services.delete_project(request.user, project)  # type: ignore[arg-type]
    except ValidationError as error:
        messages.error(request, f"Project {name} was not deleted. {' '.join(error.messages)}")
        return redirect("project", name)
    messages.success(request, f"Project {name} is deleted.")
    return redirect("projects")


@require_POST
def add_member(request: HttpRequest, name: str) -> HttpResponse:
    """Add a user to a project."""
    project = _project(request, name)
    require(request.user, "administer", project)
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            services.add_member(request.user, project, **form.cleaned_data)  # type: ignore[arg-type]
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, f"{form.cleaned_data['username']} is a member now.")
            return redirect("project", name)
    return _detail(request, project, form, status=422)


@require_POST
def change_role(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Give a member another role."""
    project = _project(request, name)
    require(request.user, "administer", project)
    member = get_object_or_404(project.memberships.select_related("user", "project"), pk=pk)
    try:
        services.change_role(request.user, member, request.POST.get("role", ""))  # type: ignore[arg-type]
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"{member.user} is {member.get_role_display().lower()} now.")
    return redirect("project", name)


@require_POST
def remove_member(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a member out of a project, or leave it."""
    project = _project(request, name)
    member = get_object_or_404(project.memberships.select_related("user", "project"), pk=pk)
    services.remove_member(request.user, member)  # type: ignore[arg-type]
    if can(request.user, "view", project):
        messages.success(request, f"{member.user} is no longer a member.")
        return redirect("project", name)
    messages.success(request, f"You left {name}.")
    return redirect("projects")
