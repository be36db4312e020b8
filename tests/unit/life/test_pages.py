"""Pages of retry, keep, storage and removed jobs."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs import services
from jobs.models import LogStream, TrainJob
from jobs.reconcile.reconcile import reconcile_job
from jobs.state import phases
from tests.unit.life.conftest import World

As = Callable[[str], Client]


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def test_run_again_from_the_page_once_per_press(world: World, as_user: As) -> None:
    job, client = world.job(phase=phases.FAILED), as_user("owner")
    key = re.search(r'name="key" value="([^"]+)"', page(client, f"/jobs/{job.pk}"))[1]  # type: ignore[index]
    first = client.post(f"/jobs/{job.pk}/retry", {"key": key})
    again = client.post(f"/jobs/{job.pk}/retry", {"key": key})
    made = TrainJob.objects.get(origin=job)
    assert first["Location"] == again["Location"] == f"/jobs/{made.pk}"
    html = page(client, f"/jobs/{job.pk}")
    assert f'href="/jobs/{made.pk}">llama-retry-1</a>' in html
    assert f'name="key" value="{key}"' not in html  # the next press is the next retry
    assert "llama" in page(client, f"/jobs/{made.pk}")


def test_a_key_of_another_job_counts_for_nothing(world: World, as_user: As) -> None:
    job, other = world.job(phase=phases.FAILED), world.job("other", phases.FAILED)
    client = as_user("owner")
    client.post(f"/jobs/{job.pk}/retry", {"key": f"retry:{other.pk}:0"})
    client.post(f"/jobs/{job.pk}/retry", {"key": ""})
    assert TrainJob.objects.filter(origin=job).count() == 2


def test_what_cannot_run_again_says_why(world: World, as_user: As) -> None:
    job, client = world.job(phase=phases.FAILED), as_user("owner")
    job.detail.manifest["spec"]["runtimeRef"]["name"] = "gone"
    job.detail.save()
    answer = client.post(f"/jobs/{job.pk}/retry", follow=True)
    assert "It cannot run again as it was." in words(answer.content.decode())
    assert TrainJob.objects.count() == 1


@pytest.mark.parametrize(("who", "status"), [("viewer", 403), ("stranger", 404), ("nobody", 302)])
@pytest.mark.parametrize("action", ["retry", "keep", "release"])
def test_who_may_not(world: World, as_user: As, who: str, status: int, action: str) -> None:
    job = world.job(phase=phases.FAILED)
    assert as_user(who).post(f"/jobs/{job.pk}/{action}").status_code == status
    assert as_user("owner").get(f"/jobs/{job.pk}/{action}").status_code == 405
    job.refresh_from_db()
    assert not job.kept
    assert TrainJob.objects.count() == 1


def test_kept_data_and_its_toggle(world: World, as_user: As, settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    job = world.job(phase=phases.SUCCEEDED, finished_at=timezone.now() - timedelta(days=10))
    LogStream.objects.create(job=job, pod="p", pod_uid="u", container="node", folder="f", bytes=2_097_152, lines=3)
    client, path = as_user("owner"), f"/jobs/{job.pk}"
    text = words(page(client, path))
    assert "Logs 2.0 MB in 1 log" in text.replace("\xa0", " ")
    assert "Retention removed in 20 d" in text
    client.post(f"{path}/keep")
    html = page(client, path)
    assert "kept until somebody deletes it" in words(html)
    assert f'action="{path}/release"' in html
    client.post(f"{path}/release")
    job.refresh_from_db()
    assert not job.kept
    html = page(as_user("viewer"), path)
    assert "Retention removed in 20 d" in words(html)
    assert f"{path}/keep" not in html


def test_without_retention_there_is_nothing_to_toggle(world: World, as_user: As, settings: Any) -> None:
    settings.RETENTION_DAYS = 0
    job = world.job(phase=phases.SUCCEEDED)
    html = page(as_user("owner"), f"/jobs/{job.pk}")
    assert "Retention kept for ever" in words(html)
    assert f"/jobs/{job.pk}/keep" not in html


def test_retries_in_projects_one_may_not_see_are_not_named(world: World, as_user: As) -> None:
    job = world.job(phase=phases.FAILED)
    world.job("secret-copy", origin=job, origin_relation="clone", origin_name="llama", project=world.elsewhere)
    assert "secret-copy" not in page(as_user("viewer"), f"/jobs/{job.pk}")


def test_a_stalled_job_says_so_and_a_finished_one_no_longer(world: World, as_user: As) -> None:
    job = world.job(stalled_since=timezone.now() - timedelta(minutes=40))
    assert "No sign of life since 40 min ago" in words(page(as_user("viewer"), f"/jobs/{job.pk}"))
    TrainJob.objects.update(phase=phases.FAILED, finished_at=timezone.now())
    assert "No sign of life" not in words(page(as_user("viewer"), f"/jobs/{job.pk}"))


def test_removed_jobs(world: World, as_user: As) -> None:
    job = world.job("old-run", phases.FAILED, live=False)
    services.delete(world.users["chief"], job, "<b>superseded</b>")
    reconcile_job(job.pk)
    html = page(as_user("viewer"), "/jobs/removed")
    text = words(html)
    assert "old-run team-nlp Failed owner plain" in text
    assert "chief" in text
    assert "<b>superseded" not in html
    assert "old-run" not in page(as_user("stranger"), "/jobs/removed")
    assert "old-run" not in page(as_user("viewer"), "/jobs/removed?project=elsewhere")
    assert as_user("nobody").get("/jobs/removed").status_code == 302
    assert 'href="/jobs/removed"' in page(as_user("viewer"), "/jobs")


def test_pages_of_removed_jobs(world: World, as_user: As) -> None:
    for number in range(53):
        job = world.job(f"run-{number:02}", phases.FAILED, live=False)
        services.delete(world.users["owner"], job)
        reconcile_job(job.pk)
    client = as_user("viewer")
    html = page(client, "/jobs/removed")
    older = re.search(r'href="(\?before=\d+)" rel="next"', html)[1]  # type: ignore[index]
    second = page(client, f"/jobs/removed{older}")
    assert "run-52" in html
    assert "run-02" not in html
    assert "run-02" in second
    assert "run-03" not in second


def test_a_copy_made_by_the_form_is_linked(world: World, as_user: As) -> None:
    origin, client = world.job("first", phases.SUCCEEDED), as_user("owner")
    html = page(client, f"/submit/manifest?clone={origin.pk}")
    nonce = re.search(r'name="key" value="([^"]+)"', html)[1]  # type: ignore[index]
    text = json.dumps(world.manifest("second"))
    form = {"project": world.project.name, "text": text, "key": nonce, "clone": str(origin.pk)}
    review = client.post("/submit/manifest", form | {"step": "review"}).content.decode()
    assert f'name="clone" value="{origin.pk}"' in review
    answer = client.post("/submit/manifest", form | {"step": "create"})
    made = TrainJob.objects.get(name="second")
    assert answer["Location"] == f"/jobs/{made.pk}"
    assert (made.origin, made.origin_relation) == (origin, "clone")
    assert f'href="/jobs/{origin.pk}"' in page(client, f"/jobs/{made.pk}")


def test_many_run_again_from_the_list_by_whoever_may_submit(world: World, as_user: As) -> None:
    failed, runs = world.job("broken", phases.FAILED), world.job("runs")
    data = {"action": "retry", "job": [str(failed.pk), str(runs.pk)]}
    text = words(as_user("mate").post("/jobs/bulk", data).content.decode())
    assert "Run again 1 job?" in text
    assert "It is running." in text
    as_user("mate").post("/jobs/bulk", data | {"confirmed": "1", "job": [str(failed.pk)]})
    assert TrainJob.objects.get(origin=failed).owner == world.users["mate"]
    assert "Your role does not allow it" in words(as_user("viewer").post("/jobs/bulk", data).content.decode())


def test_the_list_says_that_a_job_is_silent(world: World, as_user: As) -> None:
    world.job(stalled_since=timezone.now())
    assert "No sign of life" in page(as_user("viewer"), "/jobs")
