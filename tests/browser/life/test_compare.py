"""What only a browser shows of a comparison: values under the pointer and by keys, growing curves, choices, narrow screens."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from jobs.metrics.store import Point, keep_points
from jobs.models import TrainJob
from tests.browser.life.conftest import Site

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
WIDER = "() => document.documentElement.scrollWidth - innerWidth"


def run(site: Site, name: str, values: list[float]) -> TrainJob:
    job = site.world.job(name, started_at=START)
    keep_points(job.pk, [Point("loss", START + timedelta(seconds=60 * n), v, 100 * n) for n, v in enumerate(values)])
    return job


def address(*jobs: TrainJob, **more: str) -> str:
    query = "".join(f"&{name}={value}" for name, value in more.items())
    return f"/compare?jobs={','.join(str(job.pk) for job in jobs)}{query}"


def said(page: Page, index: int) -> str:
    return page.locator(f".compare-legend [data-series='{index}'] [data-said]").inner_text()


def test_values_are_read_with_the_keyboard_and_put_back(site: Site) -> None:
    page = site.open(address(run(site, "a", [4.0, 2.0, 1.0]), run(site, "b", [8.0, 4.0, 3.0]), x="step"))
    assert [said(page, n) for n in (0, 1)] == ["1", "3"]
    page.focus("#compare-chart")
    page.keyboard.press("Home")
    expect(page.locator("[data-where]")).to_have_text("step 0")
    assert [said(page, n) for n in (0, 1)] == ["4", "8"]
    page.keyboard.press("End")
    expect(page.locator("[data-where]")).to_have_text("step 200")
    for _ in range(5):
        page.keyboard.press("Shift+ArrowLeft")
    expect(page.locator("[data-where]")).to_have_text("step 100")
    assert [said(page, n) for n in (0, 1)] == ["2", "4"]
    page.keyboard.press("Escape")
    expect(page.locator("[data-where]")).to_have_text("step")
    assert [said(page, n) for n in (0, 1)] == ["1", "3"]


@pytest.mark.parametrize(("axis", "where"), [("relative", "after 1:00"), ("step", "step 100")])
@pytest.mark.parametrize("scale", ["", "log"])
def test_the_pointer_marks_the_curves_where_they_are(site: Site, axis: str, where: str, scale: str) -> None:
    page = site.open(address(run(site, "a", [4.0, 2.0, 1.0]), x=axis, scale=scale))
    box = page.locator(".compare-svg").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    expect(page.locator("[data-where]")).to_have_text(where)
    assert said(page, 0) == "2"
    dot = page.locator("circle[data-series='0']").bounding_box()
    path = page.locator("path[data-series='0']")
    middle = path.evaluate(
        "p => { const m = p.getPointAtLength(0), all = p.getAttribute('d').slice(1).split('L').map(t => t.split(' ').map(Number));"
        " const s = p.getScreenCTM(); return s.f + s.d * all[1][1]; }"
    )
    assert dot
    assert abs(dot["y"] + dot["height"] / 2 - middle) < 1.5


def test_curves_grow_while_one_looks(site: Site) -> None:
    job = run(site, "a", [4.0, 2.0])
    page = site.open(address(job))
    assert said(page, 0) == "2"
    keep_points(job.pk, [Point("loss", START + timedelta(seconds=180), 0.5, 300)])
    site.ring(page, "metrics-changed", str(job.pk))
    expect(page.locator(".compare-legend [data-said]")).to_have_text("0.5")
    page.focus("#compare-chart")
    page.keyboard.press("End")
    expect(page.locator("[data-where]")).to_have_text("step 300")


def test_a_job_is_added_by_its_select(site: Site) -> None:
    a, b = run(site, "a", [4.0, 2.0]), run(site, "b", [3.0, 1.0])
    page = site.open(address(a))
    page.select_option("#add", str(b.pk))
    expect(page.locator("h1")).to_have_text("Compare 2 jobs")


def test_from_the_list(site: Site) -> None:
    run(site, "a", [4.0, 2.0])
    run(site, "b", [3.0, 1.0])
    page = site.open("/jobs", who="viewer")
    page.check("[data-pick-all]")
    page.click("button[value=compare]")
    expect(page.locator("h1")).to_have_text("Compare 2 jobs")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(site: Site, width: int) -> None:
    jobs = [run(site, f"llama3-8b-instruct-sft-run-{n}", [4.0, 2.0, 1.0]) for n in range(6)]
    page = site.open(address(*jobs), viewport={"width": width, "height": 800})
    assert page.evaluate(WIDER) <= 0


def test_without_javascript(site: Site) -> None:
    a, b = run(site, "a", [4.0, 2.0]), run(site, "b", [3.0, 1.0])
    page = site.open(address(a), java_script_enabled=False)
    expect(page.locator("path.series-line")).to_have_count(1)
    page.select_option("#add", str(b.pk))
    page.click("text=Show")
    expect(page.locator("path.series-line")).to_have_count(2)
