"""static/js/logs.js in a real browser over real archives, under the content security policy."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from jobs.logs.archive import Archive
from jobs.logs.splitter import Splitter
from tests.chromium import chromium
from tests.unit.logs.log_tools import BASE, served, write
from tests.unit.logs.viewer_server import ViewerServer

AT_END = "() => { const b = document.querySelector('[data-log-rows]'); return b.scrollHeight - b.clientHeight - b.scrollTop < 4; }"
STILL = """() => { const at = document.querySelector('[data-log-rows]').scrollTop;
    const still = at === window.wasAt; window.wasAt = at; return still; }"""
HAS_LATE = "() => [...document.querySelectorAll('.log-text')].some(e => e.textContent === 'late line')"
FIRST_SEEN = """() => { const box = document.querySelector('[data-log-rows]').getBoundingClientRect();
    const row = [...document.querySelectorAll('.log-row')].find(r => r.getBoundingClientRect().bottom > box.top + 1);
    return [row.dataset.id, Math.round(row.getBoundingClientRect().top - box.top)]; }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda m: complaints.append(m.text) if "Content Security" in m.text else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ViewerServer]:
    running = ViewerServer([tmp_path / "0"])
    running.start()
    yield running
    running.stop()


class Writer:
    """A container that goes on writing."""

    def __init__(self, folder: Path) -> None:
        self.archive, self.splitter, self.now = Archive(folder), Splitter(), BASE

    def write(self, *lines: bytes) -> None:
        self.archive.append(self.splitter.feed(served(lines, start=self.now, step=1000)))
        self.now += len(lines) * 1000


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "0")
    yield made
    made.archive.close()


def open_page(server: ViewerServer, page: Page) -> None:
    page.goto(f"{server.url}/page")
    page.wait_for_selector("[data-ready]")


def ring(page: Page, job: str = "j1", name: str = "trainui:log") -> None:
    page.evaluate(
        "([name, job]) => document.dispatchEvent(new CustomEvent(name, {detail: {job, stream: 1, lines: 1}}))",
        [name, job],
    )


def last_text(page: Page) -> str:
    return page.locator(".log-text").last.text_content() or ""


def test_without_script_the_last_rows_are_there(server: ViewerServer, browser: Browser, writer: Writer) -> None:
    writer.write(*(b"line %d" % number for number in range(1500)))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.url}/page")
    assert page.locator(".log-row").count() == 1000
    assert last_text(page) == "line 1499"
    context.close()


def test_opens_at_the_end_and_follows(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(*(b"line %d" % number for number in range(3000)))
    open_page(server, page)
    assert last_text(page) == "line 2999"
    assert page.evaluate(AT_END)
    for number in range(3):
        writer.write(b"more %d" % number)
        ring(page)
        expect(page.locator(".log-text").last).to_have_text(f"more {number}")
        assert page.evaluate(AT_END)
    assert page.locator(".log-row").count() < 1500


def test_redrawn_rows_are_replaced(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"epoch 1", b"bar 10%")
    open_page(server, page)
    writer.write(b"\x1b[Abar 20%")
    ring(page, name="log-appended")
    expect(page.locator(".log-text").last).to_have_text("bar 20%")
    writer.write(b"\x1b[Abar 30%", b"\x1b[32mafter\x1b[0m")
    ring(page, name="log-appended")
    expect(page.locator(".log-text").last).to_have_text("after")
    assert page.locator(".log-text").all_text_contents() == ["epoch 1", "bar 30%", "after"]
    assert page.locator(".fg-green").count() == 1


def test_scrolling_up_stops_following_and_keeps_the_place(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(*(b"line %d" % number for number in range(5000)))
    open_page(server, page)
    page.locator("[data-log-rows]").hover()
    page.mouse.wheel(0, -2000)
    expect(page.locator("[data-log-follow]")).to_have_attribute("aria-pressed", "false")
    page.wait_for_function(STILL)
    place = page.evaluate(FIRST_SEEN)
    writer.write(b"late line")
    ring(page)
    page.wait_for_function(HAS_LATE)
    assert page.evaluate(FIRST_SEEN) == place
    page.locator("[data-log-follow]").click()
    expect(page.locator(".log-text").last).to_have_text("late line")
    page.wait_for_function(AT_END)


def test_any_place_of_a_long_log(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(*(b"line %d" % number for number in range(100_000)))
    open_page(server, page)
    page.locator("[data-log-rows]").focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-log-follow]")).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".log-text").first).to_have_text("line 0")
    page.evaluate("() => { const b = document.querySelector('[data-log-rows]'); b.scrollTop = b.scrollHeight / 2; }")
    page.wait_for_function("""() => { const box = document.querySelector('[data-log-rows]').getBoundingClientRect();
        return [...document.querySelectorAll('.log-row')].some(r => r.getBoundingClientRect().top > box.top
            && r.getBoundingClientRect().top < box.bottom && Math.abs(r.dataset.n - 50000) < 1000); }""")
    assert page.locator(".log-row").count() < 1500
    page.keyboard.press("End")
    expect(page.locator(".log-text").last).to_have_text("line 99999")


def test_find(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(*(b"NEEDLE" if number in (3, 7000) else b"line %d" % number for number in range(10_000)))
    open_page(server, page)
    page.locator("[data-log-rows]").focus()
    page.keyboard.press("Control+f")
    expect(page.locator("[data-log-find]")).to_be_focused()
    page.keyboard.type("needle")
    for found, position in (("1 of 2", 3), ("2 of 2", 7000), ("1 of 2", 3)):
        page.keyboard.press("Enter")
        expect(page.locator("[data-log-found]")).to_have_text(found)
        expect(page.locator(".log-hit")).to_have_attribute("data-n", str(position))
        expect(page.locator(".log-hit")).to_be_in_viewport()
    page.keyboard.press("Shift+Enter")
    expect(page.locator("[data-log-found]")).to_have_text("2 of 2")
    page.locator("[data-log-find]").fill("nowhere")
    page.keyboard.press("Enter")
    expect(page.locator("[data-log-found]")).to_have_text("No match")
    page.keyboard.press("Escape")
    expect(page.locator("[data-log-rows]")).to_be_focused()


def test_find_without_a_server_that_searches(server: ViewerServer, page: Page, writer: Writer) -> None:
    server.search = False
    writer.write(b"a", b"needle", b"b")
    open_page(server, page)
    page.locator("[data-log-find]").fill("NEED")
    page.locator("[data-log-next]").click()
    expect(page.locator("[data-log-found]")).to_have_text("1 of 1")
    expect(page.locator(".log-hit .log-text")).to_have_text("needle")


def test_hostile_text_is_text(server: ViewerServer, page: Page, writer: Writer) -> None:
    hostile = b"<img src=x onerror=\"document.title='hacked'\"></div><script>1</script>{{ 7*7 }}"
    writer.write(hostile, b"\x1b]8;;https://example.test/\x07link\x1b]8;;\x07")
    open_page(server, page)
    assert page.locator(".log-text").first.text_content() == hostile.decode()
    assert page.title() == "log"
    assert page.locator(".log-text img").count() == 0
    assert page.locator(".log-text a").get_attribute("href") == "https://example.test/"


def test_show_all_of_a_long_row(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"x" * 30_000)
    open_page(server, page)
    assert len(last_text(page)) == 10_000
    page.get_by_role("button", name="Show all 30,000 characters").click()
    page.wait_for_function("() => document.querySelector('.log-text').textContent.length === 30000")


def test_times_and_wrap(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"word " * 500)
    open_page(server, page)
    expect(page.locator(".log-time").first).to_be_hidden()
    page.get_by_role("button", name="Timestamps").click()
    expect(page.locator(".log-time").first).to_be_visible()
    height = page.locator(".log-row").first.bounding_box()
    page.get_by_role("button", name="Wrap").click()
    wrapped = page.locator(".log-row").first.bounding_box()
    assert height
    assert wrapped
    assert wrapped["height"] > 2 * height["height"]


def test_ranks_are_told_apart(server: ViewerServer, page: Page, tmp_path: Path) -> None:
    for rank in range(2):
        write(tmp_path / str(rank), served([b"rank %d" % rank]))
    server.folders = [tmp_path / "0", tmp_path / "1"]
    open_page(server, page)
    colours = page.evaluate("() => [...document.querySelectorAll('.log-rank')].map(e => getComputedStyle(e).color)")
    assert len(set(colours)) == 2


def test_other_jobs_are_not_heard(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"one")
    open_page(server, page)
    page.wait_for_function("() => performance.getEntriesByType('resource').some(e => e.name.includes('/tail'))")
    before = len(server.requests)
    ring(page, job="another")
    writer.write(b"two")
    ring(page)
    expect(page.locator(".log-text").last).to_have_text("two")
    assert len([request for request in server.requests[before:] if request.startswith("/tail")]) <= 2


def test_a_server_that_fails_is_asked_again(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"one")
    open_page(server, page)
    page.wait_for_function("() => performance.getEntriesByType('resource').some(e => e.name.includes('/tail'))")
    server.fail = 2
    writer.write(b"two")
    ring(page)
    expect(page.locator(".log-text").last).to_have_text("two")


def test_an_empty_log_says_so_and_fills(server: ViewerServer, page: Page, writer: Writer) -> None:
    open_page(server, page)
    expect(page.locator("[data-log-state]")).to_have_text("Nothing has been written yet.")
    writer.write(b"first")
    ring(page)
    expect(page.locator(".log-text")).to_have_text("first")
    expect(page.locator("[data-log-state]")).to_have_text("")


def test_a_burst_becomes_the_new_end(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(b"start")
    open_page(server, page)
    writer.write(*(b"burst %d" % number for number in range(20_000)))
    ring(page)
    expect(page.locator(".log-text").last).to_have_text("burst 19999")
    page.wait_for_function(AT_END)
    assert page.locator(".log-row").count() < 1500


def test_selected_text_stays_selected(server: ViewerServer, page: Page, writer: Writer) -> None:
    writer.write(*(b"line %d" % number for number in range(600)))
    open_page(server, page)
    page.evaluate("() => getSelection().selectAllChildren(document.querySelector('[data-n=\"590\"] .log-text'))")
    for number in range(3):
        writer.write(*(b"more %d" % (number * 300 + at) for at in range(300)))
        ring(page)
        expect(page.locator(".log-text").last).to_have_text(f"more {number * 300 + 299}")
    assert page.evaluate("() => String(getSelection())") == "line 590"
