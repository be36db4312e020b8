from datetime import timedelta
from types import SimpleNamespace

import pytest
from django import forms
from django.template import Context, Template, TemplateSyntaxError
from django.utils import timezone

from trainui.ui import phases
from trainui.ui.icons import UnknownIcon, render_icon


def html(source: str, **context) -> str:
    return Template("{% load ui %}" + source).render(Context(context)).strip()


@pytest.mark.parametrize("phase", phases.LOOKS)
def test_each_phase_has_its_own_glyph_and_says_its_name(phase):
    shown = html("{% phase name %}", name=phase)
    assert f">{phase}</span>" in shown
    assert 'aria-hidden="true"' in shown
    glyphs = [icon for icon, _ in phases.LOOKS.values()]
    assert len(set(glyphs)) == len(glyphs)


@pytest.mark.parametrize(
    ("phase", "tone", "expected"),
    [
        ("Running", "", ("spinner", "active")),
        ("Creating", "warn", ("ellipsis-horizontal-circle", "warn")),
        ("Running", "pink", ("spinner", "active")),
        ("Brandnew", "", ("question-mark-circle", "unknown")),
        ("Brandnew", "ok", ("check-circle", "ok")),
    ],
)
def test_tone_of_the_job_wins_over_that_of_the_phase(phase, tone, expected):
    assert phases.look(phase, tone) == expected


def test_phases_are_those_of_the_jobs():
    from jobs.state.phases import PHASES, TONES

    assert {name: phase.tone for name, phase in PHASES.items()} == {
        name: tone for name, (_, tone) in phases.LOOKS.items()
    }
    assert set(TONES) == set(phases.TONES)


def test_text_is_escaped_everywhere():
    bad = '<b>"x"</b>'
    for source in (
        "{% phase bad %}",
        "{% pill bad %}",
        "{% button bad %}",
        "{% button 'x' href=bad %}",
        "{% button 'x' title=bad %}",
        "{% empty bad bad href=bad label=bad %}",
        "{% crumbs bad bad bad %}",
        "{% progress 3 label=bad %}",
        "{% copy bad %}",
        "{% code bad label=bad %}",
        "{% stat bad bad hint=bad %}",
        "{% tab bad bad %}",
        "{% tabs bad %}{% endtabs %}",
        "{% note 'info' title=bad %}{{ bad }}{% endnote %}",
        "{% card title=bad more=bad %}{{ bad }}{% endcard %}",
        "{% confirm url=bad label=bad title=bad verb=bad %}{{ bad }}{% endconfirm %}",
        "{% icon 'key' label=bad %}",
    ):
        shown = html(source, bad=bad)
        assert "<b>" not in shown, source
        assert "&lt;b&gt;" in shown, source


def test_icons():
    assert render_icon("key").startswith('<svg class="icon icon-key" width="16" height="16" aria-hidden="true"')
    assert 'role="img" aria-label="Key"' in render_icon("key", 20, "Key")
    assert "xmlns" not in render_icon("key")
    with pytest.raises(UnknownIcon):
        render_icon("no-such-icon")


def test_buttons():
    assert (
        html("{% button 'Save' kind='primary' %}")
        == '<button class="btn btn-primary" type="submit"><span>Save</span></button>'
    )
    assert 'hx-post="/x"' in html("{% button 'Save' hx_post='/x' %}")
    assert " disabled" in html("{% button 'Save' disabled=True %}")
    assert "disabled" not in html("{% button 'Save' disabled=False %}")
    assert html("{% button 'Go' href=url %}", url="/x?a=1&b=2").startswith('<a href="/x?a=1&amp;b=2" class="btn">')


class Sample(forms.Form):
    name = forms.CharField(help_text="A name.")
    count = forms.IntegerField()
    note = forms.CharField(required=False)
    agree = forms.BooleanField(required=False)
    role = forms.ChoiceField(choices=[("a", "A")], widget=forms.RadioSelect, help_text="One of them.")


def test_a_field_ties_label_help_and_error_together():
    shown = html("{% field form.name %}", form=Sample({"name": "", "count": "1", "role": "a"}))
    assert '<label for="id_name">Name</label>' in shown
    assert 'aria-describedby="id_name-help id_name-error"' in shown
    assert 'aria-invalid="true"' in shown
    assert 'id="id_name-error"' in shown
    assert 'id="id_name-help"' in shown
    assert "autofocus" in shown


def test_only_the_first_error_takes_the_focus():
    form = Sample({"name": "", "count": "x", "role": "a"})
    assert "autofocus" not in html("{% field form.count %}", form=form)
    assert 'aria-describedby="id_count-error"' in html("{% field form.count %}", form=form)


def test_fields_without_errors():
    form = Sample()
    plain = html("{% field form.note %}", form=form)
    assert "optional" in plain
    assert "aria-invalid" not in plain
    assert "aria-describedby" not in plain
    assert "autofocus" not in plain
    assert "<fieldset" in html("{% field form.role %}", form=form)
    assert 'aria-describedby="id_role-help"' in html("{% field form.role %}", form=form)
    assert 'class="check"' in html("{% field form.agree %}", form=form)
    assert ">Told here.</p>" in html("{% field form.note hint='Told here.' %}", form=form)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 'value="0"'), (42.4, 'value="42"'), (100, 'value="100"'), (140, 'value="100"'), (-3, 'value="0"')],
)
def test_progress_stays_within_its_bounds(value, expected):
    assert expected in html("{% progress value %}", value=value)


def test_progress_of_unknown_size():
    shown = html("{% progress None label='Waiting' %}")
    assert "value=" not in shown
    assert "%" not in shown


def test_times():
    now = timezone.now()
    shown = html("{% when at %}", at=now - timedelta(minutes=3, seconds=5))
    assert ">3 min ago</time>" in shown
    assert "data-relative" in shown
    assert 'title="' in shown
    assert "data-relative" not in html("{% when at exact=True %}", at=now)
    assert "—" in html("{% when None %}")
    assert html("{% elapsed a b %}", a=now, b=now + timedelta(seconds=125)) == '<span class="num">2 min 05 s</span>'
    assert "data-elapsed" in html("{% elapsed a %}", a=now)
    assert "—" in html("{% elapsed None %}")
    assert html("{{ 61|duration }} {{ none|duration }}", none=None) == "1 min 01 s —"


@pytest.mark.parametrize(("age", "stale"), [(1, False), (59, False), (61, True), (None, True)])
def test_freshness_turns_stale(age, stale):
    at = None if age is None else timezone.now() - timedelta(seconds=age)
    assert ("fresh stale" in html("{% fresh at stale_after=60 %}", at=at)) is stale


def test_crumbs_want_an_odd_number_of_parts():
    assert html("{% crumbs 'A' '/a' 'B' %}").count("<li") == 2
    with pytest.raises(TemplateSyntaxError):
        html("{% crumbs 'A' '/a' %}")


def test_confirm_is_a_form_with_token_and_its_own_id():
    source = "{% confirm url='/x/1' label='Cancel' %}<p>Sure?</p>{% endconfirm %}{% confirm url='/x/2' label='Cancel' %}{% endconfirm %}"
    shown = html(source, csrf_token="tok")  # noqa: S106
    assert shown.count('name="csrfmiddlewaretoken" value="tok"') == 2
    ids = [part.split('"')[0] for part in shown.split('class="dialog" id="')[1:]]
    assert len(set(ids)) == 2
    assert all(f'popovertarget="{one}"' in shown for one in ids)
    assert 'method="post" action="/x/1"' in shown


def test_tabs_mark_the_current_one():
    shown = html("{% tabs 'Job' %}{% tab 'A' '/a' current=True count=0 %}{% tab 'B' '/b' %}{% endtabs %}")
    assert shown.count('aria-current="page"') == 1
    assert '<span class="count">0</span>' in shown


def test_errors_of_a_form_as_a_whole():
    form = SimpleNamespace(non_field_errors=lambda: ["Too bad."])
    assert 'role="alert"' in html("{% form_errors form %}", form=form)
    assert html("{% form_errors form %}", form=SimpleNamespace(non_field_errors=list)) == ""
