"""static/js/events.js and app.js in a real browser, under the real content security policy."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.ui.server import FrameServer
from tests.chromium import chromium
from trainui.ui import times

LISTEN = """names => { window.got = []; for (const name of names)
    document.addEventListener(name, e => window.got.push([name, e.detail])); }"""
HIDE = """hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange')); }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def frame() -> Iterator[FrameServer]:
    server = FrameServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda m: complaints.append(m.text) if "Content Security" in m.text else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert complaints == []


def event(name: str, entry: str, subject: str, **data: object) -> str:
    return f"id: {entry}\nevent: {name}\ndata: {json.dumps({'subject': subject, 'data': data})}\n\n"


def opened(frame: FrameServer, page: Page):
    """Load the page and return its one stream."""
    page.goto(f"{frame.url}/page")
    page.wait_for_selector("[data-state=open]")
    (stream,) = frame.open_streams()
    return stream


def test_topics_are_gathered_and_events_reach_scripts_and_fragments(frame, page):
    frame.topics = "job-b  job-a"
    frame.body = (
        '<div data-topics="job-a run-c"></div>'
        '<div id="one" hx-get="/part/one" hx-trigger="job-changed:job-a from:body">old</div>'
        '<div id="all" hx-get="/part/all" hx-trigger="job-changed from:body">old</div>'
    )
    frame.fragments = {"one": ('W/"1"', "new one"), "all": ('W/"1"', "new all")}
    stream = opened(frame, page)
    assert stream.query == {"topics": "job-a,job-b,run-c", "last": ""}
    page.evaluate(LISTEN, ["job-changed", "job-changed:job-b"])
    frame.send(stream, event("job-changed", "5-1", "job-b", phase="Running"))
    page.wait_for_selector("text=new all")
    assert page.inner_text("#one") == "old"
    detail = {"stream": True, "id": "5-1", "subject": "job-b", "data": {"phase": "Running"}}
    assert page.evaluate("window.got") == [["job-changed", detail], ["job-changed:job-b", detail]]
    frame.send(stream, event("job-changed", "5-2", "job-a"))
    page.wait_for_selector("text=new one")


def test_a_lost_stream_comes_back_where_it_was(frame, page):
    first = opened(frame, page)
    page.evaluate(LISTEN, ["log-appended"])
    frame.send(first, event("log-appended", "7-3", "job-a", n=1))
    page.wait_for_selector("[title*='last change']")
    frame.refuse = 1  # the first attempt meets an error page, after which EventSource itself would give up
    frame.send(first, None)
    frame.wait(lambda: len(frame.streams) == 3)
    assert [stream.query["last"] for stream in frame.streams] == ["", "7-3", "7-3"]
    page.wait_for_selector("[data-state=open]")
    frame.send(frame.open_streams()[0], event("log-appended", "7-4", "job-a", n=2))
    page.wait_for_selector("[data-state=open]")
    frame.wait(lambda: len(page.evaluate("window.got")) == 2)


def test_a_hidden_tab_holds_no_stream(frame, page):
    stream = opened(frame, page)
    frame.send(stream, event("job-changed", "9-9", "job-a"))
    page.wait_for_selector("[title*='last change']")
    page.evaluate(HIDE, True)
    frame.wait(lambda: not frame.open_streams())
    page.evaluate(HIDE, False)
    frame.wait(lambda: len(frame.open_streams()) == 1)
    assert frame.open_streams()[0].query["last"] == "9-9"


def test_a_page_without_topics_opens_no_stream(frame, page):
    frame.topics = ""
    frame.body = '<div id="x" hx-get="/part/x" hx-trigger="load"></div>'
    frame.fragments = {"x": ('W/"1"', '<b data-topics="job-z">loaded</b>')}
    page.goto(f"{frame.url}/page")
    page.wait_for_selector("text=loaded")
    frame.wait(lambda: len(frame.streams) == 1)
    assert frame.streams[0].query["topics"] == "job-z", "only the fragment brought a topic"


def test_reset_lets_fragments_fetch_again(frame, page):
    frame.body = '<div id="x" hx-get="/part/x" hx-trigger="job-changed from:body, resync from:body">old</div>'
    frame.fragments = {"x": ('W/"1"', "fetched")}
    stream = opened(frame, page)
    frame.send(stream, "id: 20-0\nevent: reset\ndata: {}\n\n")
    page.wait_for_selector("text=fetched")
    frame.send(stream, None)
    frame.wait(lambda: len(frame.streams) == 2)
    assert frame.streams[1].query["last"] == "20-0"


def test_refreshing_disturbs_nobody(frame, page):
    frame.body = '<div id="x" hx-get="/part/x" hx-trigger="job-changed from:body">old</div>'
    frame.fragments = {"x": ('W/"1"', '<input id="typed"><i>one</i>')}
    stream = opened(frame, page)

    page.evaluate(
        """() => { let done = 0; document.addEventListener('htmx:afterRequest',
            () => { document.documentElement.dataset.done = ++done; }); }"""
    )

    def ring(entry: str) -> None:
        frame.send(stream, event("job-changed", entry, "job-a"))
        page.wait_for_selector(f"html[data-done='{entry[-1]}']")

    ring("1-1")
    page.wait_for_selector("text=one")
    page.evaluate("document.getElementById('typed').dataset.same = 'yes'")
    ring("1-2")
    page.wait_for_selector("#typed[data-same=yes]")

    frame.fragments["x"] = ('W/"2"', '<input id="typed"><i>two</i>')
    page.fill("#typed", "half a wo")
    ring("1-3")
    assert page.input_value("#typed") == "half a wo"
    assert page.inner_text("#x") == "one"
    page.evaluate("document.activeElement.blur()")
    ring("1-4")
    page.wait_for_selector("text=two")


AGES = (0.5, 1.5, 30.5, 89.5, 100.5, 5300.5, 5500.5, 100000.5, 130000.5, 9000000.5, -30.5, -4000.5, -200000.5)


def test_times_read_the_same_in_browser_and_server(frame, page):
    stamp = "new Date(Date.now() - age * 1000).toISOString()"
    frame.topics = ""
    page.goto(f"{frame.url}/page")
    shown = page.evaluate(
        """ages => { const put = (age, extra) => { const t = document.createElement('time'); t.dataset.relative = '';
            if (extra) t.dataset.elapsed = ''; t.dateTime = STAMP; document.body.append(t); return t; };
            const made = ages.map(age => [put(age), put(age, true)]);
            document.dispatchEvent(new Event('visibilitychange'));
            return made.map(pair => pair.map(t => t.textContent)); }""".replace("STAMP", stamp),
        list(AGES),
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    expected = [[times.relative(now - timedelta(seconds=age), now), times.duration(age)] for age in AGES]
    assert shown == expected


def test_keys_and_menus(frame, page):
    frame.topics = ""
    frame.body = (
        '<a href="/page?jobs" data-go="j">Jobs</a><input id="q" data-search>'
        '<details class="menu" id="m"><summary>Menu</summary><a href="#">x</a></details><div id="keys" popover>Help</div>'
        '<p id="away">Elsewhere</p>'
    )
    page.goto(f"{frame.url}/page")
    page.keyboard.press("?")
    page.wait_for_selector("#keys:popover-open")
    page.keyboard.press("Escape")
    page.click("summary")
    page.click("#away")
    page.wait_for_selector("#m:not([open])")
    page.click("summary")
    page.keyboard.press("Escape")
    page.wait_for_selector("#m:not([open])")
    page.keyboard.press("/")
    page.wait_for_selector("#q:focus")
    page.keyboard.type("gj?")
    assert page.input_value("#q") == "gj?", "typing is not a shortcut"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/page?jobs")
