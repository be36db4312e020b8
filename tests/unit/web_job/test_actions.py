"""What is offered in each phase and to whom, and what a POST does."""

import pytest
from django.contrib.messages import get_messages

from jobs.state import phases

OFFERS = {
    "suspend": 'action="/jobs/{id}/suspend"',
    "resume": 'action="/jobs/{id}/resume"',
    "cancel": 'action="/jobs/{id}/cancel"',
    "delete": 'action="/jobs/{id}/delete"',
    "clone": 'id="job-clone"',
    "retry": 'action="/jobs/{id}/retry"',
}


def offered(html: str, job) -> set[str]:
    return {name for name, mark in OFFERS.items() if mark.format(id=job.pk) in html}


@pytest.mark.parametrize("phase", sorted(phases.PHASES))
def test_the_owner_is_offered_what_the_phase_allows(world, as_user, phase):
    job = world.job(phase)
    assert offered(as_user("owner").get(f"/jobs/{job.pk}").content.decode(), job) == set(phases.actions(phase))


@pytest.mark.parametrize(
    ("persona", "expected"),
    [("viewer", set()), ("colleague", {"clone"}), ("admin", {"suspend", "cancel", "delete", "clone"})],
)
def test_others_are_offered_what_their_role_allows(world, as_user, persona, expected):
    job = world.job()
    assert offered(as_user(persona).get(f"/jobs/{job.pk}").content.decode(), job) == expected


@pytest.mark.parametrize(
    ("phase", "path", "column", "value"),
    [
        (phases.RUNNING, "suspend", "desired_suspend", True),
        (phases.SUSPENDED, "resume", "desired_suspend", False),
    ],
)
def test_suspend_and_resume(world, as_user, phase, path, column, value):
    job = world.job(phase)
    answer = as_user("owner").post(f"/jobs/{job.pk}/{path}", {"tab": "logs"})
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}/logs")
    job.refresh_from_db()
    assert getattr(job, column) is value
    assert "asked for" in as_user("viewer").get(f"/jobs/{job.pk}").content.decode()


def test_cancel_keeps_who_and_why(world, as_user):
    job = world.job()
    answer = as_user("owner").post(f"/jobs/{job.pk}/cancel", {"reason": " wrong data ", "tab": "nonsense"})
    assert answer["Location"] == f"/jobs/{job.pk}"
    job.refresh_from_db()
    assert (job.cancel_requested_by, job.cancel_reason) == (world.users["owner"], "wrong data")
    html = as_user("viewer").get(f"/jobs/{job.pk}").content.decode()
    assert "wrong data" in html
    assert offered(as_user("owner").get(f"/jobs/{job.pk}").content.decode(), job) == {"delete", "clone"}


def test_delete_leads_to_the_list(world, as_user):
    job = world.job(phases.SUCCEEDED)
    answer = as_user("owner").post(f"/jobs/{job.pk}/delete")
    assert answer["Location"] == "/jobs"
    job.refresh_from_db()
    assert job.delete_requested_at


def test_what_the_phase_does_not_allow_is_said(world, as_user):
    job = world.job(phases.SUCCEEDED)
    answer = as_user("owner").post(f"/jobs/{job.pk}/suspend")
    assert answer.status_code == 302
    said = [str(m) for m in get_messages(answer.wsgi_request)]
    assert len(said) == 1
    assert "Succeeded" in said[0]


def test_forms_ask_first_and_carry_a_token(world, as_user):
    job = world.job()
    html = as_user("owner").get(f"/jobs/{job.pk}").content.decode()
    for path in ("cancel", "delete"):
        place = html.index(f'action="/jobs/{job.pk}/{path}"')
        assert 'role="dialog"' in html[place - 300 : place]
        assert "csrfmiddlewaretoken" in html[place : place + 200]


def test_actions_need_a_token(world):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(world.users["owner"])
    job = world.job()
    assert client.post(f"/jobs/{job.pk}/cancel").status_code == 403
    job.refresh_from_db()
    assert job.cancel_requested_at is None
