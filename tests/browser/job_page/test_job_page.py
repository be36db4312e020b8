"""What only a browser shows: charts, live parts that leave the reader alone, dialogs, narrow screens."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.models import MetricSample, TrainJob
from jobs.state import phases
from tests.unit.web_job.conftest import archive, sample

WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest('.table-wrap, .tabs, pre, .log-rows')).map(e => e.outerHTML.slice(0, 120))"""
TABS = ("", "/nodes", "/logs", "/metrics", "/events", "/manifest")


def test_a_chart_takes_the_place_of_the_line_and_grows(site):
    job = site.world.job()
    sample(job, "loss", [2.0, 1.5, 1.25])
    page = site.open(f"/jobs/{job.pk}")
    expect(page.locator(".chart .uplot")).to_have_count(1)
    expect(page.locator(".chart-svg")).to_be_hidden()
    expect(page.locator("[data-chart-said]")).to_have_text("1.25 newest")
    MetricSample.objects.create(job=job, name="loss", at=timezone.now(), value=0.5)
    site.ring(page, "metrics-changed", job)
    expect(page.locator("[data-chart-said]")).to_have_text("0.5 newest")
    expect(page.locator("[data-chart-range]")).to_have_text("from 0.5 to 2")


def test_a_chart_is_read_with_the_keyboard(site):
    job = site.world.job()
    sample(job, "loss", [2.0, 1.5, 1.25])
    page = site.open(f"/jobs/{job.pk}/metrics")
    expect(page.locator(".uplot")).to_have_count(1)
    page.focus("[data-chart=loss]")
    for key, said in (
        ("Home", "2 after 0 s"),
        ("ArrowRight", "1.5 after 1 s"),
        ("End", "1.25 after 2 s"),
        ("ArrowLeft", "1.5 after 1 s"),
    ):
        page.keyboard.press(key)
        expect(page.locator("[data-chart-said]")).to_have_text(said)


def test_a_metric_that_is_new_gets_its_chart(site):
    job = site.world.job()
    sample(job, "loss", [2.0, 1.5])
    page = site.open(f"/jobs/{job.pk}/metrics")
    expect(page.locator(".uplot")).to_have_count(1)
    sample(job, "accuracy", [0.1, 0.2])
    site.ring(page, "metrics-changed", job)
    expect(page.locator(".uplot")).to_have_count(2)
    expect(page.locator("#job-newest")).to_contain_text("accuracy")


def test_charts_stay_when_the_job_changes_and_come_when_there_are_none(site):
    job = site.world.job()
    page = site.open(f"/jobs/{job.pk}/metrics")
    expect(page.locator("#job-charts")).to_contain_text("No metrics yet")
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.SUCCEEDED)
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-charts")).to_contain_text("The program reported none")
    sample(job, "loss", [2.0, 1.5])
    site.ring(page, "metrics-changed", job)
    expect(page.locator(".uplot")).to_have_count(1)
    page.evaluate("document.querySelector('.uplot').dataset.mark = 1")
    MetricSample.objects.create(job=job, name="loss", at=timezone.now(), value=1.0)
    TrainJob.objects.filter(pk=job.pk).update(sentence="Something new is said.")
    site.ring(page, "metrics-changed", job)
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-head")).to_contain_text("Something new is said.")
    expect(page.locator("[data-chart-said]")).to_have_text("1 newest")
    expect(page.locator(".uplot")).to_have_attribute("data-mark", "1")


def test_the_first_metric_brings_the_chart_to_the_overview(site):
    job = site.world.job()
    page = site.open(f"/jobs/{job.pk}")
    expect(page.locator("[data-chart]")).to_have_count(0)
    sample(job, "loss", [2.0, 1.5])
    site.ring(page, "metrics-changed", job)
    expect(page.locator(".uplot")).to_have_count(1)


def test_a_change_moves_neither_focus_nor_place(site):
    job = site.world.job(nodes=40)
    page = site.open(f"/jobs/{job.pk}")
    page.focus("#job-suspend")
    page.evaluate("scrollTo(0, 200)")
    TrainJob.objects.filter(pk=job.pk).update(sentence="Something new is said.")
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-head")).to_contain_text("Something new is said.")
    assert page.evaluate("[document.activeElement.id, scrollY]") == ["job-suspend", 200]
    page.evaluate("document.querySelector('#gang').dataset.mark = 1")
    TrainJob.objects.filter(pk=job.pk).update(sentence="And again.")
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-head")).to_contain_text("And again.")
    expect(page.locator("#gang")).to_have_attribute("data-mark", "1")  # it did not change, so it was not replaced


def test_a_new_phase_brings_its_actions(site):
    job = site.world.job()
    page = site.open(f"/jobs/{job.pk}/nodes")
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.SUSPENDED, tone="warn")
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-resume")).to_be_visible()
    expect(page.locator("#job-suspend")).to_have_count(0)


def test_a_dialog_in_use_is_not_taken_away(site):
    job = site.world.job()
    page = site.open(f"/jobs/{job.pk}")
    page.click("#job-actions >> text=Cancel")
    page.fill("[name=reason]", "wrong da")
    TrainJob.objects.filter(pk=job.pk).update(phase=phases.SUSPENDED, sentence="Held.")
    site.ring(page, "job-changed", job)
    expect(page.locator("#job-head")).to_contain_text("Held.")
    expect(page.locator("[name=reason]")).to_have_value("wrong da")


def test_cancel_without_javascript(site):
    job = site.world.job()
    page = site.open(f"/jobs/{job.pk}/logs", java_script_enabled=False)
    expect(page.get_by_role("button", name="Cancel the job")).to_be_hidden()
    page.get_by_role("button", name="Cancel").click()
    page.locator("[name=reason]").fill("wrong data")
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("#messages")).to_contain_text("is being cancelled")
    assert page.url.endswith("/logs")
    job.refresh_from_db()
    assert job.cancel_reason == "wrong data"


def test_the_log_goes_on_where_the_server_stopped(site):
    job = site.world.job()
    archive(job, 0, [f"line {n}" for n in range(30)], complete=False)
    page = site.open(f"/jobs/{job.pk}/logs")
    expect(page.locator("[data-log][data-ready]")).to_have_count(1)
    expect(page.locator(".log-rows")).to_contain_text("line 29")
    archive(job, 1, ["a line of another rank"], complete=False)
    site.ring(page, "log-appended", job)
    expect(page.locator(".log-rows")).to_contain_text("a line of another rank")
    site.ring(page, "job-changed", job)
    expect(page.locator("#log-bar")).to_contain_text("Rank 1")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_tab_is_wider_than_the_screen(site, width):
    job = site.world.job(phases.FAILED, nodes=40, name="a-rather-long-name-that-has-no-place-to-break-anywhere-at-all")
    archive(job, 1, ["x" * 3000])
    sample(job, "a_metric_with_a_name_that_is_as_long_as_names_of_metrics_may_be", [2.0, 1.0])
    for tab in TABS:
        page = site.open(f"/jobs/{job.pk}{tab}", viewport={"width": width, "height": 800})
        page.wait_for_load_state("networkidle")
        assert page.evaluate(WIDER) == [], tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_follow_the_theme(site, scheme):
    job = site.world.job()
    sample(job, "loss", [2.0, 1.5])
    page = site.open(f"/jobs/{job.pk}", color_scheme=scheme)
    expect(page.locator(".uplot")).to_have_count(1)
    colour = """() => { const canvas = document.querySelector('.uplot canvas'), seen = new Set();
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
        return seen.has('35,81,200') ? 'light' : seen.has('143,176,255') ? 'dark' : 'neither'; }"""
    assert page.evaluate(colour) == scheme
    other = "dark" if scheme == "light" else "light"
    page.evaluate(f"document.documentElement.dataset.theme = '{other}'")
    page.wait_for_function(f"({colour})() === '{other}'")
