"""Charts without JavaScript, and what the script asks for."""

import re

import pytest

from jobs.models import MetricSample
from jobs.queries import job_page
from jobs.state import phases
from tests.unit.web_job.conftest import HTMX, sample


@pytest.mark.parametrize(
    ("names", "main"),
    [
        ([], ""),
        (["accuracy"], "accuracy"),
        (["accuracy", "eval_loss", "loss"], "loss"),
        (["accuracy", "eval_loss"], "eval_loss"),
        (["Loss", "a"], "Loss"),
        (["a", "train/loss", "val_loss"], "train/loss"),
    ],
)
def test_the_metric_that_stands_for_a_job(names, main):
    assert job_page.main_metric(names) == main


def test_every_metric_has_a_line_and_its_values(world, as_user):
    job = world.job()
    sample(job, "accuracy", [0.1, 0.5])
    sample(job, "loss", [2.0, 1.0, 0.5])
    html = as_user("viewer").get(f"/jobs/{job.pk}/metrics").content.decode()
    assert re.findall(r'data-chart="([^"]+)"', html) == ["loss", "accuracy"]
    assert html.count('<path class="chart-line" d="M') == 2
    assert html.count("Values as a table") == 2
    assert '<td class="num">0.5</td>' in html


def test_long_series_are_listed_thinned_with_the_newest_first(world, as_user):
    job = world.job()
    sample(job, "loss", [float(n) for n in range(1000)])
    html = as_user("viewer").get(f"/jobs/{job.pk}/parts/values?name=loss", headers=HTMX).content.decode()
    rows = re.findall(r'<td class="num">(.*?)</td>', html)
    assert rows[0] == "999"
    assert len(rows) <= 200


def test_texts_of_the_last_report_are_shown(world, as_user):
    job = world.job(
        trainer_status={"metrics": [{"name": "verdict", "value": "converged"}, {"name": "loss", "value": "9"}]}
    )
    sample(job, "loss", [0.25])
    html = as_user("viewer").get(f"/jobs/{job.pk}/parts/newest", headers=HTMX).content.decode()
    assert "converged" in html
    assert "0.25" in html
    assert ">9<" not in html


def test_the_overview_waits_for_its_first_metric(world, as_user):
    job = world.job()
    client = as_user("viewer")
    html = client.get(f"/jobs/{job.pk}/parts/metrics", headers=HTMX).content.decode()
    assert f"metrics-changed:{job.pk}" in html
    sample(job, "loss", [1.0])
    html = client.get(f"/jobs/{job.pk}/parts/metrics", headers=HTMX).content.decode()
    assert 'data-chart="loss"' in html
    assert "metrics-changed" not in html  # from here on the script appends


def test_series_then_points_are_everything_once(world, as_user):
    job = world.job()
    client = as_user("viewer")
    sample(job, "loss", [3.0, 2.0])
    whole = client.get(f"/jobs/{job.pk}/metrics/series?name=loss").json()
    sample(job, "loss", [1.0])
    sample(job, "accuracy", [0.5])
    news = client.get(f"/jobs/{job.pk}/metrics/points?after={whole['after']}").json()
    assert whole["series"]["loss"][1] == [3.0, 2.0]
    assert {name: [v for _, v in points] for name, points in news["points"].items()} == {
        "loss": [1.0],
        "accuracy": [0.5],
    }
    assert client.get(f"/jobs/{job.pk}/metrics/points?after={news['after']}").json()["points"] == {}


def test_points_come_in_bounded_parts(world, as_user, monkeypatch):
    monkeypatch.setattr(job_page, "MAX_NEW_POINTS", 3)
    job = world.job()
    sample(job, "loss", [1.0, 2.0, 3.0, 4.0])
    client = as_user("viewer")
    first = client.get(f"/jobs/{job.pk}/metrics/points").json()
    assert first["more"] is True
    second = client.get(f"/jobs/{job.pk}/metrics/points?after={first['after']}").json()
    assert [v for part in (first, second) for _, v in part["points"]["loss"]] == [1.0, 2.0, 3.0, 4.0]
    assert second["more"] is False


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 30])
def test_a_bad_place_counts_as_the_beginning(world, as_user, after):
    job = world.job()
    sample(job, "loss", [1.0])
    assert as_user("viewer").get(f"/jobs/{job.pk}/metrics/points?after={after}").json()["points"]["loss"]


def test_points_of_other_jobs_stay_there(world, as_user):
    job, other = world.job(), world.job()
    sample(other, "loss", [1.0])
    assert as_user("viewer").get(f"/jobs/{job.pk}/metrics/points").json()["points"] == {}
    assert MetricSample.objects.filter(job=job).count() == 0


@pytest.mark.parametrize(("phase", "words"), [(phases.RUNNING, "No metrics yet"), (phases.FAILED, "No metrics")])
def test_none_is_said(world, as_user, phase, words):
    assert words in as_user("viewer").get(f"/jobs/{world.job(phase).pk}/metrics").content.decode()
