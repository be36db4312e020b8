"""Debian's Chromium driven by Playwright, for every test and tool that looks at pages as a person does."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

# Background networking is off: a test's browser talks to loopback only.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Return the browser on PATH, "" when there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or ""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser for a block; skips (with TRAINUI_STRICT=1 fails) where there is none."""
    path = chromium_path()
    if not path:
        if os.environ.get("TRAINUI_STRICT") == "1":
            pytest.fail("no chromium on PATH: apt install chromium", pytrace=False)
        pytest.skip("no chromium on PATH: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
