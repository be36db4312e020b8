"""A copy of a job: the same form with its values, or its manifest; never its secrets."""

import re

import pytest

from jobs.models import TrainJob
from tests.unit.web_jobs.conftest import hidden, manifest, text
from tests.unit.web_jobs.test_manifest import kept
from trainui.accounts.models import Membership

SECRET = "hf_FAKEFAKEFAKE1234"  # noqa: S105  the shape of a token, and no token
PARAMETERS = {"epochs": 7, "learning_rate": "3e-4", "environment": {"DEBUG": "1", "HF_TOKEN": SECRET}}


@pytest.fixture
def source(world) -> TrainJob:
    return world.job("digits-3", blueprint="sample-mnist", parameters=PARAMETERS)


def opened(client, job):
    return client.get(f"/submit?clone={job.pk}", follow=True)


def test_the_form_opens_with_the_values(world, as_user, source):
    page = opened(as_user("colleague"), source)
    html = page.content.decode()
    assert "Copy of digits-3" in text(page)
    assert 'name="name" value="digits-4"' in html
    assert 'name="p-epochs" value="7"' in html
    assert 'name="p-learning_rate" value="3e-4"' in html
    assert 'name="p-hidden" value="256"' in html
    assert '<option value="team" selected>' in html
    assert "DEBUG=1" in html
    assert re.search(r"<details[^>]*advanced[^>]* open", html)


def test_secrets_are_left_out_and_named(world, as_user, source):
    page = opened(as_user("colleague"), source)
    assert SECRET not in page.content.decode()
    assert "Left out: HF_TOKEN." in text(page)


def test_changes_are_counted(world, as_user, source):
    client = as_user("colleague")
    fields = hidden(opened(client, source)) | {
        "project": "team", "name": "digits-4", "p-epochs": "9", "p-hidden": "256", "p-learning_rate": "3e-4",
        "p-environment": "DEBUG=2", "p-batch_size": "128", "step": "review",
    }  # fmt: skip
    page = client.post("/submit/with/sample-mnist", fields)
    assert "Copy of digits-3 , 2 changes: Epochs: 7 → 9; Extra environment variables" in text(page)
    client.post("/submit/with/sample-mnist", hidden(page) | {"step": "create"})
    assert TrainJob.objects.filter(name="digits-4").count() == 1


def test_a_copy_goes_on_when_its_source_is_gone(world, as_user, source):
    client = as_user("colleague")
    fields = hidden(opened(client, source)) | {"project": "team", "name": "digits-4", "step": "review"}
    source.delete()
    assert client.post("/submit/with/sample-mnist", fields).status_code == 200


def test_a_job_without_a_blueprint_opens_as_its_manifest(world, as_user):
    document = manifest("pasted", env=[{"name": "HF_TOKEN", "value": SECRET}, {"name": "A", "value": "1"}])
    document["metadata"] |= {"uid": "1", "annotations": {"trainui.dev/submission-id": "1"}}
    job = world.job("pasted", manifest=document)
    client = as_user("colleague")
    page = opened(client, job)
    assert "name: pasted-1" in kept(page)
    assert "submission-id" not in kept(page)
    assert SECRET not in page.content.decode()
    assert "Left out: HF_TOKEN." in text(page)
    review = client.post("/submit/manifest", {"text": kept(page), "step": "review"})
    assert "Review pasted-1" in text(review)


def test_a_blueprint_that_is_gone_leaves_the_manifest(world, as_user):
    job = world.job("old", blueprint="gone", parameters=PARAMETERS, manifest=manifest("old"))
    assert "name: old-1" in kept(opened(as_user("colleague"), job))


@pytest.mark.parametrize("persona", ["stranger", "admin"])
def test_strangers_cannot_copy(world, as_user, source, persona):
    answer = as_user(persona).get(f"/submit?clone={source.pk}")
    assert answer.status_code == (404 if persona == "stranger" else 302)
    way = f"/submit/with/sample-mnist?clone={source.pk}"
    assert as_user(persona).get(way).status_code == (404 if persona == "stranger" else 200)


def test_a_viewer_sees_why_there_is_no_copy(world, as_user, source):
    page = opened(as_user("viewer"), source)
    assert page.status_code == 403
    assert "You may look, but not submit" in text(page)


def test_a_viewer_here_may_copy_to_where_they_may_submit(world, as_user, source):
    Membership.objects.create(project=world.other, user=world.users["viewer"], role="engineer")
    html = opened(as_user("viewer"), source).content.decode()
    assert '<option value="other" selected>' in html
    assert '<option value="team"' not in html


@pytest.mark.parametrize("clone", ["", "nonsense"])
def test_an_address_that_names_no_job_is_the_first_step(world, as_user, clone):
    assert "Choose what it starts from" in text(as_user("owner").get(f"/submit?clone={clone}"))
