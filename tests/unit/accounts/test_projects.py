import pytest
from django.apps import apps
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404
from django.utils import timezone

from trainui.accounts import services
from trainui.accounts.models import Membership, Project
from trainui.audit.models import AuditEntry


@pytest.mark.parametrize("name", ["a", "team-nlp-2", "0day", "x" * 63])
def test_names_that_may_be_a_namespace(world, name):
    assert services.create_project(world.user("admin"), name).namespace == name


@pytest.mark.parametrize(
    "name",
    ["", "-a", "a-", "Team", "a_b", "a.b", "x" * 64, "kube-system", "kube-x", "ä", "a\n", "a b", "../x"],
)
def test_names_that_may_not(world, name):
    with pytest.raises(ValidationError) as caught:
        services.create_project(world.user("admin"), name)
    assert "name" in caught.value.message_dict
    assert Project.objects.count() == 2


def test_a_taken_name_is_told_at_the_field(as_user):
    response = as_user("admin").post("/new-project", {"name": "team-nlp", "title": "Kept"})
    assert response.status_code == 422
    assert "already exists" in str(response.context["form"].errors["name"])
    assert b'value="Kept"' in response.content
    assert b'aria-invalid="true"' in response.content


def test_members_come_change_and_go(world, as_user):
    owner = as_user("owner")
    owner.post("/projects/team-nlp/members", {"username": "stranger", "role": "viewer"})
    member = Membership.objects.get(project=world.project, user=world.user("stranger"))
    assert member.role == "viewer"
    owner.post(f"/projects/team-nlp/members/{member.pk}", {"role": "engineer"})
    member.refresh_from_db()
    assert member.role == "engineer"
    owner.post(f"/projects/team-nlp/members/{member.pk}/remove")
    assert not Membership.objects.filter(pk=member.pk).exists()
    told = AuditEntry.objects.filter(project=world.project).order_by("pk").values_list("verb", "actor_name", "detail")
    assert list(told) == [
        ("member.add", "owner", {"role": "viewer"}),
        ("member.change", "owner", {"from": "viewer", "to": "engineer"}),
        ("member.remove", "owner", {"role": "engineer"}),
    ]


@pytest.mark.parametrize(
    ("data", "field", "words"),
    [
        ({"username": "ghost", "role": "viewer"}, "username", "no active user"),
        ({"username": "viewer", "role": "viewer"}, "username", "member already"),
        ({"username": "stranger", "role": "king"}, "role", "king"),
        ({"username": "", "role": "viewer"}, "username", "required"),
    ],
)
def test_bad_members_are_told_at_the_field(world, as_user, data, field, words):
    response = as_user("owner").post("/projects/team-nlp/members", data)
    assert response.status_code == 422
    assert words in str(response.context["form"].errors[field])
    assert world.project.memberships.count() == 3


def test_a_deactivated_user_cannot_become_a_member(world):
    services.set_active(world.user("admin"), world.user("stranger"), False)
    with pytest.raises(ValidationError):
        services.add_member(world.user("owner"), world.project, "stranger", "viewer")


def test_members_of_another_project_are_out_of_reach(world, as_user):
    foreign = Membership.objects.get(project=world.other)
    for url in (f"/projects/team-nlp/members/{foreign.pk}", f"/projects/team-nlp/members/{foreign.pk}/remove"):
        assert as_user("owner").post(url, {"role": "viewer"}).status_code == 404
    foreign.refresh_from_db()
    assert foreign.role == "admin"


def test_a_member_may_leave_but_not_remove_others(world, as_user):
    viewer = as_user("viewer")
    assert viewer.post(f"/projects/team-nlp/members/{world.member('engineer').pk}/remove").status_code == 403
    response = viewer.post(f"/projects/team-nlp/members/{world.member('viewer').pk}/remove")
    assert response["Location"] == "/projects"
    assert viewer.get("/projects/team-nlp").status_code == 404


def test_services_check_the_right_by_themselves(world):
    with pytest.raises(PermissionDenied):
        services.create_project(world.user("owner"), "fresh")
    with pytest.raises(PermissionDenied):
        services.update_project(world.user("viewer"), world.project, "x", "")
    with pytest.raises(Http404):
        services.delete_project(world.user("stranger"), world.project)
    with pytest.raises(Http404):
        services.add_member(world.user("stranger"), world.project, "stranger", "admin")
    with pytest.raises(PermissionDenied):
        services.change_role(world.user("engineer"), world.member("engineer"), "admin")


def job_in(project: Project, name: str, live: bool) -> None:
    apps.get_model("jobs", "TrainJob").objects.create(
        project=project,
        namespace=project.name,
        name=name,
        live=live,
        runtime_kind="ClusterTrainingRuntime",
        runtime_name="torch-distributed",
        created_at=timezone.now(),
    )


@pytest.mark.parametrize(("live", "words"), [(True, "1 job is still in the cluster"), (False, "delete them first")])
def test_a_project_with_jobs_is_not_deleted(world, as_user, live, words):
    job_in(world.project, "busy", live)
    response = as_user("admin").post("/projects/team-nlp/delete", follow=True)
    assert words in response.content.decode()
    assert Project.objects.filter(name="team-nlp").exists()
    assert not AuditEntry.objects.filter(verb="project.delete").exists()


def test_an_empty_project_is_deleted_and_the_audit_remembers(world, as_user):
    response = as_user("admin").post("/projects/team-nlp/delete", follow=True)
    assert "is deleted" in response.content.decode()
    entry = AuditEntry.objects.get(verb="project.delete")
    assert (entry.project, entry.project_name, entry.object_name) == (None, "team-nlp", "team-nlp")


def test_the_list_shows_only_what_one_may_see(as_user):
    page = as_user("viewer").get("/projects").content.decode()
    assert "team-nlp" in page
    assert "elsewhere" not in page
    assert "elsewhere" not in as_user("viewer").get("/projects?q=else").content.decode().replace('value="else"', "")


def test_only_those_who_may_act_get_the_means(as_user):
    for persona, adds, deletes in (
        ("admin", True, True),
        ("owner", True, False),
        ("engineer", False, False),
        ("viewer", False, False),
    ):
        page = as_user(persona).get("/projects/team-nlp").content.decode()
        assert ("Add a member" in page) is adds, persona
        assert ("Delete project" in page) is deletes, persona
        assert ("Recent changes" in page) is False, persona  # nothing is recorded yet
