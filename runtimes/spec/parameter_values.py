"""Typed reading of what was given for a parameter, by a form or by the API."""

import re
import shlex
from decimal import Decimal
from typing import Any

from runtimes.spec.dns import is_subdomain
from runtimes.spec.env import check_pairs, parse_env_text
from runtimes.spec.findings import Finding
from runtimes.spec.numbers import NumberError, read_number
from runtimes.spec.parameter import Parameter
from runtimes.spec.quantities import QuantityError, parse, read
from runtimes.spec.schema import type_name

MAX_TEXT = 32_768
MAX_ITEMS = 128
_TRUE, _FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


class ValueProblem(ValueError):
    """What was given for a parameter is not a value of it."""

    def __init__(self, code: str, message: str, **params: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.params = code, message, params


def read_value(parameter: Parameter, raw: Any, form: bool) -> Any:
    """Return the value of a parameter, or None if it is not set.

    form: the value comes from a form, so outer blanks of one-line fields go, and empty means "not set". The API trims nothing.
    integer gives int; number and quantity the user's text; boolean bool; env a list of (name, value); command a list of texts; secretRef
    a pair of name and key; text and choice a text.
    Raises ValueProblem with the classes of the form fixtures (required, wrong_type, out_of_range, invalid_quantity, ...).
    """
    value = None if raw is None else _READERS[parameter.type](parameter, raw, form)
    if value is None and parameter.required and parameter.default is None:
        raise ValueProblem("required", f"{parameter.title} is required")
    return value


def _number(parameter: Parameter, raw: Any, form: bool) -> Any:
    integer = parameter.type == "integer"
    low, high = parameter.minimum, parameter.maximum
    try:
        found = read_number(
            raw,
            integer=integer,
            minimum=low if isinstance(low, Decimal) else None,
            maximum=high if isinstance(high, Decimal) else None,
            trim=form,
        )
    except NumberError as error:
        raise ValueProblem(error.code, str(error)) from None
    if found is None:
        return None
    if parameter.choices and found[1] not in [choice.value for choice in parameter.choices]:
        raise ValueProblem("not_supported", _choices(parameter))
    return int(found[0]) if integer else found[1]


def _quantity(parameter: Parameter, raw: Any, form: bool) -> str | None:
    try:
        found = read(raw, parameter.resource, trim=form)
    except QuantityError as error:
        raise ValueProblem(error.code, str(error)) from None
    if found is None:
        return None
    if parameter.minimum is not None and found.value < parse(str(parameter.minimum)):
        raise ValueProblem("out_of_range", f"{found.text} is too little: must be at least {parameter.minimum}")
    if parameter.maximum is not None and found.value > parse(str(parameter.maximum)):
        raise ValueProblem("out_of_range", f"{found.text} is too much: must be at most {parameter.maximum}")
    return found.text


def _text(parameter: Parameter, raw: Any, form: bool) -> str | None:
    value = _given_text(raw)
    if form:
        value = value.replace("\r\n", "\n") if parameter.multiline else value.strip(" \t\r\n")
    if value == "":
        return None
    limit = parameter.max_length or MAX_TEXT
    if len(value) > limit:
        raise ValueProblem("too_long", f"may have at most {limit} characters, has {len(value)}", max_length=limit)
    if _CONTROL.search(value) or (not parameter.multiline and "\n" in value):
        raise ValueProblem("control_char", "must not hold line breaks or control characters")
    if parameter.pattern and not re.fullmatch(parameter.pattern, value):
        hint = f": {parameter.help}" if parameter.help else f": must match {parameter.pattern}"
        raise ValueProblem("invalid", f"is not of the wanted form{hint}")
    return value


def _choice(parameter: Parameter, raw: Any, form: bool) -> str | None:
    number = isinstance(raw, int | float) and not isinstance(raw, bool)
    value = str(raw) if number else _given_text(raw)
    value = value.strip(" \t\r\n") if form else value
    if value == "":
        return None
    if value not in [choice.value for choice in parameter.choices]:
        raise ValueProblem("not_supported", _choices(parameter))
    return value


def _choices(parameter: Parameter) -> str:
    return "must be one of " + ", ".join(choice.value for choice in parameter.choices)


def _boolean(parameter: Parameter, raw: Any, form: bool) -> bool | None:
    if isinstance(raw, bool):
        return raw
    if not isinstance(raw, str):
        raise ValueProblem("wrong_type", f"must be true or false, not a {type_name(raw)}")
    value = raw.strip().lower() if form else raw
    if value == "":
        return None
    if value not in (_TRUE + _FALSE if form else ("true", "false")):
        raise ValueProblem("wrong_type", "must be true or false")
    return value in _TRUE


def _env(parameter: Parameter, raw: Any, form: bool) -> list[tuple[str, str]] | None:
    if isinstance(raw, str):
        pairs, findings = parse_env_text(raw)
    else:
        pairs, findings = check_pairs(_env_pairs(raw), "")
    if findings:
        raise _from_finding(findings[0])
    return pairs or None


def _env_pairs(raw: Any) -> list[tuple[str, str]]:
    entries = list(raw.items()) if isinstance(raw, dict) else raw
    if not isinstance(entries, list):
        raise ValueProblem("wrong_type", "must be NAME=value lines, a map, or a list of name and value")
    pairs = []
    for entry in entries:
        name, value = (entry.get("name"), entry.get("value", "")) if isinstance(entry, dict) else _pair(entry)
        if not isinstance(name, str) or not isinstance(value, str):
            raise ValueProblem("wrong_type", "names and values of variables are texts")
        pairs.append((name, value))
    return pairs


def _pair(entry: Any) -> tuple[Any, Any]:
    if isinstance(entry, list | tuple) and len(entry) == 2:
        return entry[0], entry[1]
    raise ValueProblem("wrong_type", "each variable is a map of name and value")


def _from_finding(finding: Finding) -> ValueProblem:
    return ValueProblem(finding.code, finding.message, **finding.params)


def _command(parameter: Parameter, raw: Any, form: bool) -> list[str] | None:
    if isinstance(raw, str):
        try:
            parts = shlex.split(raw.replace("\r\n", "\n"))
        except ValueError as error:
            raise ValueProblem("invalid_command", f"cannot be split into words: {str(error).lower()}") from None
    elif isinstance(raw, list) and all(isinstance(part, str) for part in raw):
        parts = list(raw)
    else:
        raise ValueProblem("wrong_type", "must be text, or a list of texts")
    if len(parts) > MAX_ITEMS:
        raise ValueProblem("too_many", f"may have at most {MAX_ITEMS} words, has {len(parts)}")
    if any("\0" in part for part in parts):
        raise ValueProblem("control_char", "must not hold a NUL character")
    return parts or None


def _secret(parameter: Parameter, raw: Any, form: bool) -> tuple[str, str] | None:
    if isinstance(raw, dict) and set(raw) <= {"name", "key"}:
        name, key = raw.get("name", ""), raw.get("key", "")
    else:
        name, _, key = _given_text(raw).partition("/")
    if not isinstance(name, str) or not isinstance(key, str):
        raise ValueProblem("wrong_type", "name and key of a Secret are texts")
    name, key = (name.strip(), key.strip()) if form else (name, key)
    if not name and not key:
        return None
    if not is_subdomain(name):
        raise ValueProblem("invalid_name", "name a Secret of this project, as NAME or NAME/KEY")
    key = key or parameter.key
    if key and not _SECRET_KEY.fullmatch(key):
        raise ValueProblem("invalid_name", 'the key of a Secret has letters, digits, "-", "_" and "." only')
    return name, key


def _given_text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise ValueProblem("wrong_type", f"must be text, not a {type_name(raw)}")
    return raw


_READERS = {
    "integer": _number,
    "number": _number,
    "quantity": _quantity,
    "text": _text,
    "choice": _choice,
    "boolean": _boolean,
    "env": _env,
    "command": _command,
    "secretRef": _secret,
}
