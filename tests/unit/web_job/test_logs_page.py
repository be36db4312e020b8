"""The log tab: rows drawn by the server, what is chosen, and why nothing has come."""

import re

import pytest
from django.utils import timezone

from jobs.models import MirrorObject
from jobs.state import phases
from tests.unit.web_job.conftest import HTMX, archive


def texts(html: str) -> list[str]:
    return re.findall(r'<span class="log-text">(.*?)</span></div>', html)


def mirror_pod(job, name: str, status: dict) -> None:
    raw = {"metadata": {"name": name, "namespace": job.namespace}, "status": status}
    MirrorObject.objects.create(
        kind="/Pod",
        namespace=job.namespace,
        name=name,
        uid=name,
        resource_version="1",
        job=job,
        raw=raw,
        seen_at=timezone.now(),
    )


def test_all_ranks_are_merged_by_time(world, as_user):
    job = world.job()
    archive(job, 0, ["a0", "a1"])
    archive(job, 1, ["b0", "b1"])
    html = as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()
    assert texts(html) == ["a0", "b0", "a1", "b1"]
    assert 'data-query=""' in html


@pytest.mark.parametrize(("query", "rows"), [("rank=1", ["b0", "b1"]), ("pod=launch", ["mpirun"]), ("rank=9", [])])
def test_one_rank_or_pod(world, as_user, query, rows):
    job = world.job()
    archive(job, 0, ["a0"])
    archive(job, 1, ["b0", "b1"])
    archive(job, None, ["mpirun"], pod="launch", replicated_job="launcher", order=5)
    assert texts(as_user("viewer").get(f"/jobs/{job.pk}/logs?{query}").content.decode()) == rows


def test_attempts_can_be_chosen(world, as_user):
    job = world.job()
    archive(job, 0, ["first"])
    second = archive(job, 0, ["second"], pod="pod-0b", attempt=1)
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/logs?rank=0").content.decode()
    assert f"?rank=0&amp;log={second.pk}" in html
    assert texts(client.get(f"/jobs/{job.pk}/logs?rank=0&log={second.pk}").content.decode()) == ["second"]
    assert texts(client.get(f"/jobs/{job.pk}/logs?attempt=0").content.decode()) == ["first"]


def test_without_javascript_earlier_rows_are_a_link(world, as_user):
    job = world.job()
    archive(job, 0, [f"line {n}" for n in range(2500)])
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/logs").content.decode()
    assert (texts(html)[0], texts(html)[-1], len(texts(html))) == ("line 1500", "line 2499", 1000)
    assert "rows 1501–2500 of 2500" in html
    earlier = re.search(r'href="(\?start=500[^"]*)"', html)
    assert earlier
    before = client.get(f"/jobs/{job.pk}/logs{earlier[1].replace('&amp;', '&')}").content.decode()
    assert (texts(before)[0], texts(before)[-1]) == ("line 500", "line 1499")


@pytest.mark.parametrize(
    "query", ["start=x", "at=garbage", "start=99999999999999999999", "log=99", "rank=x&attempt=y", "start=5&at=1:x"]
)
def test_a_bad_address_is_no_failure(world, as_user, query):
    job = world.job()
    archive(job, 0, ["a0"])
    assert as_user("viewer").get(f"/jobs/{job.pk}/logs?{query}").status_code == 200


def test_times_are_a_link_without_javascript(world, as_user):
    job = world.job()
    archive(job, 0, ["a0"])
    client = as_user("viewer")
    plain, timed = (client.get(f"/jobs/{job.pk}/logs?rank=0{more}").content.decode() for more in ("", "&times=1"))
    assert "?rank=0&amp;times=1" in plain
    assert "log-times" not in plain.split("data-rows=")[0].split("<section")[-1]
    assert 'class="log log-wrap log-times"' in timed


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            {
                "containerStatuses": [
                    {
                        "name": "node",
                        "image": "train:1",
                        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such tag"}},
                    }
                ]
            },
            "The image train:1 cannot be pulled. no such tag",
        ),
        (
            {"containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "ContainerCreating"}}}]},
            "The container is being created.",
        ),
        (
            {
                "initContainerStatuses": [{"name": "fetch", "state": {"running": {}}}],
                "containerStatuses": [{"name": "node", "state": {"waiting": {}}}],
            },
            "Read fetch",
        ),
    ],
)
def test_what_is_waited_for_is_said(world, as_user, status, words):
    job = world.job(phases.STARTING, nodes=1)
    mirror_pod(job, "pod-0", status)
    html = as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()
    assert "Rank 0" in html
    assert words in html


def test_a_gang_without_machines_is_not_said_to_be_created(world, as_user):
    job = world.job(phases.WAITING)
    for rank in (0, 1):
        mirror_pod(job, f"pod-{rank}", {"phase": "Pending"})
    html = as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()
    assert "No machine yet" in html
    assert "Ranks 0, 1" in html
    assert "being created" not in html


def test_a_restarted_container_is_hinted_at(world, as_user):
    job = world.job(nodes=1)
    mirror_pod(job, "pod-0", {"containerStatuses": [{"name": "node", "restartCount": 3, "state": {"running": {}}}]})
    archive(job, 0, ["again"], restart=3)
    assert "restarted 3 times" in as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()


def test_logs_outlive_their_pods(world, as_user):
    job = world.job(phases.SUCCEEDED, live=False)
    archive(job, 0, ["done"])
    html = as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()
    assert texts(html) == ["done"]
    assert html.count("archived") >= 2
    assert f"/api/v1/trainjobs/{job.pk}/logs/download?stream=" in html


def test_a_log_that_is_not_whole_says_so(world, as_user):
    job = world.job()
    archive(job, 0, ["x"], problem="cut at 64 MiB")
    assert "pod-0: cut at 64 MiB" in as_user("viewer").get(f"/jobs/{job.pk}/logs").content.decode()


def test_the_viewer_of_a_pod_to_come_is_made_again(world, as_user):
    job = world.job()
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/logs?pod=late").content.decode()
    assert 'data-query="stream=0"' in html
    assert "part=view" in html
    stream = archive(job, None, ["here"], pod="late", replicated_job="launcher")
    fragment = client.get(f"/jobs/{job.pk}/logs?pod=late&part=view", headers=HTMX).content.decode()
    assert f'data-query="stream={stream.pk}"' in fragment
    assert "<html" not in fragment


def test_a_cut_row_leads_to_all_of_it(world, as_user):
    job = world.job()
    stream = archive(job, 0, ["x" * 20_000])
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/logs").content.decode()
    assert f'href="/jobs/{job.pk}/logs/row/{stream.pk}.0"' in html
    assert "x" * 20_000 not in html
    assert "x" * 20_000 in client.get(f"/jobs/{job.pk}/logs/row/{stream.pk}.0").content.decode()


@pytest.mark.parametrize("row", ["0.0", "1.99", "x.y", "1", ".", "1.-1", "9" * 50])
def test_rows_that_are_not_there(world, as_user, row):
    job = world.job()
    archive(job, 0, ["x"])
    assert as_user("viewer").get(f"/jobs/{job.pk}/logs/row/{row}").status_code == 404


def test_a_row_of_another_job_is_not_found(world, as_user):
    job, other = world.job(), world.job()
    stream = archive(other, 0, ["secret of another"])
    assert as_user("viewer").get(f"/jobs/{job.pk}/logs/row/{stream.pk}.0").status_code == 404
    assert texts(as_user("viewer").get(f"/jobs/{job.pk}/logs?log={stream.pk}").content.decode()) == []
