"""The content security policy allows nothing inline: no template may hold any."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.template import engines

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
# Boxes for Django's own syntax, so that the parser sees plain HTML.
DJANGO = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}", re.DOTALL)
URL_ATTRIBUTES = {"href", "src", "action", "formaction", "hx-get", "hx-post", "hx-put", "hx-patch", "hx-delete"}


class Inspector(HTMLParser):
    """Collects what the policy forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        if tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(f"<{tag}> inline")
        if tag in {"iframe", "object", "embed", "base"}:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            self.check(name, (value or "").strip())

    handle_startendtag = handle_starttag

    def check(self, name: str, value: str) -> None:
        if name == "style" or name.startswith(("on", "hx-on")):
            self.found.append(f"attribute {name}")
        if name in URL_ATTRIBUTES and value.lower().startswith(("javascript:", "data:", "http:", "https:", "//")):
            self.found.append(f"{name}={value}")
        if name == "hx-trigger" and "[" in value:
            self.found.append(f"a filter in hx-trigger, which needs eval: {value}")
        if name in {"hx-vals", "hx-headers"} and value.lower().startswith(("js:", "javascript:")):
            self.found.append(f"{name} with script")


def forbidden(html: str) -> list[str]:
    inspector = Inspector()
    inspector.feed(DJANGO.sub("x", html))
    inspector.close()
    return inspector.found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT / "templates")))
def test_nothing_inline(path):
    assert forbidden(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: str(p.relative_to(ROOT / "templates")))
def test_compiles(path):
    engines["django"].from_string(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        '<script type="application/json">{}</script>',
        "<style>p{}</style>",
        '<p style="color:red">',
        '<progress style="width:{{ x }}%"/>',
        '<b onclick="x()">',
        '<b hx-on:click="x()">',
        '<a href="javascript:x()">',
        '<img src="https://elsewhere.test/x.png">',
        '<div hx-trigger="click[ctrlKey]">',
        '<div hx-vals="js:{a: 1}">',
        "<iframe></iframe>",
    ],
)
def test_the_inspector_finds_what_it_should(html):
    assert forbidden(html)


def test_the_inspector_lets_good_html_pass():
    good = '<script src="{% static "x.js" %}" defer></script><a href="{% url "x" %}">x</a><progress value="4" max="9">'
    assert forbidden(good) == []
