"""A person's way through a running instance: sign in, submit from a blueprint, watch the log live, find the job in the list, cancel another."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import chromium
from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("stack")
PATIENCE = 60_000  # milliseconds
SCRIPT = 'echo "seen live"; for n in 1 2 3 4 5 6; do sleep 0.5; echo "step $n"; done; echo "the end"'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, stack: Stack) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    page.on("console", lambda m: complaints.append(m.text) if "Content Security" in m.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    sign_in(page, stack)
    yield page
    context.close()
    assert complaints == []


def sign_in(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.url}/sign-in")
    page.fill("[name=username]", "alice")
    page.fill("[name=password]", "correct horse alice")
    page.click("button[type=submit]")
    page.wait_for_url(lambda url: "/sign-in" not in url)


def test_a_job_is_submitted_and_watched_in_the_browser(page: Page, stack: Stack) -> None:
    page.goto(f"{stack.url}/submit")
    page.get_by_role("link", name="Command").first.click()
    page.locator("[name=name]").fill("from-the-browser")
    page.locator("textarea").first.fill(SCRIPT)
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("What will be created")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(lambda url: "/jobs/" in url)
    page.get_by_role("link", name="Logs").click()
    expect(page.get_by_text("seen live")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("the end")).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".page-head, header").get_by_text("Succeeded").first).to_be_visible(timeout=PATIENCE)
    page.goto(f"{stack.url}/jobs")
    expect(page.get_by_role("link", name="from-the-browser")).to_be_visible(timeout=PATIENCE)


def test_a_job_is_cancelled_in_the_browser(page: Page, stack: Stack) -> None:
    job = stack.submit("while true; do sleep 1; done", name="to-be-cancelled")
    stack.wait(job["id"], "Running")
    page.goto(f"{stack.url}/jobs/{job['id']}")
    page.get_by_role("button", name="Cancel").first.click()
    page.get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("Cancelled").first).to_be_visible(timeout=PATIENCE)
    assert stack.wait(job["id"])["phase"] == "Cancelled"
