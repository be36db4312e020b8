"""Submitting from a blueprint: three steps, nothing stored before the last, and stored once."""

import re

import pytest
from django.test import Client

from jobs.models import TrainJob
from runtimes.models import Runtime
from tests.unit.web_jobs.conftest import HTMX, hidden, text
from trainui.accounts.models import Membership, Project

PATH = "/submit/with/sample-mnist"
GOOD = {"project": "team", "name": "digits", "p-epochs": "12", "p-hidden": "256", "p-learning_rate": "0.05", "p-batch_size": "128"}  # fmt: skip


def review(client: Client, path: str = PATH, **changes: str):
    return client.post(path, {"key": "k" * 24, **GOOD, **changes, "step": "review"})


def field_of(response, name: str) -> str:
    """The HTML of one field of the form."""
    html = response.content.decode()
    control = re.search(rf'<[a-z]+ [^>]*name="{name}"(?! value="false")', html)
    start = html.rindex('<div class="field', 0, control.start())
    return html[start : html.find('<div class="field', control.end())]


def test_the_cards_say_what_there_is(world, as_user):
    page = as_user("owner").get("/submit?project=team")
    cards = ("Digits on MPI (sample)", "2 nodes", "512Mi memory per node", "numpy", "From a manifest")
    for wanted in (*cards, "runs on this machine", "needs torch installed"):
        assert wanted in text(page)
    assert 'href="/submit/with/sample-mnist?project=team"' in page.content.decode()
    assert 'href="/submit/manifest?project=team"' in page.content.decode()


def test_cards_bear_the_marks_of_their_runtimes(world, as_user):
    Runtime.objects.filter(name="plain-command").update(drifted=True, observed={"metadata": {}})
    Runtime.objects.filter(name="mpi-distributed").update(apply_error="No answer.")
    page = text(as_user("owner").get("/submit"))
    assert "drifted" in page
    assert "cannot be applied" in page
    assert "not in the cluster yet" in page


def test_images_need_no_word_about_this_machine(world, as_user, settings):
    settings.POD_DNS = True
    assert "this machine" not in text(as_user("owner").get("/submit"))


@pytest.mark.parametrize("path", ["/submit", PATH, "/submit/manifest"])
def test_who_may_not_submit_sees_why(world, as_user, path):
    page = as_user("viewer").get(path)
    assert page.status_code == 403
    assert "You may look, but not submit" in text(page)
    assert "team viewer" in text(page)
    world.users["viewer"].memberships.all().delete()
    assert "You are in no project yet" in text(as_user("viewer").get(path))


def test_a_viewer_cannot_post_either(world, as_user):
    assert as_user("viewer").post(PATH, GOOD | {"step": "create"}).status_code == 403
    assert not TrainJob.objects.exists()


def test_a_project_where_one_only_looks_is_said(world, as_user):
    assert "You may look at jobs of other but not submit there" in text(as_user("owner").get("/submit?project=other"))


def test_the_form_begins_with_defaults(world, as_user):
    page = as_user("owner").get(PATH)
    html = page.content.decode()
    assert '<option value="team" selected>' in html
    assert '<option value="other"' not in html
    assert 'value="sample-mnist-1"' in html
    assert 'name="p-epochs" value="240"' in html
    assert 'placeholder="2"' in field_of(page, "p-nodes")
    assert "From 1 to 20,000." in text(page)
    assert "14 of 44 characters" in text(page)
    assert not re.search(r"<details[^>]*advanced[^>]* open", html)


def test_several_projects_want_a_choice(world, as_user):
    Membership.objects.filter(user=world.users["owner"], project=world.other).update(role="engineer")
    html = as_user("owner").get(PATH).content.decode()
    assert "Choose a project" in html
    assert '<option value="" selected>Choose a project' in html
    assert '<option value="other" selected>' in as_user("owner").get(f"{PATH}?project=other").content.decode()


def test_the_name_is_one_that_is_free(world, as_user):
    world.job("sample-mnist-1")
    world.job("sample-mnist-2", live=False)
    assert 'value="sample-mnist-2"' in as_user("owner").get(PATH).content.decode()


def test_review_shows_what_will_be_created_and_stores_nothing(world, as_user):
    page = review(as_user("owner"), **{"p-nodes": "3"})
    shown = text(page)
    assert page.status_code == 200
    for wanted in (
        "Review digits",
        "Epochs 12 your value",
        "Hidden units 256 blueprint default",
        "Nodes 3 your value",
        "JobSet digits",
        "PodGroup digits",
        "--epochs=12",
        "a Secret with keys that are made for this job alone",
    ):
        assert wanted in shown
    assert not TrainJob.objects.exists()


def test_submit(world, as_user):
    client = as_user("owner")
    answer = client.post(PATH, hidden(review(client)) | {"step": "create"})
    job = TrainJob.objects.get()
    assert answer.url == f"/jobs/{job.pk}"
    assert (job.name, job.namespace, job.owner, job.runtime_name) == ("digits", "team", world.users["owner"], "sample-mnist")  # fmt: skip
    assert job.detail.blueprint == "sample-mnist"
    assert job.detail.parameters == {"epochs": "12", "hidden": "256", "learning_rate": "0.05", "batch_size": "128"}
    assert "--epochs=12" in job.detail.manifest["spec"]["trainer"]["command"]
    assert "digits is submitted." in text(client.get("/jobs"))


def test_the_same_form_twice_is_one_job(world, as_user):
    client = as_user("owner")
    fields = hidden(review(client)) | {"step": "create"}
    first, second = client.post(PATH, fields), client.post(PATH, fields)
    assert first.url == second.url
    assert TrainJob.objects.count() == 1
    assert "was submitted already" in text(client.get("/jobs"))


def test_going_back_and_changing_something_is_another_job(world, as_user):
    client = as_user("owner")
    fields = hidden(review(client))
    client.post(PATH, fields | {"step": "create"})
    edit = client.post(PATH, fields | {"step": "edit"})
    assert edit.status_code == 200
    assert hidden(edit)["key"] == fields["key"]
    again = hidden(review(client, key=fields["key"], name="digits-2"))
    client.post(PATH, again | {"step": "create"})
    assert sorted(TrainJob.objects.values_list("name", flat=True)) == ["digits", "digits-2"]


def test_a_form_without_its_key_still_works(world, as_user):
    client = as_user("owner")
    assert client.post(PATH, GOOD | {"step": "create", "key": "x" * 500}).status_code == 302
    assert len(TrainJob.objects.get().submission_key) < 200


BAD = [
    ({"project": ""}, "project", "Choose the project it belongs to."),
    ({"project": "other"}, "project", "You may not submit in “other”."),
    ({"name": ""}, "name", "needs a name"),
    ({"name": "Bad_Name"}, "name", "lower case"),
    ({"name": "a" * 60}, "name", "at most 44"),
    ({"p-epochs": "0"}, "p-epochs", "out of range"),
    ({"p-epochs": "1e3"}, "p-epochs", "whole number"),
    ({"p-learning_rate": "fast"}, "p-learning_rate", "is not a number"),
    ({"p-nodes": "-1"}, "p-nodes", "out of range"),
    ({"p-cpu": "1 Gi"}, "p-cpu", "quantity"),
    ({"p-environment": "NOVALUE"}, "p-environment", "NAME=value"),
    ({"p-environment": "OMPI_MCA_plm_rsh_args=x"}, "p-environment", "reserved"),
]


@pytest.mark.parametrize(("changes", "field", "message"), BAD)
def test_what_is_wrong_is_said_at_its_field_and_the_rest_stays(world, as_user, changes, field, message):
    page = review(as_user("owner"), **({"p-memory": "1Gi", "p-batch_size": "64"} | changes))
    html = page.content.decode()
    assert page.status_code == 422
    own = field_of(page, field)
    assert message in " ".join(re.sub(r"<[^>]*>", " ", own).split())
    assert 'aria-invalid="true"' in own
    assert "autofocus" in own
    assert html.count('aria-invalid="true"') == 1
    assert 'name="p-memory" value="1Gi"' in html
    assert 'name="p-batch_size" value="64"' in html
    assert not TrainJob.objects.exists()


def test_all_errors_come_at_once_and_the_first_gets_the_focus(world, as_user):
    page = review(as_user("owner"), **{"p-epochs": "no", "p-cpu": "no"})
    assert page.content.decode().count('aria-invalid="true"') == 2
    assert "autofocus" in field_of(page, "p-epochs")
    assert "autofocus" not in field_of(page, "p-cpu")
    assert re.search(r"<details[^>]*advanced[^>]* open", page.content.decode())


def test_what_only_the_validator_finds_comes_to_the_field_too(world, as_user):
    Runtime.objects.filter(name="plain-command").update(observed=None)
    page = review(as_user("owner"), path="/submit/with/torch-distributed", **{"p-program": "", "p-memory": "1e400"})
    assert "is required" in field_of(page, "p-program")
    world.job("digits")
    page = review(as_user("owner"))
    assert page.status_code == 422
    assert "is the name of another job" in field_of(page, "name")


def test_a_name_that_was_taken_after_the_review(world, as_user):
    client = as_user("owner")
    fields = hidden(review(client))
    world.job("digits")
    page = client.post(PATH, fields | {"step": "create"})
    assert page.status_code == 422
    assert "is the name of another job" in field_of(page, "name")
    assert 'name="p-epochs" value="12"' in page.content.decode()


def test_a_multiline_value_arrives_byte_for_byte(world, as_user):
    client = as_user("owner")
    script = "echo a\r\n\r\n  echo 'b = c'  \r\n"
    path = "/submit/with/plain-command"
    page = client.post(path, {"project": "team", "name": "lines", "p-script": script, "p-environment": "A=b=c\r\nB= x ", "step": "review"})  # fmt: skip
    assert page.status_code == 200
    client.post(path, hidden(page) | {"step": "create"})
    trainer = TrainJob.objects.get().detail.manifest["spec"]["trainer"]
    assert trainer["command"][-1] == "echo a\n\n  echo 'b = c'  \n"
    assert trainer["env"] == [{"name": "A", "value": "b=c"}, {"name": "B", "value": " x "}]


def test_an_emptied_field_takes_the_default(world, as_user):
    page = review(as_user("owner"), **{"p-epochs": "  "})
    assert "Epochs 240 blueprint default" in text(page)


def test_secrets_are_masked_in_the_review_and_warned_of(world, as_user):
    page = review(as_user("owner"), **{"p-environment": "WANDB_API_KEY=abcdef123\nDEBUG=1"})
    visible = re.sub(r'<input type="hidden"[^>]*>', "", page.content.decode())
    assert "abcdef123" not in visible
    assert "DEBUG=1" in visible
    assert "A value looks like a secret: WANDB_API_KEY." in text(page)


def check(client: Client, field: str, **changes: str):
    return client.post(PATH, GOOD | changes | {"step": "check", "field": field}, headers=HTMX)


def test_one_field_is_checked_alone(world, as_user):
    client = as_user("owner")
    answer = check(client, "name", name="Bad", **{"p-epochs": "no"})
    assert answer.status_code == 200
    assert "lower case" in text(answer)
    assert "3 of 44 characters" in text(answer)
    assert "Epochs" not in text(answer)
    assert "From 1 to 20,000." in text(check(client, "p-epochs"))
    assert check(client, "nothing").status_code == 404


def test_the_room_for_a_name_follows_the_nodes(world, as_user):
    client, fields = as_user("owner"), {"project": "team", "name": "digits", "step": "check", "field": "name"}
    for nodes, room in (("", 48), ("12", 47), ("102", 46)):
        answer = client.post("/submit/with/plain-command", fields | {"p-nodes": nodes}, headers=HTMX)
        assert f"6 of {room} characters" in text(answer)


def test_a_taken_name_is_said_while_typing(world, as_user):
    world.job("digits")
    assert "is the name of another job" in text(check(as_user("owner"), "name"))


def test_a_drifted_runtime_shows_what_jobs_get(world, as_user):
    row = Runtime.objects.get(name="sample-mnist")
    observed = {**row.manifest, "spec": {**row.manifest["spec"], "mlPolicy": {**row.manifest["spec"]["mlPolicy"], "numNodes": 6}}}  # fmt: skip
    Runtime.objects.filter(pk=row.pk).update(observed=observed, drifted=True)
    client = as_user("owner")
    assert 'placeholder="6"' in field_of(client.get(PATH), "p-nodes")
    assert "Nodes 6 runtime" in text(review(client))


@pytest.mark.parametrize("path", ["/submit/with/nothing", "/submit/with/other/ours", "/submit/with/%00"])
def test_runtimes_that_are_not_there_for_me(world, as_user, path):
    Runtime.objects.create(kind="TrainingRuntime", namespace="other", name="ours", observed={"spec": {}}, uid="1")
    assert as_user("boss").get(path).status_code == 404


def test_a_plain_runtime_has_a_form_of_the_common_parameters(world, as_user):
    runtime = Runtime.objects.get(name="plain-command").manifest
    own = {**runtime, "kind": "TrainingRuntime", "metadata": {"name": "ours", "namespace": "team"}}
    Runtime.objects.create(kind="TrainingRuntime", namespace="team", name="ours", observed=own, uid="1")
    client, path = as_user("owner"), "/submit/with/team/ours"
    page = client.get(path)
    assert 'name="p-nodes"' in page.content.decode()
    assert 'name="p-script"' not in page.content.decode()
    page = client.post(path, {"project": "team", "name": "plain", "p-nodes": "2", "step": "review"})
    assert client.post(path, hidden(page) | {"step": "create"}).status_code == 302
    job = TrainJob.objects.get()
    assert (job.runtime_kind, job.runtime_name, job.nodes_expected) == ("TrainingRuntime", "ours", 2)
    assert job.detail.blueprint == ""


def test_a_namespaced_runtime_is_for_its_project_only(world, as_user):
    Membership.objects.filter(user=world.users["owner"], project=world.other).update(role="engineer")
    runtime = Runtime.objects.get(name="plain-command").manifest
    Runtime.objects.create(kind="TrainingRuntime", namespace="team", name="ours", observed=runtime, uid="1")
    html = as_user("owner").get("/submit/with/team/ours").content.decode()
    assert 'value="team"' in html
    assert 'value="other"' not in html


def test_ten_megabytes_are_refused(world, as_user):
    page = as_user("owner").post(PATH, GOOD | {"p-environment": "A=" + "x" * 10_000_000})
    assert page.status_code == 413
    assert "10,000" in page.content.decode()
    assert not TrainJob.objects.exists()


def test_names_of_members_only(world, as_user):
    Project.objects.create(name="secret-lab")
    assert "secret-lab" not in as_user("owner").get(PATH).content.decode()
