"""Template tags of the design system; docs/ui.md shows how each is used and /styleguide how it looks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.forms.boundfield import BoundField
from django.forms.utils import flatatt
from django.template.context import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from trainui.ui import navigation, phases, times
from trainui.ui.icons import render_icon

register = template.Library()
NOTHING = mark_safe('<span class="faint" aria-label="none">—</span>')


@register.simple_tag
def icon(name: str, size: int = 16, label: str = "") -> SafeString:
    """Inline an icon of heroicons (or `spinner`, `brand`) at 16, 20 or 24 pixels; `label` only when it stands alone."""
    return render_icon(str(name), size, str(label))


@register.inclusion_tag("components/phase.html")
def phase(name: str, tone: str = "", stale: bool = False) -> dict[str, Any]:
    """Show a phase as a pill of icon, word and colour; greyed when its data is stale."""
    glyph, shown = phases.look(name, tone)
    return {"name": name, "tone": shown, "glyph": glyph, "stale": stale}


@register.inclusion_tag("components/pill.html")
def pill(text: str, tone: str = "neutral", icon: str = "") -> dict[str, Any]:
    """Show a word as a pill, with an icon if one is named."""
    return {"text": text, "tone": tone, "icon": icon}


@register.simple_tag
def button(label: str, icon: str = "", kind: str = "", href: str = "", size: str = "", **attrs: Any) -> SafeString:
    """Return a button, or a link that looks like one when it has `href`.

    kind: "" (plain), primary, danger, ghost. size: "" or small. Other arguments become attributes: `hx_post` is
    `hx-post`, True gives a bare attribute, False and None leave it out.
    """
    classes = ["btn", f"btn-{kind}" if kind else "", f"btn-{size}" if size else ""]
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attrs.items() if value not in (None, False)}
    given["class"] = " ".join(filter(None, [*classes, str(given.get("class", ""))]))
    glyph = render_icon(icon) if icon else ""
    if href:
        return format_html('<a href="{}"{}>{}<span>{}</span></a>', href, flatatt(given), glyph, label)
    given.setdefault("type", "submit")
    return format_html("<button{}>{}<span>{}</span></button>", flatatt(given), glyph, label)


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, hint: str = "", autofocus: bool = False) -> dict[str, Any]:
    """Show a form field with label, help and errors, tied together by aria-describedby and aria-invalid."""
    help_text = hint or bound.help_text
    described = [f"{bound.auto_id}-help"] * bool(help_text) + [f"{bound.auto_id}-error"] * bool(bound.errors)
    attrs: dict[str, Any] = {}
    if described:
        attrs["aria-describedby"] = " ".join(described)
    if bound.errors:
        attrs["aria-invalid"] = "true"
    if autofocus or bound == first_with_error(bound):
        attrs["autofocus"] = True
    return {
        "field": bound,
        "control": bound.as_widget(attrs=attrs),
        "help": help_text,
        "kind": _control_kind(bound),
        "optional": not bound.field.required,
    }


def first_with_error(bound: BoundField) -> BoundField | None:
    """Return the first field of the same form that has errors: it gets the focus."""
    return next((other for other in bound.form if other.errors), None)


def _control_kind(bound: BoundField) -> str:
    widget = getattr(bound.widget_type, "lower", lambda: "")()
    return "check" if widget == "checkbox" else "group" if bound.use_fieldset else "line"


@register.inclusion_tag("components/form_errors.html")
def form_errors(form: Any) -> dict[str, Any]:
    """Show what is wrong with a form as a whole, above its fields."""
    return {"errors": form.non_field_errors()}


@register.inclusion_tag("components/empty.html")
def empty(title: str, text: str = "", icon: str = "inbox", href: str = "", label: str = "") -> dict[str, Any]:
    """Show that there is nothing, why, and what to do about it."""
    return {"title": title, "text": text, "icon": icon, "href": href, "label": label}


@register.inclusion_tag("components/crumbs.html")
def crumbs(*parts: str) -> dict[str, Any]:
    """Show the way to this page: label, address, label, address, …, and the label of this page.

    Raises TemplateSyntaxError when the last part is not a lone label.
    """
    if len(parts) % 2 == 0:
        raise template.TemplateSyntaxError("crumbs wants label, address, label, address, …, label")
    return {"links": list(zip(parts[0::2], parts[1::2], strict=False)), "here": parts[-1]}


@register.inclusion_tag("components/progress.html")
def progress(value: float | None, label: str = "", tone: str = "active", maximum: float = 100) -> dict[str, Any]:
    """Show how far something is; None moves without an end."""
    percent = None if value is None or maximum <= 0 else round(100 * min(max(value / maximum, 0), 1))
    return {"value": value, "maximum": maximum, "percent": percent, "label": label, "tone": tone}


@register.simple_tag
def when(at: datetime | None, exact: bool = False) -> SafeString:
    """Show a time relative to now with the exact one on hover (or the exact one itself); a dash for None."""
    if at is None:
        return NOTHING
    local = timezone.localtime(at)
    stamp, full = local.isoformat(timespec="milliseconds"), times.exact(local)
    if exact:
        return format_html('<time datetime="{}">{}</time>', stamp, full)
    text = times.relative(at, timezone.now())
    return format_html('<time datetime="{}" title="{}" data-relative>{}</time>', stamp, full, text)


@register.simple_tag
def elapsed(start: datetime | None, end: datetime | None = None) -> SafeString:
    """Show the time from start to end, or to now, then counting on in the browser; a dash without a start."""
    if start is None:
        return NOTHING
    text = times.duration(((end or timezone.now()) - start).total_seconds())
    if end is not None:
        return format_html('<span class="num">{}</span>', text)
    stamp = timezone.localtime(start).isoformat(timespec="milliseconds")
    return format_html('<time class="num" datetime="{}" data-elapsed data-relative>{}</time>', stamp, text)


@register.filter
def duration(seconds: float | None) -> str:
    """Say a number of seconds in words; a dash for None."""
    return "—" if seconds is None else times.duration(float(seconds))


@register.inclusion_tag("components/fresh.html")
def fresh(at: datetime | None, stale_after: int = 60) -> dict[str, Any]:
    """Say how old the data of a fragment is; it turns into a warning after `stale_after` seconds."""
    age = None if at is None else (timezone.now() - at).total_seconds()
    return {"at": at, "stale_after": stale_after, "stale": age is None or age > stale_after}


@register.inclusion_tag("components/copy.html")
def copy(text: str, label: str = "Copy") -> dict[str, Any]:
    """Offer to copy `text`; the button shows only where JavaScript runs."""
    return {"text": text, "label": label}


@register.inclusion_tag("components/code.html")
def code(text: str, label: str = "", wrap: bool = False) -> dict[str, Any]:
    """Show text as written, scrolling inside its own box, with a copy button."""
    return {"text": text, "label": label, "wrap": wrap}


@register.inclusion_tag("components/skeleton.html")
def skeleton(lines: int = 3) -> dict[str, Any]:
    """Hold the place of content that htmx fetches."""
    return {"lines": range(lines)}


@register.inclusion_tag("components/stat.html")
def stat(label: str, value: Any, hint: str = "", tone: str = "") -> dict[str, Any]:
    """Show one number or word with its name; put several into `<dl class="stats">`."""
    return {"label": label, "value": value, "hint": hint, "tone": tone}


@register.simple_tag
def tab(label: str, href: str, current: bool = False, count: Any = None, icon: str = "") -> SafeString:
    """Return one tab, a link; put it into `{% tabs %}`."""
    glyph = render_icon(icon) if icon else ""
    number = "" if count is None else format_html('<span class="count">{}</span>', count)
    mark = mark_safe(' aria-current="page"') if current else ""
    return format_html('<a class="tab" href="{}"{}>{}{}{}</a>', href, mark, glyph, label, number)


@register.simple_block_tag
def tabs(content: SafeString, label: str = "Sections") -> SafeString:
    """Lay tabs out in one row that scrolls on narrow screens."""
    return format_html('<nav class="tabs" aria-label="{}">{}</nav>', label, content)


@register.simple_block_tag
def note(content: SafeString, tone: str = "info", title: str = "") -> SafeString:
    """Show a remark that stays on the page; errors are announced to screen readers."""
    head = format_html("<strong>{}</strong> ", title) if title else ""
    role = "alert" if tone == "error" else "note"
    glyph = render_icon(phases.tone_icon(tone), 20)
    return format_html(
        '<div class="note" data-tone="{}" role="{}">{}<div>{}{}</div></div>', tone, role, glyph, head, content
    )


@register.simple_block_tag
def card(content: SafeString, title: str = "", flush: bool = False, id: str = "", more: str = "") -> SafeString:
    """Frame content with a title; `flush` for tables, `more` for HTML at the right of the title (mark it safe)."""
    attrs = {"class": "card card-flush" if flush else "card", "id": id or None}
    head = ""
    if title:
        head = format_html('<header class="card-head"><h2>{}</h2>{}</header>', title, more)
    shown = flatatt({key: value for key, value in attrs.items() if value})
    return format_html('<section{}>{}<div class="card-body">{}</div></section>', shown, head, content)


@register.simple_block_tag(takes_context=True)
def confirm(
    context: Context,
    content: SafeString,
    url: str = "",
    label: str = "",
    title: str = "",
    verb: str = "",
    icon: str = "",
    kind: str = "danger",
    trigger: str = "",
    key: str = "",
) -> SafeString:
    """Ask before a POST: a button that opens a dialog whose form posts to `url`; it works without JavaScript.

    The content is shown in the form and may hold inputs. `verb` labels the button that does it, `trigger` is the kind of
    the opening button, `key` makes the id unique when several on one page have the same url.
    """
    engine = context.template.engine  # type: ignore[union-attr]
    values = {
        "url": url,
        "label": label,
        "title": title or label,
        "verb": verb or label,
        "icon": icon,
        "kind": kind,
        "trigger": trigger,
        "content": content,
        "id": navigation.anchor("confirm", url, label, key),
        "csrf_token": context.get("csrf_token"),
    }
    return engine.get_template("components/confirm.html").render(Context(values))


@register.inclusion_tag("components/nav.html", takes_context=True)
def nav(context: Context) -> dict[str, Any]:
    """Show the links of the main navigation that the user may follow."""
    return {"items": navigation.items(context["request"])}


@register.inclusion_tag("components/project_switcher.html", takes_context=True)
def project_switcher(context: Context) -> dict[str, Any]:
    """Show the project that the page is about, and links to the others."""
    return navigation.projects(context["request"], context.get("project"))


@register.simple_tag
def jobs_path(project: str = "") -> str:
    """Return the address of the jobs list, of one project if its name is given."""
    return navigation.jobs_path(str(project))


@register.simple_tag(takes_context=True)
def theme(context: Context) -> str:
    """Return the colour theme that the visitor chose: light, dark, or system."""
    return navigation.theme_of(context.get("request"))
