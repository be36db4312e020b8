"""One parameter of a blueprint: what a form asks, and what it sets."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Choice:
    """One choice: its value, and how it is shown."""

    value: str
    label: str


@dataclass(frozen=True)
class Parameter:
    """A parameter of a blueprint.

    type: integer, number, text, choice, boolean, quantity, env, command or secretRef. minimum, maximum: numbers, for quantities texts.
    group: basic or advanced. resource: what a quantity measures. flag: what a true boolean writes into a template. key: the key of the
    Secret if the user names none. paths: the TrainJob fields it sets; a parameter without one is named in a template.
    common: offered by every blueprint.
    """

    name: str
    title: str
    type: str
    help: str = ""
    default: Any = None
    minimum: Decimal | str | None = None
    maximum: Decimal | str | None = None
    max_length: int | None = None
    pattern: str = ""
    multiline: bool = False
    choices: tuple[Choice, ...] = ()
    required: bool = False
    group: str = "basic"
    placeholder: str = ""
    unit: str = ""
    resource: str = "cpu"
    flag: str = ""
    key: str = ""
    paths: tuple[str, ...] = ()
    common: bool = False
