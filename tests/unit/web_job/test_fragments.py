"""Live parts: fragments for htmx, 304 when nothing changed, topics and triggers that belong to the job."""

import re

import pytest

from jobs.models import TrainJob
from jobs.state import phases
from tests.unit.web_job.conftest import HTMX, archive, event, sample

PARTS = ("head", "actions", "state", "conditions", "metrics", "newest", "artifacts", "config", "values", "storage")
TABS = ("/nodes", "/logs", "/metrics", "/events")


@pytest.mark.parametrize("part", PARTS)
def test_parts_are_fragments_for_htmx_and_lead_others_to_the_page(world, as_user, part):
    job = world.job()
    sample(job, "loss", [2.0, 1.0])
    client, url = as_user("viewer"), f"/jobs/{job.pk}/parts/{part}?name=loss"
    fragment = client.get(url, headers=HTMX)
    assert fragment.status_code == 200
    assert "<html" not in fragment.content.decode()
    whole = client.get(url)
    assert (whole.status_code, whole["Location"]) == (302, f"/jobs/{job.pk}")


def test_an_unknown_part_is_not_found(world, as_user):
    assert as_user("viewer").get(f"/jobs/{world.job().pk}/parts/nothing", headers=HTMX).status_code == 404


@pytest.mark.parametrize("path", [*(f"/parts/{part}" for part in PARTS), *TABS])
def test_what_did_not_change_is_answered_304(world, as_user, path):
    job = world.job(phases.FAILED)
    archive(job, 0, ["one"])
    event(job, "Pulled")
    sample(job, "loss", [2.0, 1.0])
    client = as_user("owner")
    first = client.get(f"/jobs/{job.pk}{path}", headers=HTMX)
    again = client.get(f"/jobs/{job.pk}{path}", headers=HTMX | {"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("head", {"sentence": "Something else."}),
        ("head", {"progress_percent": 50}),
        ("actions", {"phase": phases.SUSPENDED}),
        ("state", {"phase": phases.SUSPENDED}),
    ],
)
def test_what_changed_is_sent(world, as_user, part, change):
    job = world.job()
    client, url = as_user("owner"), f"/jobs/{job.pk}/parts/{part}"
    tag = client.get(url, headers=HTMX)["ETag"]
    TrainJob.objects.filter(pk=job.pk).update(**change)
    assert client.get(url, headers=HTMX | {"If-None-Match": tag}).status_code == 200


def test_new_logs_leave_the_bar_alone_until_something_else_changes(world, as_user):
    job = world.job()
    archive(job, 0, ["one"], complete=False)
    client, url = as_user("owner"), f"/jobs/{job.pk}/logs"
    tag = client.get(url, headers=HTMX)["ETag"]
    assert client.get(url, headers=HTMX | {"If-None-Match": tag}).status_code == 304
    archive(job, 1, ["two"], complete=False)
    assert client.get(url, headers=HTMX | {"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize("page", ["", *TABS])
def test_every_live_element_listens_to_this_job_and_never_polls(world, as_user, page):
    job = world.job()
    html = as_user("viewer").get(f"/jobs/{job.pk}{page}").content.decode()
    triggers = re.findall(r'hx-trigger="([^"]+)"', html)
    assert triggers
    for trigger in triggers:
        assert "every" not in trigger
        assert f":{job.pk} from:body" in trigger or "resync" in trigger or trigger.startswith("toggle")
    ids = re.findall(r'<[^>]*hx-get="[^"]+"[^>]*>', html)
    assert all(' id="' in tag for tag in ids)


def test_a_page_of_older_events_does_not_move(world, as_user):
    job = world.job()
    last = [event(job, f"R{n}", seconds=n) for n in range(3)][1]
    html = as_user("viewer").get(f"/jobs/{job.pk}/events?before={last.pk}").content.decode()
    assert "R2" in html
    assert "R0" not in html
    assert "events-changed" not in html
