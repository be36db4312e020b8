"""Comparison and cluster in a real browser, served by Django's live server; the test itself raises the events of the stream."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page

from tests.chromium import chromium
from tests.unit.life.conftest import World, _settings, world

__all__ = ["_settings", "world"]  # fixtures of the pages' own tests
RING = """([name, subject]) => { const detail = {stream: true, subject, data: {}};
    for (const type of [name, `${name}:${subject}`])
        document.body.dispatchEvent(new CustomEvent(type, {bubbles: true, detail})); }"""


class Site:
    """Opens pages as a person of the world; `complaints` are what the browser said against a page."""

    def __init__(self, url: str, browser: Browser, world: World) -> None:
        self.url, self.browser, self.world = url, browser, world
        self.complaints: list[str] = []
        self.contexts: list[BrowserContext] = []

    def open(self, path: str, who: str = "owner", **options: Any) -> Page:
        """Open an address in a context of its own, signed in."""
        client = Client()
        client.force_login(self.world.users[who])
        name = django_settings.SESSION_COOKIE_NAME
        context = self.browser.new_context(**options)
        context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": self.url}])
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: self.complaints.append(m.text) if "Content Security" in m.text else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(self.url + path)
        return page

    @staticmethod
    def ring(page: Page, name: str, subject: str) -> None:
        """Raise an event as events.js does."""
        page.evaluate(RING, [name, subject])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Playwright keeps an event loop in this thread, where Django would refuse the database.
    with pytest.MonkeyPatch.context() as patch, chromium() as opened:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield opened


@pytest.fixture
def site(
    browser: Browser, transactional_db: None, live_server: Any, world: World, settings: Any, tmp_path: Any
) -> Iterator[Site]:
    settings.STATIC_ROOT = tmp_path / "static"  # what is collected in the checkout may change at any time
    settings.STATIC_ROOT.mkdir()
    made = Site(live_server.url, browser, world)
    yield made
    for context in made.contexts:
        context.close()
    assert made.complaints == []
