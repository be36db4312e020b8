"""The form of a blueprint: made from its parameters, checked by the same functions that REST uses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.safestring import SafeString

from jobs.spec.names import NameBudget, check_job_name, name_budget, num_nodes
from jobs.web.forms_text import text_of
from runtimes.spec.blueprint import Blueprint
from runtimes.spec.findings import Finding
from runtimes.spec.parameter import Parameter
from runtimes.spec.parameters import bind

PREFIX = "p-"
_INT32 = 2**31 - 1
_VERBS = ("is ", "must ", "may ", "has ", "cannot ", "holds ", "line ")


class Flag(forms.CheckboxInput):
    """A checkbox beside a hidden `false`: what is not checked is said too, so it is not taken for the default."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> bool:
        """The last value counts: the checkbox comes after the hidden field."""
        return str(data.get(name, "")).lower() in ("true", "on", "yes", "1")


@dataclass(frozen=True)
class Line:
    """One field with its control, ready to show. also: fields whose change may make this one wrong, as a CSS selector."""

    bound: BoundField
    control: SafeString
    flag: bool
    optional: bool
    hint: str
    wide: bool = False
    also: str = ""

    @property
    def said_id(self) -> str:
        """Id of the place for its help or error."""
        return f"{self.bound.auto_id}-said"


class ParameterForm(forms.Form):
    """Project, name, and one field per parameter, named `p-NAME`.

    trainjob: what the values make, after `is_valid`. budget: how long the name may be with them.
    """

    use_required_attribute = False

    def __init__(
        self,
        blueprint: Blueprint,
        runtime: dict[str, Any],
        projects: Iterable[str],
        data: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self.blueprint, self.runtime = blueprint, runtime
        self.trainjob: dict[str, Any] = {}
        self.budget: NameBudget = name_budget(runtime, None)
        self.fields["project"] = project_field(list(projects))
        self.fields["name"] = _text_field("Job name", {"autocomplete": "off", **_CODE})
        for parameter in blueprint.parameters:
            self.fields[PREFIX + parameter.name] = _field(parameter)

    def given(self) -> dict[str, str]:
        """Return the texts that were given for parameters; what is absent from a request counts as empty."""
        found = {}
        for parameter in self.blueprint.parameters:
            field = PREFIX + parameter.name
            if field in self.data:
                value = self.fields[field].widget.value_from_datadict(self.data, {}, field)
                found[parameter.name] = text_of(parameter, value)
        return found

    def values(self) -> dict[str, str]:
        """Return the given texts that are not empty, with the line ends that programs expect."""
        return {name: text.replace("\r\n", "\n") for name, text in self.given().items() if text.strip()}

    def clean(self) -> dict[str, Any]:
        """Bind the values as REST would, and check the name against the room that pod names leave."""
        data = super().clean() or {}
        name, project = str(self.data.get("name", "")), str(data.get("project", ""))
        self.trainjob, findings = bind(self.blueprint, name, project, self.values(), channel="form")
        self.add_findings(findings.refused)
        self.budget = name_budget(self.runtime, num_nodes(self.trainjob))
        self.add_findings(check_job_name(name, self.budget, trim=True)[1])
        return data

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Put findings at the fields they are about; those about no field of this form go above it."""
        for finding in findings:
            field = self._field_of(finding.path)
            text = sentence(finding.message)
            if field is None:
                text = f"{finding.path}: {finding.message}" if finding.path else text
            if text not in self.errors.get(field or "__all__", []):
                self.add_error(field, text)

    def _field_of(self, path: str) -> str | None:
        if path.startswith("metadata.name") and path[13:14] in ("", "."):
            return "name"
        if path == "metadata.namespace":
            return "project"
        name = PREFIX + path.removeprefix("parameters.")
        return name if path.startswith("parameters.") and name in self.fields else None

    @property
    def name_hint(self) -> str:
        """How much of the room for the name is used."""
        name = str(self.data.get("name") if self.is_bound else self.initial.get("name", "") or "").strip()
        return f"{len(name)} of {self.budget.max_length} characters: pod names are made from it."

    def hint(self, field: str) -> str:
        """Return the help of a field as it is now."""
        return self.name_hint if field == "name" else str(self.fields[field].help_text)

    def lines(self, names: Iterable[str]) -> list[Line]:
        """Return fields ready to show, the first one of the form with an error focused."""
        first = next((name for name in self.fields if name in self.errors), None)
        return [self._line(name, name == first) for name in names]

    def head(self) -> list[Line]:
        """Return project and name."""
        return self.lines(["project", "name"])

    def group(self, group: str) -> list[Line]:
        """Return the fields of a group of parameters."""
        return self.lines(PREFIX + p.name for p in self.blueprint.parameters if p.group == group)

    def basic(self) -> list[Line]:
        """Return the fields that everybody sees."""
        return self.group("basic")

    def advanced(self) -> list[Line]:
        """Return the fields that are folded away at first."""
        return self.group("advanced")

    @property
    def advanced_open(self) -> bool:
        """Whether something in the folded part wants to be seen: an error, or a value."""
        names = [PREFIX + p.name for p in self.blueprint.parameters if p.group == "advanced"]
        filled = [name for name in names if str(self[name].value() or "").strip() not in ("", "False")]
        return any(name in self.errors for name in names) or bool(filled)

    def _line(self, name: str, focus: bool) -> Line:
        bound = self[name]
        attrs: dict[str, Any] = {"aria-describedby": f"{bound.auto_id}-said"}
        if bound.errors:
            attrs["aria-invalid"] = "true"
        if focus:
            attrs["autofocus"] = True
        also = f"#id_{PREFIX}nodes" if name == "name" and f"{PREFIX}nodes" in self.fields else ""
        parameter = self.blueprint.parameter(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
        optional = parameter is not None and not parameter.required and parameter.default is None
        flag = isinstance(bound.field.widget, Flag)
        wide = isinstance(bound.field.widget, forms.Textarea)
        control = bound.as_widget(attrs=attrs)
        return Line(bound, control, flag, optional and not flag, self.hint(name), wide, also)

    def hidden(self) -> list[tuple[str, str]]:
        """Return every field with its value, for the next step to send again."""
        own = [("project", str(self.data.get("project", ""))), ("name", str(self.data.get("name", "")).strip())]
        return own + [(PREFIX + name, text) for name, text in self.given().items()]


_CODE = {"spellcheck": "false", "autocapitalize": "none"}


def sentence(message: str) -> str:
    """Return a finding's message as a sentence of its own: findings leave out what the field already says."""
    text = f"It {message}" if message.startswith(_VERBS[:-1]) else message[:1].upper() + message[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def project_field(projects: list[str], nothing: str = "Choose a project", required: bool = True) -> forms.ChoiceField:
    """Return the select of a project; with only one there is nothing to choose."""
    choices = [(name, name) for name in projects]
    if not required or len(projects) != 1:
        choices = [("", nothing), *choices]
    messages = {"required": "Choose the project it belongs to.", "invalid_choice": "You may not submit in “%(value)s”."}
    return forms.ChoiceField(label="Project", choices=choices, required=required, error_messages=messages)


def _text_field(label: str, attrs: dict[str, Any], widget: Any = forms.TextInput) -> forms.CharField:
    # Whether something is missing is for `bind` to say, in the words of every channel.
    return forms.CharField(label=label, required=False, strip=False, widget=widget(attrs=attrs))


def _field(parameter: Parameter) -> forms.Field:
    label = f"{parameter.title} ({parameter.unit})" if parameter.unit else parameter.title
    field: forms.Field
    if parameter.type == "boolean":
        field = forms.BooleanField(label=label, required=False, widget=Flag(attrs={"value": "true"}))
    elif parameter.choices:
        field = forms.CharField(label=label, required=False, widget=forms.Select(choices=_choices(parameter)))
    else:
        field = _text_field(label, _attrs(parameter), _widget(parameter))
    field.help_text = _help(parameter)
    field.initial = parameter.default is True if parameter.type == "boolean" else text_of(parameter, parameter.default)
    return field


def _widget(parameter: Parameter) -> type[forms.Widget]:
    long = parameter.multiline or parameter.type in ("env", "command")
    return forms.Textarea if long else forms.TextInput


def _attrs(parameter: Parameter) -> dict[str, Any]:
    attrs: dict[str, Any] = {"placeholder": parameter.placeholder} if parameter.placeholder else {}
    if parameter.type in ("integer", "number"):
        # No number input: what it does not like it sends as nothing, and nothing means the default.
        return attrs | {"inputmode": "numeric" if parameter.type == "integer" else "decimal", "autocomplete": "off"}
    if parameter.type == "env":
        return {"placeholder": "NAME=value", "class": "mono", "rows": 3, **attrs, **_CODE}
    if parameter.type == "command":
        return attrs | {"class": "mono", "rows": 2, **_CODE}
    if parameter.type == "secretRef":
        return {"placeholder": f"secret-name/{parameter.key or 'key'}", **attrs, **_CODE}
    if parameter.type == "quantity":
        return attrs | {"autocomplete": "off", **_CODE}
    return attrs | ({"class": "mono", "rows": 6, **_CODE} if parameter.multiline else {})


def _choices(parameter: Parameter) -> list[tuple[str, str]]:
    choices = [(choice.value, choice.label) for choice in parameter.choices]
    return choices if parameter.default is not None else [("", "Choose one"), *choices]


def _help(parameter: Parameter) -> str:
    low, high = parameter.minimum, parameter.maximum
    bounds = ""
    if parameter.type in ("integer", "number", "quantity"):
        top = high if high is not None and str(high) != str(_INT32) else None
        if low is not None and top is not None:
            bounds = f"From {_number(low)} to {_number(top)}."
        elif top is not None:
            bounds = f"At most {_number(top)}."
    return " ".join(filter(None, [parameter.help, bounds]))


def _number(value: Decimal | str) -> str:
    return f"{value:,}" if isinstance(value, Decimal) and value == value.to_integral_value() else str(value)
