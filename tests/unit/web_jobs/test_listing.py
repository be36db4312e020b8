"""The jobs list: who sees what, filters, pages, rows that refresh, and what it costs."""

import re
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import TrainJob
from jobs.state import phases
from jobs.web.listing_rows import middle
from tests.unit.web_jobs.conftest import HTMX, text


def names(response) -> list[str]:
    """The jobs of a page, in the order of their rows."""
    return re.findall(r"data-row-link>([^<]+)</a>", response.content.decode())


def link(response, rel: str) -> str:
    """The address of a pager's link, "" if there is none."""
    found = re.search(rf'href="([^"]+)" rel="{rel}"', response.content.decode())
    return found[1].replace("&amp;", "&") if found else ""


@pytest.mark.parametrize("path", ["/", "/jobs"])
def test_members_see_the_jobs_of_their_projects(world, as_user, path):
    world.job("mine")
    world.job("elsewhere", project=world.other, owner=world.users["stranger"])
    assert names(as_user("viewer").get(path)) == ["mine"]
    assert names(as_user("stranger").get(path)) == ["elsewhere"]
    assert sorted(names(as_user("admin").get(path))) == ["elsewhere", "mine"]
    assert sorted(names(as_user("owner").get(path))) == ["elsewhere", "mine"]


def test_a_row_says_what_one_wants_to_know(world, as_user):
    world.job("wait", phases.WAITING, sentence="Waits for 4 CPUs.", nodes_ready=1)
    page = text(as_user("viewer").get("/jobs"))
    for wanted in ("wait", "team · owner", "Waiting", "Waits for 4 CPUs.", "1 / 2", "sample-mnist"):
        assert wanted in page


def test_progress_and_its_end(world, as_user):
    world.job("going", phases.RUNNING, progress_percent=40)
    world.job("done", phases.SUCCEEDED, minutes=1, progress_percent=93)
    page = text(as_user("viewer").get("/jobs"))
    assert "40 %" in page
    assert "100 %" in page
    assert "93 %" not in page


FILTERED = [
    ("status=Failed", ["broken", "lost"]),
    ("status=Waiting", ["queued"]),
    ("phase=Lost", ["lost"]),
    ("status=Failed&phase=Lost", ["lost"]),
    ("q=QUEUE", ["queued"]),
    ("q=%20queued%20", ["queued"]),
    ("runtime=plain-command", ["broken"]),
    ("owner=me", ["lost"]),
    ("owner=owner", ["broken", "queued"]),
    ("since=2026-01-01", ["broken", "lost", "queued"]),
    ("since=2999-01-01", []),
    ("until=2026-01-01", []),
    ("project=team", ["broken", "lost", "queued"]),
    ("project=other", []),
    ("q=%00", ["broken", "lost", "queued"]),
    ("q=%25", []),
]


@pytest.mark.parametrize(("query", "wanted"), FILTERED)
def test_filters(world, as_user, query, wanted):
    world.job("queued", phases.QUEUED)
    world.job("broken", phases.FAILED, minutes=1, runtime_name="plain-command")
    world.job("lost", phases.LOST, minutes=2, owner=world.users["colleague"])
    response = as_user("colleague").get(f"/jobs?{query}")
    assert response.status_code == 200
    assert sorted(names(response)) == wanted


@pytest.mark.parametrize("query", ["phase=Nothing", "status=Nothing", "since=yesterday", "cursor=cut"])
def test_an_address_that_cannot_be_understood_says_so_and_shows_everything(world, as_user, query):
    world.job("there")
    response = as_user("viewer").get(f"/jobs?{query}")
    assert response.status_code == 422
    assert "This address cannot be shown." in text(response)
    assert names(response) == ["there"]


def test_choices_stay_chosen(world, as_user):
    html = as_user("viewer").get("/jobs?status=Failed&owner=somebody&since=2026-02-03&q=a%22b").content.decode()
    assert 'value="a&quot;b"' in html
    assert '<option value="somebody" selected>' in html
    assert '<option value="2026-02-03" selected>Since 2026-02-03' in html
    assert '<input type="hidden" name="status" value="Failed">' in html
    assert re.search(r'aria-current="true">Failed', html)


def test_chips_keep_the_other_filters_and_drop_the_phase(world, as_user):
    html = as_user("viewer").get("/jobs?project=team&phase=Lost&q=x").content.decode()
    assert 'href="/jobs?project=team&amp;q=x&amp;status=Running"' in html


def test_counts_are_capped(world, as_user, monkeypatch):
    monkeypatch.setattr("jobs.queries.listing.COUNT_CAP", 2)
    for number in range(3):
        world.job(f"done-{number}", phases.SUCCEEDED, minutes=number)
    page = text(as_user("viewer").get("/jobs"))
    assert "Succeeded 2+" in page
    assert "Running 0" in page


def test_paging_forth_and_back(world, as_user):
    for number in range(120):
        world.job(f"job-{number:03}", phases.SUCCEEDED, minutes=number)
    client = as_user("viewer")
    first = client.get("/jobs?status=Succeeded")
    assert names(first) == [f"job-{number:03}" for number in range(50)]
    assert link(first, "prev") == ""
    second = client.get(link(first, "next"))
    third = client.get(link(second, "next"))
    assert names(second) + names(third) == [f"job-{number:03}" for number in range(50, 120)]
    assert link(third, "next") == ""
    back = client.get(link(third, "prev"))
    assert names(back) == names(second)
    assert names(client.get(link(back, "prev"))) == names(first)


def test_a_job_that_comes_meanwhile_shifts_no_page(world, as_user):
    for number in range(60):
        world.job(f"job-{number:03}", minutes=number + 1)
    client = as_user("viewer")
    first = client.get("/jobs")
    world.job("newest")
    assert names(client.get(link(first, "next"))) == [f"job-{number:03}" for number in range(50, 60)]


def test_empty_states_say_what_to_do(world, as_user):
    assert "Submit the first job" in text(as_user("owner").get("/jobs"))
    viewer = text(as_user("viewer").get("/jobs"))
    assert "Your role lets you watch" in viewer
    assert "Submit the first job" not in viewer
    world.users["viewer"].memberships.all().delete()
    assert "You are in no project yet" in text(as_user("viewer").get("/jobs"))
    response = as_user("owner").get("/jobs?project=team&q=nothing")
    assert "No job matches" in text(response)
    assert 'href="/jobs?project=team"' in response.content.decode()


def queries(client, path: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(path).status_code == 200
    return [query["sql"] for query in captured]


def test_the_number_of_queries_does_not_grow_with_the_rows(world, as_user):
    client = as_user("owner")
    world.job("one", progress_percent=5, eta_seconds=60)
    few = queries(client, "/jobs")
    for number in range(60):
        owner = world.users["colleague" if number % 2 else "owner"]
        world.job(f"more-{number}", minutes=number, owner=owner, progress_percent=5, eta_seconds=60)
    many = queries(client, "/jobs")
    assert len(many) <= len(few) <= 20


def test_rows_read_no_heavy_columns(world, as_user):
    world.job("one")
    sql = " ".join(queries(as_user("owner"), "/jobs"))
    assert "jobs_trainjob" in sql
    for heavy in ("jobs_trainjobdetail", "jobs_mirrorobject", '"manifest"', '"observed"', '"fingerprint"'):
        assert heavy not in sql


def test_a_row_refreshes_alone(world, as_user):
    job = world.job("one", phases.RUNNING)
    client = as_user("owner")
    page = client.get("/jobs").content.decode()
    path = re.search(r'hx-get="(/jobs/row/[^"]+)"', page)[1].replace("&amp;", "&")
    TrainJob.objects.update(phase=phases.FAILED, tone="error", sentence="It broke.")
    response = client.get(path, headers=HTMX)
    assert "It broke." in text(response)
    assert "<tr" not in response.content.decode()
    assert f'id="pick-{job.pk}"' in response.content.decode()
    assert client.get(path, headers=HTMX | {"If-None-Match": response["ETag"]}).status_code == 304
    assert client.get(path).url == f"/jobs/{job.pk}"


def test_everybody_may_compare_and_only_who_may_change_jobs_is_offered_more(world, as_user):
    world.job("one")
    for who, offered in (("viewer", False), ("colleague", False), ("owner", True)):
        html = as_user(who).get("/jobs").content.decode()
        assert 'name="job"' in html
        assert 'value="compare"' in html
        assert ('value="suspend"' in html) is offered, "an engineer may only change own jobs"


@pytest.mark.parametrize("persona", ["stranger", "owner"])
def test_rows_of_others_are_not_there(world, as_user, persona):
    job = world.job("one", project=world.team if persona == "stranger" else world.other)
    world.users["owner"].memberships.filter(project=world.other).delete()
    assert as_user(persona).get(f"/jobs/row/{job.pk}", headers=HTMX).status_code == 404
    assert as_user(persona).get(f"/jobs/row/{uuid.uuid4()}", headers=HTMX).status_code == 404


def pulse_of(client, query: str = "") -> str:
    page = client.get(f"/jobs{query}").content.decode()
    return re.search(r'id="pulse" hx-get="([^"]+)"', page)[1].replace("&amp;", "&")


def test_new_jobs_are_announced(world, as_user):
    world.job("first", minutes=5)
    client = as_user("viewer")
    path = pulse_of(client)
    assert "new job" not in text(client.get(path, headers=HTMX))
    world.job("second", minutes=2)
    assert "1 new job, show" in text(client.get(path, headers=HTMX))
    world.job("third", minutes=1)
    world.job("older", minutes=9)
    world.job("hidden", minutes=1, project=world.other)
    assert "2 new jobs, show" in text(client.get(path, headers=HTMX))


def test_new_jobs_are_announced_on_an_empty_list_and_by_its_filters(world, as_user):
    client = as_user("viewer")
    path = pulse_of(client, "?status=Failed")
    world.job("fine", minutes=-2)
    assert "new job" not in text(client.get(path, headers=HTMX))
    world.job("broken", phases.FAILED, minutes=-2)
    page = client.get(path, headers=HTMX)
    assert "1 new job, show" in text(page)
    assert 'href="/jobs?status=Failed"' in page.content.decode()


def test_later_pages_announce_nothing(world, as_user):
    for number in range(51):
        world.job(f"job-{number}", minutes=number + 1)
    client = as_user("viewer")
    older = link(client.get("/jobs"), "next")
    path = pulse_of(client, older.removeprefix("/jobs"))
    world.job("new")
    assert "new job" not in text(client.get(path, headers=HTMX))


@pytest.mark.parametrize("newest", ["nonsense", "2026-01-01T00:00:00|x", "2026-01-01T00:00:00", "|"])
def test_a_place_that_was_cut_announces_nothing(world, as_user, newest):
    response = as_user("viewer").get("/jobs", {"part": "pulse", "newest": newest}, headers=HTMX)
    assert response.status_code == 200
    assert "new job" not in text(response)


def test_recent_jobs_of_a_runtime(world, as_user):
    for number in range(7):
        world.job(f"job-{number}", minutes=number)
    world.job("another", runtime_name="plain-command")
    world.job("hidden", project=world.other)
    page = as_user("viewer").get("/jobs/recent?runtime=sample-mnist", headers=HTMX)
    assert [f"job-{n}" in text(page) for n in range(7)] == [True] * 5 + [False] * 2
    assert "All jobs with it" in text(page)
    assert "another" not in text(page)
    assert "hidden" not in text(page)
    assert as_user("viewer").get("/jobs/recent?runtime=sample-mnist").url == "/jobs?runtime=sample-mnist"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("short", "short"),
        ("a" * 32, "a" * 32),
        ("llama3-8b-sft-lr3e4-warmup200-bf16-seed17", "llama3-8b-sft-lr3e4…-bf16-seed17"),
        ("x" * 63, "x" * 19 + "…" + "x" * 12),
    ],
)
def test_long_names_lose_their_middle(name, shown):
    assert middle(name) == shown
