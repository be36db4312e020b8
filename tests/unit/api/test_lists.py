"""The list of jobs: pages both ways, filters, counts, and answers that did not change."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import TrainJob
from jobs.state import phases
from tests.unit.api.world import API, World, make_job

LIST = f"{API}/trainjobs"


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [job["name"] for job in answer.json()["items"]]


@pytest.fixture
def many(world: World) -> World:
    """Twelve more jobs; three of them came at the same moment."""
    for number in range(12):
        job = make_job(
            world.project, world.users["dora"], name=f"job-{number:02}", minutes=100 + number, phase=phases.SUCCEEDED
        )
        if number in (3, 4, 5):
            TrainJob.objects.filter(pk=job.pk).update(created_at=timezone.now() - timedelta(minutes=104))
    same = timezone.now() - timedelta(minutes=104)
    TrainJob.objects.filter(name__in=("job-03", "job-04", "job-05")).update(created_at=same)
    return world


def walk(client: Client, start: str, way: str, **query: Any) -> tuple[list[str], str]:
    """Follow `next` or `previous` from an answer on; return all names and the last cursor the other way."""
    found: list[str] = []
    cursor, back = start, ""
    while cursor:
        body = client.get(LIST, {"cursor": cursor, "limit": 5, **query}).json()
        page = [job["name"] for job in body["items"]]
        found = found + page if way == "next" else page + found
        cursor, back = body[way], body["previous" if way == "next" else "next"]
    return found, back


def test_pages_forth_and_back_hold_each_job_once(many: World) -> None:
    client = many.client("alice")
    everything = names(client.get(LIST, {"limit": 200}))
    assert len(everything) == len(set(everything)) == 13
    assert everything[0] == many.job.name
    first = client.get(LIST, {"limit": 5}).json()
    assert first["previous"] is None
    rest, _ = walk(client, first["next"], "next")
    assert [job["name"] for job in first["items"]] + rest == everything
    last = client.get(LIST, {"limit": 5, "cursor": first["next"]}).json()
    last = client.get(LIST, {"limit": 5, "cursor": last["next"]}).json()
    assert last["next"] is None
    before, _ = walk(client, last["previous"], "previous")
    assert before == everything[:10]


def test_a_job_that_comes_meanwhile_moves_no_page(many: World) -> None:
    client = many.client("alice")
    first = client.get(LIST, {"limit": 5}).json()
    expected = names(client.get(LIST, {"limit": 5, "cursor": first["next"]}))
    make_job(many.project, many.users["alice"], name="newest", minutes=0)
    assert names(client.get(LIST, {"limit": 5, "cursor": first["next"]})) == expected


def test_links_in_the_header(many: World) -> None:
    client = many.client("alice")
    answer = client.get(LIST, {"limit": 5, "q": "job"})
    assert 'rel="next"' in answer["Link"]
    assert "q=job" in answer["Link"]
    following = client.get(answer["Link"].partition(">")[0].lstrip("<"))
    assert len(names(following)) == 5
    assert 'rel="prev"' in following["Link"]


def test_a_cursor_belongs_to_its_filters_and_is_sealed(many: World) -> None:
    client = many.client("alice")
    cursor = client.get(LIST, {"limit": 5}).json()["next"]
    for query in ({"cursor": cursor, "q": "job"}, {"cursor": cursor[:-2]}, {"cursor": "x" + cursor}):
        assert client.get(LIST, query).status_code == 422


def test_a_cursor_opens_nothing_for_a_stranger(many: World) -> None:
    cursor = many.client("alice").get(LIST, {"limit": 5}).json()["next"]
    assert names(many.client("charlie").get(LIST, {"cursor": cursor})) == []


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"project": "team-a"}, 13),
        ({"project": "elsewhere"}, 0),
        ({"q": "LLAMA"}, 1),
        ({"q": "%"}, 0),
        ({"q": "job-0"}, 10),
        ({"phase": "Running"}, 1),
        ({"phase": "Running,Succeeded"}, 13),
        ({"status": "Succeeded"}, 12),
        ({"status": "Failed"}, 0),
        ({"owner": "me"}, 1),
        ({"owner": "dora"}, 12),
        ({"runtime": "plain-command"}, 13),
        ({"runtime": "other"}, 0),
    ],
)
def test_filters(many: World, query: dict[str, str], count: int) -> None:
    assert len(names(many.client("alice").get(LIST, query))) == count


def test_filters_by_time(many: World) -> None:
    client, border = many.client("alice"), (timezone.now() - timedelta(minutes=60)).isoformat()
    assert names(client.get(LIST, {"since": border})) == [many.job.name]
    assert len(names(client.get(LIST, {"until": border}))) == 12


def test_counts_stand_beside_the_page(many: World) -> None:
    body = many.client("alice").get(LIST, {"count": "capped", "limit": 1}).json()
    counted = {c["status"]: (c["count"], c["capped"]) for c in body["counts"]}
    assert (counted["Running"], counted["Succeeded"], counted["Failed"]) == ((1, False), (12, False), (0, False))
    assert "counts" not in many.client("alice").get(LIST).json()


@pytest.mark.parametrize("path", ["/trainjobs", "{at}", "{at}/nodes", "{at}/metrics", "{at}/logs", "/runtimes"])
def test_an_answer_that_did_not_change_is_not_sent_again(world: World, path: str) -> None:
    client, address = world.client("alice"), API + path.format(at=world.at)
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    stranger = world.client("charlie").get(address, headers={"If-None-Match": first["ETag"]})
    assert stranger.status_code == {"{at}": 404, "/trainjobs": 200, "/runtimes": 200}.get(path, 404)
    TrainJob.objects.filter(pk=world.job.pk).update(phase=phases.DEGRADED)
    changed = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == (200 if path in ("/trainjobs", "{at}") else 304)


def test_a_list_reads_the_database_the_same_number_of_times_however_long_it_is(
    many: World, django_assert_max_num_queries: Any
) -> None:
    client = many.client("alice")
    with django_assert_max_num_queries(8):
        assert len(names(client.get(LIST, {"limit": 200}))) == 13
