"""Each state of the gang panel as people see it: wide, narrow and dark; with the keyboard, without colour, and while it changes."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from jobs.models import TrainJob, TrainJobDetail
from tests.browser.gang.scenes import SCENES, crowd, job_in
from tests.browser.job_page.test_job_page import WIDER

LOOKS = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "narrow": {"viewport": {"width": 390, "height": 844}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}


@pytest.mark.parametrize("name", SCENES)
def test_a_state(site, tmp_path: Path, name: str):
    _, phase, words = SCENES[name]
    crowd(site.world)
    job = job_in(site.world, name)
    assert job.phase == phase
    for look, options in LOOKS.items():
        page = site.open(f"/jobs/{job.pk}", **options)
        expect(page.locator("#job-head")).to_contain_text(phase)
        expect(page.locator("main")).to_contain_text(words)
        assert page.evaluate(WIDER) == []
        page.screenshot(path=str(tmp_path / f"{name}-{look}.png"), full_page=True)


def test_a_job_that_waits_says_where_it_stands_and_what_would_fit(site):
    crowd(site.world)
    job = job_in(site.world, "waiting")
    page = site.open(f"/jobs/{job.pk}")
    gang = page.locator("#gang")
    expect(gang).to_contain_text("2 of 2 in the queue: 1 job and 24 GPUs ahead.")
    expect(gang).to_contain_text("The largest gang of this shape that fits now has 3 of 8 nodes, on 3 machines.")
    page.get_by_role("link", name="The queue").click()
    expect(page.locator("#queue")).to_contain_text("llama-waiting")
    expect(page.locator("#queue")).to_contain_text("1 job, 24 GPUs")


def test_every_node_has_a_word_and_is_reached_with_the_keyboard(site):
    job = job_in(site.world, "pulling")
    page = site.open(f"/jobs/{job.pk}")
    nodes = page.locator("#gang .gang-node")
    expect(nodes).to_have_count(8)
    page.locator("#gang .gang-node").first.focus()
    for rank in range(8):
        assert page.evaluate("document.activeElement.querySelector('.gang-rank').textContent.trim()") == f"Rank {rank}"
        assert page.evaluate("document.activeElement.querySelector('.gang-word').textContent") == "Starting"
        page.keyboard.press("Tab")


def test_the_phases_of_the_start_have_owners(site):
    job = job_in(site.world, "running")
    page = site.open(f"/jobs/{job.pk}")
    rows = page.locator(".startup-list li")
    assert [row.get_attribute("data-phase") for row in rows.all()] == [
        "queued",
        "placed",
        "pulling",
        "starting",
        "first_step",
    ]
    expect(rows.nth(1)).to_contain_text("the scheduler")
    expect(rows.nth(2)).to_contain_text("30 s")
    expect(rows.nth(2)).to_contain_text("the image")
    expect(rows.nth(4)).to_contain_text("your program")


def test_the_panel_follows_the_job(site):
    job = job_in(site.world, "waiting")
    page = site.open(f"/jobs/{job.pk}")
    expect(page.locator("#gang .legend")).to_contain_text("8 waiting")
    after = job_in(site.world, "running")
    TrainJobDetail.objects.filter(job=job).update(state=after.detail.state)
    TrainJob.objects.filter(pk=job.pk).update(phase=after.phase, tone=after.tone, sentence=after.sentence)
    site.ring(page, "job-changed", job)
    expect(page.locator("#gang .legend")).to_contain_text("8 running")
    expect(page.locator(".startup-list li")).to_have_count(5)


def test_ten_thousand_nodes_are_told_by_state(site):
    job = job_in(site.world, "large")
    page = site.open(f"/jobs/{job.pk}")
    parts = page.locator(".gang-parts li")
    expect(parts).to_have_count(2)
    expect(parts.first).to_contain_text("3 starting")
    expect(parts.first).to_contain_text("17, 4,000–4,001")
    expect(page.locator("#gang .gang-node")).to_have_count(0)
    parts.first.get_by_role("link").click()
    expect(page.locator("#job-nodes, .nodes-table").first).to_contain_text("17")


def test_the_place_follows_the_queue(site):
    crowd(site.world)
    job = job_in(site.world, "waiting")
    page = site.open(f"/jobs/{job.pk}")
    assert page.locator("body").get_attribute("data-topics") == f"{job.pk} cluster"
    expect(page.locator("#job-waiting")).to_contain_text("1 job and 24 GPUs ahead")
    TrainJob.objects.filter(name="ahead-of-it").update(phase="Running")
    page.evaluate(
        "document.body.dispatchEvent(new CustomEvent('cluster-changed', {bubbles: true, detail: {stream: true}}))"
    )
    expect(page.locator("#job-waiting")).to_contain_text("nobody is ahead")
