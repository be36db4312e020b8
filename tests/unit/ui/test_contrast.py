"""Text on its background has at least 4.5:1, in light and dark (WCAG 2.2, 1.4.3)."""

import gzip
import re
from pathlib import Path

import pytest

CSS = Path(__file__).resolve().parents[3] / "static" / "css"
PAIR = re.compile(r"--([\w-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);")
TOKENS = {name: (light, dark) for name, light, dark in PAIR.findall((CSS / "tokens.css").read_text())}
TONES = ("neutral", "info", "active", "warn", "ok", "error", "unknown")
TEXT = [
    *[
        (ink, ground)
        for ink in ("ink", "ink-soft", "ink-faint")
        for ground in ("canvas", "surface", "raised", "sunken", "hover")
    ],
    *[(tone, f"{tone}-soft") for tone in TONES],
    *[(tone, ground) for tone in ("ok", "error", "warn", "accent") for ground in ("canvas", "surface")],
    *[("ink", f"{tone}-soft") for tone in TONES],
    ("accent", "accent-soft"),
    ("on-accent", "accent-fill"),
    ("on-accent", "accent-fill-hover"),
    ("on-danger", "danger-fill"),
    ("on-danger", "danger-fill-hover"),
]
# Borders of inputs and the focus ring: 3:1 (1.4.11).
EDGES = [(edge, ground) for edge in ("line-strong", "accent") for ground in ("canvas", "surface", "raised")]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula():
    assert ratio("000000", "ffffff") == pytest.approx(21)
    assert ratio("777777", "ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text(theme, ink, ground):
    assert ratio(TOKENS[ink][theme], TOKENS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("edge", "ground"), EDGES)
def test_edges(theme, edge, ground):
    assert ratio(TOKENS[edge][theme], TOKENS[ground][theme]) >= 3


def test_only_tokens_hold_colours():
    """Components use names; the few exceptions are pairs for both themes."""
    for path in CSS.glob("*.css"):
        if path.name in {"tokens.css", "log-palette.css"}:  # the second holds the fixed colours of terminals
            continue
        text = re.sub(r"light-dark\([^()]*\)", "", path.read_text())
        assert not re.findall(r":[^;{}]*(#[0-9a-fA-F]{3,8}\b|\brgb\(|\bhsl\()", text), path.name


def test_the_sheets_of_every_page_stay_small():
    sheets = [(CSS / name).read_bytes() for name in ("tokens.css", "base.css", "components.css")]
    assert sum(len(gzip.compress(sheet)) for sheet in sheets) < 9_000
