"""The parameters of a blueprint as a table."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runtimes.spec.parameter import Parameter

_INT32 = Decimal(2**31 - 1)
_TYPES = {"env": "variables", "secretRef": "secret", "command": "command line"}


@dataclass(frozen=True)
class ParameterRow:
    """One parameter. limits: what its values must be, in words. sets: the fields of the TrainJob, "" when it stands in a template."""

    name: str
    title: str
    kind: str
    default: str
    placeholder: str
    limits: str
    help: str
    required: bool
    common: bool
    sets: tuple[str, ...]


def parameter_rows(parameters: Iterable[Parameter]) -> list[ParameterRow]:
    """Return the rows, in the order of the form."""
    return [
        ParameterRow(
            name=parameter.name,
            title=parameter.title,
            kind=_TYPES.get(parameter.type, parameter.type),
            default=_default(parameter.default),
            placeholder=parameter.placeholder if parameter.common else "",
            limits=_limits(parameter),
            help=parameter.help,
            required=parameter.required,
            common=parameter.common,
            sets=parameter.paths,
        )
        for parameter in parameters
    ]


def _default(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(word) for word in value) if isinstance(value, list) else str(value).strip()


def _limits(parameter: Parameter) -> str:
    if parameter.choices:
        return " · ".join(choice.value for choice in parameter.choices)
    low, high = parameter.minimum, None if parameter.maximum == _INT32 else parameter.maximum
    said = []
    if low is not None and high is not None:
        said.append(f"{low} to {high}")
    elif low is not None:
        said.append(f"{low} or more")
    elif high is not None:
        said.append(f"{high} or less")
    if parameter.max_length:
        said.append(f"at most {parameter.max_length} characters")
    return ", ".join(said)
