"""What pods report: progress with the job's own token, kept as history, and files to keep."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from jobs.models import Artifact, MetricSample, TrainJob
from jobs.state import phases
from tests.unit.api.world import World, make_job, report_header, token_of

AT = "2026-03-01T10:00:0{}Z"


def status(
    percent: int | None = 40, second: int = 0, metrics: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    told: dict[str, Any] = {"lastUpdatedTime": AT.format(second), **more}
    if percent is not None:
        told["progressPercentage"] = percent
    if metrics:
        told["metrics"] = [{"name": name, "value": value} for name, value in metrics.items()]
    return {"trainerStatus": told}


def report(job: TrainJob, body: Any, headers: dict[str, str] | None = None) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body)
    header = report_header(job) if headers is None else headers
    return Client().post(f"/progress/{job.pk}/status", data, content_type="application/json", headers=header)


def put(job: TrainJob, name: str, content: bytes, headers: dict[str, str] | None = None) -> Any:
    header = report_header(job) if headers is None else headers
    return Client().put(
        f"/progress/{job.pk}/artifacts/{name}", content, content_type="application/octet-stream", headers=header
    )


def reported(world: World) -> dict[str, Any]:
    return dict(world.get(world.at).json())


def test_a_report_is_answered_back_and_shown(world: World) -> None:
    body = status(40, metrics={"loss": "0.31", "note": "warm-up"}, estimatedRemainingSeconds=90)
    answer = report(world.job, body)
    assert (answer.status_code, answer.json()) == (200, body)
    job = reported(world)
    assert (job["progress"]["percent"], job["progress"]["eta_seconds"]) == (40, 90)
    assert job["trainer_status"] == body["trainerStatus"]


def test_the_history_is_kept(world: World) -> None:
    MetricSample.objects.all().delete()
    for second, loss in enumerate(("0.9", "0.5", "0.3")):
        assert report(world.job, status(second * 10, second, {"loss": loss, "accuracy": "0.5"})).status_code == 200
    series = {m["name"]: m for m in world.get(f"{world.at}/metrics").json()["items"]}
    assert [point[1] for point in series["accuracy"]["points"]] == [0.5] * 3
    assert [point[1] for point in series["loss"]["points"]] == [0.9, 0.5, 0.3]


def test_a_finished_job_stays_finished(world: World) -> None:
    job = make_job(world.project, world.users["alice"], name="over", phase=phases.SUCCEEDED)
    assert report(job, status(100)).status_code == 200  # the last report may come late
    job.refresh_from_db()
    assert (job.phase, job.progress_percent, job.due_at) == (phases.SUCCEEDED, 100, None)


WRONG: dict[str, Any] = {
    "a list": [],
    "status is a text": {"trainerStatus": "fine"},
    "no time": {"trainerStatus": {"progressPercentage": 5}},
    "a time in words": {"trainerStatus": {"lastUpdatedTime": "yesterday"}},
    "a time that is a number": {"trainerStatus": {"lastUpdatedTime": 5}},
    "over 100": status(101),
    "negative": status(-1),
    "half": {"trainerStatus": {"lastUpdatedTime": AT.format(0), "progressPercentage": 1.5}},
    "true": {"trainerStatus": {"lastUpdatedTime": AT.format(0), "progressPercentage": True}},
    "seconds in words": status(5, estimatedRemainingSeconds="soon"),
    "seconds beyond int32": status(5, estimatedRemainingSeconds=2**31),
    "metrics as a map": {"trainerStatus": {"lastUpdatedTime": AT.format(0), "metrics": {"loss": "1"}}},
    "a metric that is a number": {
        "trainerStatus": {"lastUpdatedTime": AT.format(0), "metrics": [{"name": "loss", "value": 1.5}]}
    },
    "a metric without a name": {"trainerStatus": {"lastUpdatedTime": AT.format(0), "metrics": [{"value": "1"}]}},
    "a long name": status(5, metrics={"n" * 65: "1"}),
    "an empty value": status(5, metrics={"loss": ""}),
    "too many": status(5, metrics={f"m{n}": "1" for n in range(257)}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_form_is_refused_and_nothing_is_kept(world: World, case: str) -> None:
    before = reported(world)["trainer_status"]
    answer = report(world.job, WRONG[case])
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    assert reported(world)["trainer_status"] == before
    assert MetricSample.objects.exclude(name="loss").count() == 0


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 5000])
def test_what_is_no_json(world: World, raw: bytes) -> None:
    assert report(world.job, raw).status_code == 422


def test_numbers_that_no_chart_can_show_are_no_points(world: World) -> None:
    MetricSample.objects.all().delete()
    assert (
        report(
            world.job, status(5, metrics={"a": "NaN", "b": "inf", "c": "1e400", "d": "words", "e": "-2.5e-3"})
        ).status_code
        == 200
    )
    assert list(MetricSample.objects.values_list("name", "value")) == [("e", -0.0025)]


def test_a_report_without_status_changes_nothing(world: World) -> None:
    assert report(world.job, {}).status_code == 200
    assert reported(world)["trainer_status"] is None


def test_a_report_that_is_too_large(world: World) -> None:
    assert report(world.job, b'{"x":"' + b"a" * (64 << 10) + b'"}').status_code == 413


def bad_headers(world: World) -> dict[str, dict[str, str]]:
    other = make_job(world.project, world.users["alice"], name="other-job")
    return {
        "none": {},
        "another job's": report_header(other),
        "an API token": {"Authorization": f"Bearer {token_of(world.users['alice'])}"},
        "cut": {"Authorization": report_header(world.job)["Authorization"][:-1]},
        "another scheme": {"Authorization": report_header(world.job)["Authorization"].replace("Bearer", "Basic")},
        "no ASCII": {"Authorization": "Bearer \xff"},
    }


def test_only_the_token_of_the_job_counts(world: World) -> None:
    for case, header in bad_headers(world).items():
        assert report(world.job, status(), header).status_code == 403, case
        assert put(world.job, "model.bin", b"x", header).status_code == 403, case
    assert reported(world)["trainer_status"] is None
    assert Artifact.objects.filter(name="model.bin").count() == 0
    signed_in = world.client("alice").post(
        f"/progress/{world.job.pk}/status", json.dumps(status()), content_type="application/json"
    )
    assert signed_in.status_code == 403


def test_a_job_that_is_not_there_and_other_methods(world: World) -> None:
    gone = TrainJob(pk=uuid.uuid4())
    assert report(gone, status()).status_code == 404
    assert report(gone, status(), report_header(world.job)).status_code == 403
    for path in (f"/progress/{world.job.pk}/status", f"/progress/{world.job.pk}/artifacts/x"):
        assert Client().get(path, headers=report_header(world.job)).status_code == 405


def test_a_file_is_kept_and_replaced(world: World) -> None:
    first = put(world.job, "out/model-1.bin", b"first")
    assert (first.status_code, first.json()["size"]) == (201, 5)
    second = put(world.job, "out/model-1.bin", b"second!")
    assert second.json()["sha256"] != first.json()["sha256"]
    (kept,) = [a for a in world.get(f"{world.at}/artifacts").json()["items"] if a["name"] == "out/model-1.bin"]
    assert (kept["size"], kept["sha256"]) == (7, second.json()["sha256"])
    assert b"".join(world.client("bob").get(kept["url"]).streaming_content) == b"second!"
    assert len(files(world)) == 2  # the other one is the world's


def files(world: World) -> list[Path]:
    return [p for p in (Path(settings.ARTIFACTS_DIR) / str(world.job.pk)).rglob("*") if p.is_file()]


@pytest.mark.parametrize(
    "name", ["../escape", "/etc/passwd", "a/../b", ".hidden", "a//b", "a b", "a%00b", "ä", "x" * 201, "-rf", "a/"]
)
def test_names_that_are_no_names(world: World, name: str) -> None:
    answer = put(world.job, name, b"x")
    assert answer.status_code in (404, 422), name
    assert len(files(world)) == 1
    assert Artifact.objects.count() == 1


def test_a_file_that_is_too_large_leaves_nothing(world: World, settings: Any) -> None:
    settings.ARTIFACT_MAX_BYTES = 1000
    assert put(world.job, "big.bin", b"x" * 1001).status_code == 413
    assert put(world.job, "fits.bin", b"x" * 1000).status_code == 201
    assert not Artifact.objects.filter(name="big.bin").exists()
    assert len(files(world)) == 2
