"""The form of a blueprint by itself: every type of parameter, there and back."""

from decimal import Decimal

import pytest
from django.http import QueryDict

from jobs.web.forms import ParameterForm, sentence
from jobs.web.forms_text import shown, text_of, without_secrets
from jobs.web.submit_names import kept_nonce, submission_key
from runtimes.spec.blueprint import Blueprint, Card
from runtimes.spec.parameter import Choice, Parameter
from runtimes.spec.parameter_values import read_value

TYPES = {
    "integer": Parameter("x", "X", "integer", default=3, minimum=Decimal(1), maximum=Decimal(9)),
    "number": Parameter("x", "X", "number", default="1e-5"),
    "text": Parameter("x", "X", "text", default="a b"),
    "lines": Parameter("x", "X", "text", multiline=True, default="a\n  b\n"),
    "choice": Parameter("x", "X", "choice", default="b", choices=(Choice("a", "A"), Choice("b", "B"))),
    "on": Parameter("x", "X", "boolean", default=True),
    "off": Parameter("x", "X", "boolean", default=False),
    "quantity": Parameter("x", "X", "quantity", default="1.5Gi", resource="memory"),
    "env": Parameter("x", "X", "env", default=[["A", "b=c"], ["B", ""]]),
    "command": Parameter("x", "X", "command", default=["sh", "-c", "echo 'a b' | wc"]),
    "secret": Parameter("x", "X", "secretRef", default={"name": "hub", "key": "token"}),
}
RUNTIME = {"kind": "ClusterTrainingRuntime", "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {}}}}


def blueprint(*parameters: Parameter) -> Blueprint:
    return Blueprint("bp", Card("Title", "Summary", "plain"), parameters, RUNTIME)


def form(*parameters: Parameter, query: str | None = None) -> ParameterForm:
    return ParameterForm(blueprint(*parameters), RUNTIME, ["team"], QueryDict(query) if query is not None else None)


@pytest.mark.parametrize("parameter", TYPES.values(), ids=TYPES)
def test_the_text_of_a_value_reads_back_as_the_value(parameter):
    value = read_value(parameter, parameter.default, form=False)
    assert read_value(parameter, text_of(parameter, value), form=True) == value
    assert read_value(parameter, text_of(parameter, parameter.default), form=True) == value


@pytest.mark.parametrize("parameter", TYPES.values(), ids=TYPES)
def test_a_form_that_nobody_touched_gives_the_defaults(parameter):
    unbound = form(parameter)
    initial = unbound["p-x"].value()
    data = QueryDict(mutable=True)
    data.update({"project": "team", "name": "job", "p-x": "true" if initial is True else "false" if initial is False else initial})  # fmt: skip
    bound = ParameterForm(blueprint(parameter), RUNTIME, ["team"], data)
    assert bound.is_valid(), bound.errors
    assert bound.given()["x"] == text_of(parameter, parameter.default)


@pytest.mark.parametrize(("query", "value"), [("p-x=false&p-x=true", "true"), ("p-x=false", "false"), ("", None)])
def test_a_box_that_is_not_checked_says_so(query, value):
    found = form(TYPES["on"], query=f"project=team&name=job&{query}").given()
    assert found.get("x") == value


@pytest.mark.parametrize(("query", "value"), [("p-x=false&p-x=true", "true"), ("p-x=false", "false")])
def test_boxes_go_through_the_review(query, value):
    bound = form(TYPES["on"], query=f"project=team&name=job&{query}")
    assert ("p-x", value) in bound.hidden()


def test_a_choice_without_a_default_must_be_made():
    parameter = Parameter("x", "X", "choice", choices=(Choice("a", "A"),), required=True)
    assert "Choose one" in str(form(parameter)["p-x"])
    assert form(parameter, query="project=team&name=job&p-x=").errors["p-x"] == ["X is required."]
    assert "must be one of a" in form(parameter, query="project=team&name=job&p-x=z").errors["p-x"][0]


def test_a_nul_is_refused_at_its_field():
    assert "p-x" in form(TYPES["text"], query="project=team&name=job&p-x=a%00b").errors


@pytest.mark.parametrize("field", ["p-y", "step"])
def test_fields_that_are_no_parameters_are_not_read(field):
    bound = form(TYPES["text"], query=f"project=team&name=job&p-x=1&{field}=1")
    assert bound.is_valid()
    assert bound.values() == {"x": "1"}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("must be one of a", "It must be one of a."),
        ("is 50 characters long", "It is 50 characters long."),
        ("island is taken", "Island is taken."),
        ("“x” is taken.", "“x” is taken."),
        ("a job needs a name", "A job needs a name."),
    ],
)
def test_findings_become_sentences(message, said):
    assert sentence(message) == said


@pytest.mark.parametrize(
    ("parameter", "text", "kept", "left"),
    [
        (TYPES["env"], "A=1\nHF_TOKEN=x\nB=hf_FAKEFAKEFAKE1", "A=1", ["HF_TOKEN", "B"]),
        (TYPES["env"], "A=1\n# note", "A=1\n# note", []),
        (TYPES["command"], "run --api-key s3cr3t --x 1", "", ["X"]),
        (TYPES["command"], "run   'a b'", "run   'a b'", []),
        (TYPES["text"], "https://u:pw@host/", "", ["X"]),
        (TYPES["text"], "plain", "plain", []),
        (Parameter("api_token", "Token", "text"), "anything", "", ["Token"]),
        (TYPES["integer"], "3", "3", []),
    ],
)
def test_secrets_do_not_go_into_copies(parameter, text, kept, left):
    assert without_secrets(parameter, text) == (kept, left)


def test_secrets_are_not_shown():
    assert shown(TYPES["env"], "A=1\nHF_TOKEN=x") == "A=1\nHF_TOKEN=••••••••"
    assert "s3cr3t" not in shown(TYPES["command"], "run --api-key s3cr3t")
    assert shown(TYPES["command"], "cannot 'be split") == "cannot 'be split"


def test_keys_depend_on_form_and_content():
    key = submission_key("n" * 24, [("a", "1"), ("b", "2")])
    assert key == submission_key("n" * 24, [("b", "2"), ("a", "1")])
    assert key != submission_key("n" * 24, [("a", "1"), ("b", "3")])
    assert key != submission_key("m" * 24, [("a", "1"), ("b", "2")])


@pytest.mark.parametrize("nonce", ["", "short", "x" * 65, "has space in it, twenty", "ünïcödé-ünïcödé-ünïcödé"])
def test_a_nonce_that_is_not_ours_is_replaced(nonce):
    assert kept_nonce(nonce) != nonce
    assert len(kept_nonce(nonce)) == 24
