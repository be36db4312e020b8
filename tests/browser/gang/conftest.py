"""The job page in a browser, as the tests of its tabs open it."""

from tests.browser.job_page.conftest import browser, site

__all__ = ["browser", "site"]
