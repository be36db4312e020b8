"""Kept events: newest first, paged, warnings alone."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import JobEvent
from jobs.queries.job_page import events_page
from tests.unit.web_job.conftest import event


def reasons(html: str) -> list[str]:
    return re.findall(r'<p class="event-head"><strong>(.*?)</strong>', html)


def test_newest_first_with_warnings_counted(world, as_user):
    job = world.job()
    event(job, "Old", seconds=60)
    event(job, "Bad", type="Warning", seconds=30)
    event(job, "New", seconds=1)
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/events").content.decode()
    assert reasons(html) == ["New", "Bad", "Old"]
    assert '<span class="count">1</span>' in html
    assert reasons(client.get(f"/jobs/{job.pk}/events?type=warning").content.decode()) == ["Bad"]


@pytest.mark.parametrize("spread", [1, 0])
def test_pages_hold_every_event_once(world, spread):
    """Also when all have the same time."""
    job, at = world.job(), timezone.now()
    for n in range(25):
        row = event(job, f"R{n}")
        JobEvent.objects.filter(pk=row.pk).update(last_at=at - timedelta(seconds=n * spread))
    seen, before = [], None
    for _ in range(4):
        page = events_page(job, False, before, 10)
        seen += [row.reason for row in page.events]
        before = page.next
        if before is None:
            break
    assert sorted(seen) == sorted(f"R{n}" for n in range(25))


def test_the_filter_goes_with_the_pages(world, as_user, monkeypatch):
    monkeypatch.setattr("jobs.web.job.views.EVENTS_SHOWN", 2)
    job = world.job()
    for n in range(5):
        event(job, f"W{n}", type="Warning", seconds=n)
        event(job, f"N{n}", seconds=n)
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/events?type=warning").content.decode()
    assert reasons(html) == ["W0", "W1"]
    older = re.search(r'href="(\?type=warning&amp;before=\d+)"', html)
    assert older
    assert reasons(client.get(f"/jobs/{job.pk}/events{older[1].replace('&amp;', '&')}").content.decode()) == [
        "W2",
        "W3",
    ]


@pytest.mark.parametrize("before", ["x", "-1", "99999999", "9" * 30])
def test_a_bad_place_is_the_first_page(world, as_user, before):
    job = world.job()
    event(job, "Only")
    assert reasons(as_user("viewer").get(f"/jobs/{job.pk}/events?before={before}").content.decode()) == ["Only"]


def test_another_jobs_events_stay_there(world, as_user):
    job, other = world.job(), world.job()
    event(other, "Elsewhere")
    assert reasons(as_user("viewer").get(f"/jobs/{job.pk}/events").content.decode()) == []
