"""One metric of several jobs: who sees which, the drawing, the values, the settings that differ."""

import json
import math
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from jobs.metrics.store import Point, keep_points
from jobs.models import MetricSample, TrainJob
from jobs.queries.compare import Point as Shown
from jobs.queries.compare import parse_ids, thinned
from jobs.state import phases
from jobs.web.compare_chart import RELATIVE, STEP, TIME, best_is, draw, x_marks, y_marks
from jobs.web.compare_settings import Setting, differences_of
from tests.unit.life.conftest import World

As = Callable[[str], Client]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def run(world: World, name: str, values: list[float], metric: str = "loss", steps: bool = True, **more: object) -> TrainJob:  # fmt: skip
    job = world.job(name, started_at=START, **more)
    points = [Point(metric, START + timedelta(seconds=10 * n), v, 5 * n if steps else None) for n, v in enumerate(values)]  # fmt: skip
    keep_points(job.pk, points)
    return job


def url(*jobs: TrainJob, **more: str) -> str:
    ids = ",".join(str(job.pk) for job in jobs)
    return f"/compare?jobs={ids}" + "".join(f"&{name}={value}" for name, value in more.items())


def page(client: Client, *jobs: TrainJob, **more: str) -> str:
    answer = client.get(url(*jobs, **more))
    assert answer.status_code == 200
    return answer.content.decode()


def test_curves_legend_and_values(world: World, as_user: As) -> None:
    a, b = run(world, "slow", [3.0, 2.0, 1.5]), run(world, "quick", [3.0, 1.0, 1.25])
    html = page(as_user("viewer"), a, b)
    assert html.count('class="series-line series-0" d="M') == 1
    assert html.count('class="series-line series-1" d="M') == 1
    table = re.search(r"<tbody>.*?</tbody>", html, re.S)[0]  # type: ignore[index]
    text = " ".join(re.sub(r"<[^>]+>", " ", table).split())
    assert "slow team-nlp · owner Running 1.5 step 10 1.5 step 10 3 step 0 3" in text
    assert "quick team-nlp · owner Running 1.25 step 10 1 step 5 3 step 0 3" in text
    assert table.count("compare-best") == 1


def test_nothing_needs_javascript_or_inline_code(world: World, as_user: As) -> None:
    html = page(as_user("viewer"), run(world, "a", [1.0, 2.0]))
    assert "style=" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)


@pytest.mark.parametrize(("who", "status"), [("owner", 200), ("viewer", 200), ("stranger", 404), ("nobody", 302)])
def test_who_may_look(world: World, as_user: As, who: str, status: int) -> None:
    assert as_user(who).get(url(run(world, "a", [1.0]))).status_code == status


def test_jobs_of_others_are_left_out_like_jobs_that_do_not_exist(world: World, as_user: As) -> None:
    mine, hidden = run(world, "mine", [1.0]), run(world, "secret-project-x", [1.0], project=world.elsewhere)
    for other in (hidden.pk, uuid.uuid4(), "nonsense"):
        html = as_user("viewer").get(f"/compare?jobs={mine.pk},{other}").content.decode()
        assert "1 of the jobs in this address is gone, or not for you to see" in html
        assert "secret-project-x" not in html
    answer = as_user("viewer").get(f"/api/v1/metrics?jobs={mine.pk},{hidden.pk}").json()
    assert [item["name"] for item in answer["items"]] == ["mine"]
    assert answer["missing"] == [str(hidden.pk)]


def test_more_jobs_than_colours_are_said_to_be_left_out(world: World, as_user: As) -> None:
    html = page(as_user("viewer"), *[run(world, f"j{n}", [1.0]) for n in range(10)])
    assert "At most 8 jobs are compared at once; 2 are left out." in html


def test_no_jobs_and_no_metrics(world: World, as_user: As) -> None:
    assert "No jobs chosen" in as_user("viewer").get("/compare").content.decode()
    assert "No metrics yet" in page(as_user("viewer"), world.job("silent"))


def test_the_metric_that_most_have_is_shown_first(world: World, as_user: As) -> None:
    a, b = run(world, "a", [1.0], "accuracy"), run(world, "b", [1.0], "accuracy")
    keep_points(a.pk, [Point("loss", START, 2.0)])
    client = as_user("viewer")
    assert '<option value="accuracy" selected>' in page(client, a, b)
    html = page(client, a, b, metric="loss")
    assert '<option value="loss" selected>loss (1 of 2)</option>' in html
    assert "reports no loss" in html
    assert '<option value="accuracy" selected>' in page(client, a, b, metric="unknown")


def test_axes(world: World, as_user: As) -> None:
    with_steps = run(world, "a", [1.0, 2.0, 3.0])
    without = run(world, "b", [1.0, 2.0], steps=False)
    client = as_user("viewer")
    assert '<a href="' in page(client, with_steps)
    assert 'id="x-step" aria-current="true"' in page(client, with_steps)
    html = page(client, with_steps, without)
    assert 'id="x-relative" aria-current="true"' in html
    html = page(client, with_steps, without, x="step")
    assert "reports no steps" in html
    assert 'series-0" d="M' in html
    assert 'series-1" d="M' not in html
    assert 'id="x-time" aria-current="true"' in page(client, with_steps, x="time")
    assert 'id="x-relative"' in page(client, with_steps, x="sideways")


def test_a_job_is_added_and_left_out(world: World, as_user: As) -> None:
    a, b = run(world, "a", [1.0]), run(world, "b", [2.0])
    run(world, "zebra", [1.0], project=world.elsewhere)
    client = as_user("viewer")
    html = page(client, a)
    assert f'<option value="{b.pk}">b · team-nlp · Running</option>' in html
    assert "zebra" not in html
    html = client.get(url(a) + f"&add={b.pk}").content.decode()
    assert "Compare 2 jobs" in html
    assert f'href="/compare?jobs={a.pk}&amp;metric=loss' in html


def test_settings_that_differ_stand_side_by_side_without_secrets(world: World, as_user: As) -> None:
    one, two = world.manifest("a"), world.manifest("b")
    two["spec"]["trainer"]["args"] = ["--lr=0.2", "--token=hunter2-hunter2"]
    two["spec"]["trainer"]["env"][0]["value"] = "another-hush-value"
    a, b = run(world, "a", [1.0], manifest=one), run(world, "b", [1.0], manifest=two)
    html = page(as_user("viewer"), a, b)
    table = html[html.index("Settings that differ") :]
    assert "--lr=0.1" in table
    assert "--lr=0.2" in table
    for secret in ("hunter2", "hush"):
        assert secret not in html


def test_a_running_comparison_listens_and_a_finished_one_does_not(world: World, as_user: As) -> None:
    a, b = run(world, "a", [1.0]), run(world, "b", [1.0], phase=phases.SUCCEEDED)
    html = page(as_user("viewer"), a, b)
    assert f'data-paced="metrics-changed:{a.pk} job-changed:{a.pk}"' in html
    assert f"metrics-changed:{b.pk}" not in html
    fragment = as_user("viewer").get(url(a, b), headers={"HX-Request": "true"})
    assert "<html" not in fragment.content.decode()
    again = as_user("viewer").get(url(a, b), headers={"HX-Request": "true", "If-None-Match": fragment["ETag"]})
    assert again.status_code == 304


def test_the_list_sends_chosen_jobs_there(world: World, as_user: As) -> None:
    jobs = [world.job("a"), world.job("b")]
    answer = as_user("viewer").post("/jobs/bulk", {"action": "compare", "job": [str(j.pk) for j in jobs]})
    assert answer.status_code == 302
    assert set(answer["Location"].split("jobs=")[1].split("%2C")) == {str(j.pk) for j in jobs}


def test_rest_gives_points_with_steps_and_exact_numbers(world: World, as_user: As) -> None:
    job = run(world, "a", [3.0, 1.0, 2.0])
    answer = as_user("viewer").get(f"/api/v1/metrics?jobs={job.pk}&metric=loss")
    body = json.loads(answer.content)
    item = body["items"][0]
    begin = START.timestamp()
    assert item["points"] == [[begin, 3.0, 0], [begin + 10, 1.0, 5], [begin + 20, 2.0, 10]]
    assert (item["last"], item["last_step"], item["lowest"], item["highest"], item["values"]) == (2.0, 10, 1.0, 3.0, 3)
    assert body["metrics"] == [{"name": "loss", "jobs": 1}]


@pytest.mark.parametrize("query", ["", "jobs=", "jobs=nonsense", "jobs=" + ",".join(str(uuid.UUID(int=n)) for n in range(9))])  # fmt: skip
def test_rest_says_what_is_wrong(world: World, as_user: As, query: str) -> None:
    answer = as_user("viewer").get(f"/api/v1/metrics?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "jobs"


def test_rest_wants_somebody(world: World, as_user: As) -> None:
    assert as_user("nobody").get(f"/api/v1/metrics?jobs={uuid.uuid4()}").status_code == 401


def test_long_series_are_thinned_for_the_page_and_numbers_stay_exact(world: World, as_user: As) -> None:
    job = world.job("long", started_at=START)
    keep_points(job.pk, [Point("loss", START + timedelta(seconds=n), math.sin(n / 9), n) for n in range(3_000)])
    assert MetricSample.objects.count() == 3_000
    item = as_user("viewer").get(f"/api/v1/metrics?jobs={job.pk}").json()["items"][0]
    assert len(item["points"]) <= 1_001
    assert max(v for _, v, _ in item["points"]) == item["highest"]


def test_parse_ids() -> None:
    a, b = uuid.uuid4(), uuid.uuid4()
    assert parse_ids([f"{a},{b},", f" {a} ", "x"]) == ([a, b], ["x"])


def test_thinned_keeps_extremes_and_the_last() -> None:
    points = [Shown(float(n), 50.0 if n == 777 else 0.0, n) for n in range(5_000)]
    left = thinned(points, 100)
    assert len(left) <= 101
    assert points[777] in left
    assert left[-1] is points[-1]


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        *((name, "low") for name in ("loss", "eval/loss", "perplexity", "wer")),
        *((name, "high") for name in ("accuracy", "val_f1", "reward", "tokens_per_sec")),
        ("lr", ""),
    ],
)
def test_which_values_are_better(metric: str, best: str) -> None:
    assert best_is(metric) == best


@pytest.mark.parametrize(
    ("curves", "log"),
    [([], False), ([[]], False), ([[(0.0, math.nan)]], False), ([[(0.0, -1.0), (1.0, 0.0)]], True)],
)
def test_nothing_to_draw(curves: list[list[tuple[float, float]]], log: bool) -> None:
    assert draw(curves, STEP, log) is None


def test_drawing_fits_the_box_whatever_the_numbers() -> None:
    for curve in ([(5.0, 5.0)], [(0.0, 1e-30), (1e9, 1e30)], [(1.0, 2.0), (1.0, 3.0)], [(0.0, -5.0), (3.0, -5.0)]):
        for axis in (STEP, TIME, RELATIVE):
            chart = draw([curve], axis)
            assert chart is not None
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", chart.lines[0].path)]
            assert all(0 <= n <= 1000 for n in numbers)
            assert all(0 <= mark.percent <= 100 for mark in (*chart.up, *chart.across))


def test_logarithms_leave_out_what_has_none() -> None:
    chart = draw([[(0.0, 100.0), (1.0, 0.0), (2.0, 1.0)]], STEP, log=True)
    assert chart is not None
    assert chart.lines[0].path.count("L") == 1
    assert [mark.label for mark in chart.up] == ["1", "10", "100"]


@pytest.mark.parametrize(
    ("left", "right", "axis", "labels"),
    [
        (0, 100, STEP, ["0", "20", "40", "60", "80", "100"]),
        (0, 240, RELATIVE, ["0", "1 min", "2 min", "3 min", "4 min"]),
        (0, 45, RELATIVE, ["0", "10 s", "20 s", "30 s", "40 s"]),
        (0, 3 * 3600, RELATIVE, ["0", "30 min", "1 h", "1:30 h", "2 h", "2:30 h", "3 h"]),
        (1_772_366_400, 1_772_366_400 + 7200, TIME, ["12:00", "12:30", "13:00", "13:30", "14:00"]),
        (1_772_366_400, 1_772_366_400 + 4 * 86400, TIME, ["02 Mar", "03 Mar", "04 Mar", "05 Mar"]),
    ],
)
def test_marks_across(left: float, right: float, axis: str, labels: list[str]) -> None:
    assert [text for _, text in x_marks(left, right, axis)] == labels


def test_marks_up_are_few_and_within() -> None:
    for low, high, log in ((0, 1, False), (-3, 2, True), (-0.2, 0.3, True), (1, 1.0001, False)):
        marks = y_marks(low, high, log)
        assert 1 <= len(marks) <= 7
        assert all(low <= value <= high for value, _ in marks)


def test_only_what_differs() -> None:
    found = differences_of([{"lr": "1", "seed": "7", "x": "••••••••"}, {"lr": "2", "seed": "7"}])
    assert found == [Setting("lr", ["1", "2"], False), Setting("x", ["••••••••", "—"], True)]
