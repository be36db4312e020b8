"""Inline SVG icons: heroicons by name, and two of our own."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from zipfile import ZipFile

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

# Size in pixels -> the set that is drawn for it.
_SETS = {16: "micro", 20: "mini", 24: "outline"}
_OWN = {
    "spinner": (
        '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="2.25" stroke-linecap="round">'
        '<circle cx="8" cy="8" r="5.75" stroke-opacity=".28"/><path d="M13.75 8A5.75 5.75 0 0 0 8 2.25"/></svg>'
    ),
    "brand": (
        '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.1" stroke-linecap="round">'
        '<path d="M4 4v12.5A3.5 3.5 0 0 0 7.5 20H20"/><path d="M8 5.5c.9 6.5 3.4 9.7 11.5 10"/>'
        '<path d="M12.5 5c.6 2.9 2.3 5 7 5.6" stroke-opacity=".45"/></svg>'
    ),
}


class UnknownIcon(LookupError):
    """No icon has this name."""


@lru_cache(maxsize=512)
def render_icon(name: str, size: int = 16, label: str = "") -> SafeString:
    """Return the SVG of an icon: hidden from screen readers, or an image with `label` as its name.

    Raises UnknownIcon for a name that no set has.
    """
    svg = _OWN.get(name) or _heroicon(name, _SETS.get(size, "mini"))
    svg = svg.replace(' xmlns="http://www.w3.org/2000/svg"', "").replace(' aria-hidden="true"', "").strip()
    meaning = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    attributes = f'<svg class="icon icon-{escape(name)}" width="{int(size)}" height="{int(size)}" {meaning}'
    return mark_safe(svg.replace("<svg", attributes, 1))  # noqa: S308  a file of the package, and escaped values


def _heroicon(name: str, folder: str) -> str:
    with (resources.files("heroicons") / "heroicons.zip").open("rb") as file, ZipFile(file) as archive:
        try:
            return archive.read(f"{folder}/{name}.svg").decode()
        except KeyError:
            raise UnknownIcon(f"no icon {name!r} in the {folder} set of heroicons") from None
