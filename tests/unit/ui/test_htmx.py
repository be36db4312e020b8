from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.utils import timezone
from django_htmx.middleware import HtmxDetails

from trainui.ui.htmx import render, wants_fragment


def request(method: str = "get", cookies: dict | None = None, **headers):
    made = getattr(RequestFactory(), method)("/x", headers=headers)
    made.COOKIES = cookies or {}
    made.htmx = HtmxDetails(made)
    made.user = AnonymousUser()
    return made


HTMX = {"HX-Request": "true"}


@pytest.mark.parametrize(
    ("headers", "fragment"),
    [
        ({}, False),
        (HTMX, True),
        ({**HTMX, "HX-Boosted": "true"}, False),
        ({**HTMX, "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_fragment_or_page(headers, fragment):
    assert wants_fragment(request(**headers)) is fragment
    answer = render(request(**headers), "error.html", {"title": "T"}, fragment="components/skeleton.html")
    assert ("<!doctype html>" in answer.content.decode()) is not fragment
    assert answer["Vary"] == "HX-Request"
    assert ("ETag" in answer) is fragment


def test_a_page_without_fragment_stays_a_page():
    assert "<!doctype html>" in render(request(**HTMX), "error.html").content.decode()


def fresh(at, **headers):
    return render(request(**HTMX, **headers), "error.html", {"at": at}, fragment="components/fresh.html")


def test_an_unchanged_fragment_is_not_sent_again():
    at = timezone.now() - timedelta(seconds=5)
    first = fresh(at)
    again = fresh(at, **{"If-None-Match": first["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert again["ETag"] == first["ETag"]
    assert "no-cache" in again["Cache-Control"]
    other = fresh(at + timedelta(seconds=1), **{"If-None-Match": first["ETag"]})
    assert other.status_code == 200


def test_relative_wording_and_csrf_masks_do_not_count():
    one = render(request(**HTMX), "error.html", fragment="components/theme_toggle.html")
    two = render(request(**HTMX), "error.html", fragment="components/theme_toggle.html")
    assert one.content != two.content, "the token is masked anew"
    assert one["ETag"] == two["ETag"]
    dark = render(request(cookies={"theme": "dark"}, **HTMX), "error.html", fragment="components/theme_toggle.html")
    assert dark["ETag"] != one["ETag"]


def test_errors_and_posts_have_no_etag():
    bad = render(request(**HTMX), "error.html", fragment="components/skeleton.html", status=422)
    posted = render(request("post", **HTMX), "error.html", fragment="components/skeleton.html")
    assert "ETag" not in bad
    assert "ETag" not in posted
