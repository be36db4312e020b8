"""Actions for many jobs: asked first, done by the services, each job for itself."""

import uuid

import pytest

from jobs.models import TrainJob
from jobs.state import phases
from tests.unit.web_jobs.conftest import hidden, text


def asked() -> dict[str, bool]:
    return {job.name: job.cancel_requested_at is not None for job in TrainJob.objects.all()}


def test_it_is_asked_first_and_then_done(world, as_user):
    chosen = [world.job("one"), world.job("two"), world.job("over", phases.SUCCEEDED)]
    world.job("not-chosen")
    client = as_user("owner")
    data = {"action": "cancel", "job": [str(job.pk) for job in chosen], "status": "Running"}
    page = client.post("/jobs/bulk", data)
    assert page.status_code == 200
    assert "Cancel 2 jobs?" in text(page)
    assert "It is succeeded." in text(page)
    assert not any(asked().values())
    answer = client.post("/jobs/bulk", data | {"confirmed": "1", "job": [str(job.pk) for job in chosen[:2]]})
    assert answer.url == "/jobs?status=Running"
    assert asked() == {"one": True, "two": True, "over": False, "not-chosen": False}
    assert "2 jobs are being cancelled." in text(client.get("/jobs"))


def test_the_question_carries_the_jobs_that_fit(world, as_user):
    job = world.job("one", phases.SUSPENDED)
    page = as_user("owner").post("/jobs/bulk", {"action": "resume", "job": [str(job.pk)], "q": "o"})
    fields = hidden(page)
    assert fields["job"] == str(job.pk)
    assert (fields["action"], fields["confirmed"], fields["q"]) == ("resume", "1", "o")


@pytest.mark.parametrize(
    ("persona", "done"), [("owner", True), ("boss", True), ("colleague", False), ("viewer", False)]
)
def test_roles(world, as_user, persona, done):
    job = world.job("one")
    data = {"action": "cancel", "job": [str(job.pk)]}
    assert ("Cancel 1 job?" in text(as_user(persona).post("/jobs/bulk", data))) is done
    client = as_user(persona)
    client.post("/jobs/bulk", data | {"confirmed": "1"})
    assert asked()["one"] is done
    if not done:
        assert "Your role does not allow this" in text(client.get("/jobs"))


def test_a_stranger_cannot_even_name_it(world, as_user):
    job = world.job("not-yours")
    client = as_user("stranger")
    answer = client.post("/jobs/bulk", {"action": "delete", "job": [str(job.pk)], "confirmed": "1"})
    assert answer.url == "/jobs"
    assert asked() == {"not-yours": False}
    assert "not-yours" not in text(client.get("/jobs"))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"action": "cancel"},
        {"action": "explode", "confirmed": "1"},
        {"action": "cancel", "job": ["nonsense", str(uuid.uuid4())], "confirmed": "1"},
    ],
)
def test_nothing_chosen_does_nothing(world, as_user, data):
    world.job("one")
    client = as_user("owner")
    assert client.post("/jobs/bulk", data).url == "/jobs"
    assert asked() == {"one": False}
    assert "Choose jobs first" in text(client.get("/jobs"))


def test_a_job_that_ended_meanwhile_is_named(world, as_user):
    jobs = [world.job("one"), world.job("over", phases.SUCCEEDED)]
    client = as_user("owner")
    client.post("/jobs/bulk", {"action": "cancel", "job": [str(j.pk) for j in jobs], "confirmed": "1"})
    page = text(client.get("/jobs"))
    assert "1 job is being cancelled." in page
    assert "over: team/over is Succeeded" in page


def test_it_is_no_page(world, as_user):
    assert as_user("owner").get("/jobs/bulk").status_code == 405
