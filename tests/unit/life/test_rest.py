"""REST of retry, keep, bulk and removed jobs, as each person sees it."""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs import services
from jobs.models import LogStream, TrainJob
from jobs.progress.artifacts import store_artifact
from jobs.reconcile.reconcile import reconcile_job
from jobs.state import phases
from tests.unit.life.conftest import World

As = Callable[[str], Client]
API = "/api/v1/trainjobs"


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(path, json.dumps(body or {}), content_type="application/json", headers=headers)


@pytest.mark.parametrize(
    ("who", "status"),
    [("owner", 201), ("mate", 201), ("chief", 201), ("viewer", 403), ("stranger", 404), ("nobody", 401)],
)
def test_retry(world: World, as_user: As, who: str, status: int) -> None:
    job = world.job(phase=phases.FAILED)
    answer = post(as_user(who), f"{API}/{job.pk}/retry")
    assert answer.status_code == status
    if status != 201:
        assert TrainJob.objects.count() == 1
        return
    body = answer.json()
    assert answer["Location"] == body["url"]
    assert body["name"] == "llama-retry-1"
    assert body["origin"] == {"relation": "retry", "id": str(job.pk), "name": "llama"}
    told = as_user(who).get(f"{API}/{job.pk}").json()
    assert told["successors"] == [{"relation": "retry", "id": body["id"], "name": "llama-retry-1", "phase": "Creating"}]


def test_a_retry_with_a_key_is_one_and_a_running_job_is_a_conflict(world: World, as_user: As) -> None:
    job, client = world.job(phase=phases.FAILED), as_user("owner")
    first = post(client, f"{API}/{job.pk}/retry", **{"Idempotency-Key": "k"})
    again = post(client, f"{API}/{job.pk}/retry", **{"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert again["Idempotent-Replayed"] == "true"
    assert post(client, f"{API}/{world.job('runs').pk}/retry").status_code == 409
    assert post(client, f"{API}/{job.pk}/retry", **{"Idempotency-Key": "k" * 201}).status_code == 422


@pytest.mark.parametrize(
    ("who", "status"),
    [("owner", 200), ("chief", 200), ("mate", 403), ("viewer", 403), ("stranger", 404), ("nobody", 401)],
)
def test_keep_and_release(world: World, as_user: As, settings: Any, who: str, status: int) -> None:
    settings.RETENTION_DAYS = 10
    job, client = world.job(phase=phases.SUCCEEDED), as_user(who)
    answer = post(client, f"{API}/{job.pk}/keep")
    assert answer.status_code == status
    if status == 200:
        assert answer.json()["kept"] is True
        assert answer.json()["storage"]["kept_until"] is None
        answer = post(client, f"{API}/{job.pk}/release")
        assert answer.json()["kept"] is False
        assert answer.json()["storage"]["kept_until"] > timezone.now().isoformat()


def test_bulk_answers_for_each_id_in_order(world: World, as_user: As) -> None:
    mine, theirs = world.job("mine"), world.job("theirs", owner=world.users["chief"])
    over, unseen = world.job("over", phases.SUCCEEDED), world.job("unseen", project=world.elsewhere)
    missing = uuid.uuid4()
    ids = [mine.pk, over.pk, theirs.pk, unseen.pk, missing, mine.pk]
    answer = post(
        as_user("owner"), f"{API}/bulk", {"action": "cancel", "ids": [str(i) for i in ids], "reason": "lunch"}
    )
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [(i["id"], i["status"]) for i in items] == [
        (str(mine.pk), 202),
        (str(over.pk), 409),
        (str(theirs.pk), 403),
        (str(unseen.pk), 404),
        (str(missing), 404),
    ]
    assert items[0]["job"]["name"] == "mine"
    assert items[1]["problem"]["code"] == "not_in_this_phase"
    mine.refresh_from_db()
    assert (mine.cancel_requested_by, mine.cancel_reason) == (world.users["owner"], "lunch")
    assert TrainJob.objects.filter(cancel_requested_at__isnull=False).count() == 1


@pytest.mark.parametrize("action", ["suspend", "delete", "keep", "release"])
def test_bulk_does_every_action(world: World, as_user: As, action: str) -> None:
    jobs = [world.job(f"j{n}") for n in range(3)]
    answer = post(as_user("owner"), f"{API}/bulk", {"action": action, "ids": [str(j.pk) for j in jobs]})
    assert [item["status"] for item in answer.json()["items"]] == [202] * 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], ""),
        ({"action": "explode", "ids": [str(uuid.uuid4())]}, "action"),
        ({"action": "cancel", "ids": []}, "ids"),
        ({"action": "cancel", "ids": "x"}, "ids"),
        ({"action": "cancel", "ids": [str(uuid.uuid4())] * 201}, "ids"),
        ({"action": "cancel", "ids": [str(uuid.uuid4()), 7]}, "ids[1]"),
        ({"action": "cancel", "ids": [str(uuid.uuid4())], "reason": 1}, "reason"),
        ({"action": "cancel", "ids": [str(uuid.uuid4())], "force": True}, "force"),
    ],
)
def test_bulk_says_what_is_wrong_with_its_body(world: World, as_user: As, body: Any, field: str) -> None:
    answer = as_user("owner").post(f"{API}/bulk", json.dumps(body), content_type="application/json")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_removed_jobs_are_listed_for_those_who_could_see_them(world: World, as_user: As) -> None:
    for number in range(3):
        job = world.job(f"j{number}", phases.FAILED, live=False)
        services.delete(world.users["owner"], job, "old")
        reconcile_job(job.pk)
    page = as_user("viewer").get(f"{API}/removed").json()
    assert [item["name"] for item in page["items"]] == ["j2", "j1", "j0"]
    item = page["items"][0]
    assert (item["phase"], item["owner"], item["by"], item["why"], item["reason"]) == (
        "Failed",
        "owner",
        "owner",
        "deleted",
        "old",
    )
    assert as_user("viewer").get(f"{API}/{item['id']}").status_code == 404
    assert as_user("stranger").get(f"{API}/removed").json() == {"items": [], "next": None}
    assert as_user("nobody").get(f"{API}/removed").status_code == 401
    assert as_user("viewer").get(f"{API}/removed?project=elsewhere").json()["items"] == []


def test_removed_jobs_come_in_pages(world: World, as_user: As, monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.queries.removed import removed_jobs

    for number in range(5):
        job = world.job(f"j{number}", phases.FAILED, live=False)
        services.delete(world.users["owner"], job)
        reconcile_job(job.pk)
    first = removed_jobs(world.users["viewer"], limit=2)
    second = removed_jobs(world.users["viewer"], before=first.next, limit=2)
    third = removed_jobs(world.users["viewer"], before=second.next, limit=2)
    assert [[j.name for j in page.jobs] for page in (first, second, third)] == [["j4", "j3"], ["j2", "j1"], ["j0"]]
    assert third.next is None


def test_storage_and_signs_of_life_are_told(world: World, as_user: As) -> None:
    hour = timezone.now() - timedelta(hours=1)
    job = world.job(stalled_since=hour)
    LogStream.objects.create(
        job=job, pod="p", pod_uid="u", container="node", folder="f", bytes=1234, lines=3, last_at=hour
    )
    store_artifact(job, "model", [b"12345"], 100)
    body = as_user("viewer").get(f"{API}/{job.pk}").json()
    assert body["storage"] == {
        "log_bytes": 1234, "logs": 1, "artifact_bytes": 5, "artifacts": 1, "samples": 0, "values": 0, "kept_until": None,
    }  # fmt: skip
    stamp = hour.isoformat().replace("+00:00", "Z")
    assert body["stalled"] == {"since": stamp, "last_line_at": stamp, "last_metric_at": None}
    assert as_user("viewer").get(API).json()["items"][0]["stalled_since"] == stamp


def test_artifacts_stay_when_a_job_is_cancelled_and_gone(world: World, as_user: As) -> None:
    job = world.job(phase=phases.CANCELLED, live=False)
    store_artifact(job, "model.bin", [b"weights"], 100)
    answer = as_user("viewer").get(f"{API}/{job.pk}/artifacts/model.bin")
    assert b"".join(answer.streaming_content) == b"weights"


def test_a_copy_by_rest_is_linked(world: World, as_user: As) -> None:
    origin, hidden = world.job("first", phases.SUCCEEDED), world.job("hidden", project=world.elsewhere)
    client = as_user("owner")
    answer = post(client, f"{API}?clone_of={origin.pk}", world.manifest("second"))
    assert answer.status_code == 201, answer.content
    assert answer.json()["origin"] == {"relation": "clone", "id": str(origin.pk), "name": "first"}
    for other in (hidden.pk, "nonsense"):
        answer = post(client, f"{API}?clone_of={other}", world.manifest("third"))
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "clone_of"


def test_lists_read_narrow_rows_only(world: World, as_user: As, django_assert_max_num_queries: Any) -> None:
    origin = world.job("first", phases.FAILED)
    for number in range(5):
        world.job(f"j{number}", origin=origin, origin_relation="retry", origin_name="first", eta_estimated=True)
    client = as_user("viewer")
    with django_assert_max_num_queries(5):
        assert len(client.get(API).json()["items"]) == 6
