"""Rows of a log as HTML: everything escaped, style by CSS class only (the Content-Security-Policy allows no inline style).

A row of text from a log may look like markup, like an event stream or like a template; it is only ever text here. Classes: `log-row`, `log-note`,
`log-time`, `log-rank rank-c0` to `rank-c7`, `log-text`, `log-cut`; in the text `fg-red`, `bg-bright-blue`, `fg-idx-16` to `fg-idx-255`, `bold`,
`dim`, `italic`, `underline`, `inverse`, `strike`.
"""

from collections.abc import Iterable
from html import escape

from jobs.logs.style import palette_rgb
from jobs.logs.times import format_stamp
from jobs.logs.window import ViewRow

RANK_COLOURS = 8


def spans_html(spans: Iterable[tuple[str, str, str]]) -> str:
    """Return runs of (text, classes, link) as HTML; only http and https links come this far."""
    parts = []
    for text, classes, link in spans:
        shown = escape(text)
        named = f' class="{escape(classes)}"' if classes else ""
        if link:
            parts.append(f'<a{named} href="{escape(link)}" rel="noopener noreferrer nofollow">{shown}</a>')
        else:
            parts.append(f"<span{named}>{shown}</span>" if named else shown)
    return "".join(parts)


def row_html(row: ViewRow, full_url: str = "") -> str:
    """Return one row; `full_url` followed by the row's id is where all of a cut row can be seen."""
    stamp = format_stamp(row.stamp)
    place = "" if row.position is None else f' data-n="{row.position}"'
    rank = ""
    if row.rank is not None:
        rank = f'<span class="log-rank rank-c{row.rank % RANK_COLOURS}" title="{escape(row.source)}">{row.rank}</span>'
    cut = ""
    if row.cut:
        label = f"{row.cut:,} characters"
        target = escape(full_url + row.id)
        cut = (
            f'<a class="log-cut" href="{target}">show all {label}</a>'
            if full_url
            else f'<span class="log-cut">… {label}</span>'
        )
    return (
        f'<div class="log-row{" log-note" if row.note else ""}" data-id="{escape(row.id)}"{place}>'
        f'<time class="log-time" datetime="{stamp}">{stamp[11:23]}</time>{rank}'
        f'<span class="log-text">{spans_html(row.spans)}</span>{cut}</div>'
    )


def palette_css() -> str:
    """Return the CSS of colours 16 to 255 (`static/css/log-palette.css`); the 16 named ones belong to the theme."""
    lines = ["/* Made by jobs.logs.html.palette_css: the 240 fixed colours of terminal text. */", "@layer components {"]
    for index in range(16, 256):
        red, green, blue = palette_rgb(index)
        ink = "#000" if red * 299 + green * 587 + blue * 114 > 128_000 else "#fff"
        lines.append(f".bg-idx-{index}{{background-color:#{red:02x}{green:02x}{blue:02x};color:{ink}}}")
    for index in range(16, 256):
        lines.append(".fg-idx-{}{{color:#{:02x}{:02x}{:02x}}}".format(index, *palette_rgb(index)))
    return "\n".join([*lines, "}"]) + "\n"
