"""Numbers as people type them: read exactly, kept as text."""

import re
from decimal import Decimal
from typing import Any

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_WITH_FRACTION = re.compile(r"[+-]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)")
MAX_TEXT = 400
INT32 = 2**31 - 1


class NumberError(ValueError):
    """A text that is no number, or one outside its range. `code` is the error class, str() the message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_number(
    raw: Any,
    *,
    integer: bool = False,
    minimum: Decimal | int | None = None,
    maximum: Decimal | int | None = None,
    int32: bool = False,
    trim: bool = False,
) -> tuple[Decimal, str] | None:
    """Return the exact value and the text of a number, or None for "not set" (None or empty text).

    The text is the user's own: `1e-5` stays `1e-5`. Only ASCII digits, no separators, no leading zeros, nothing like NaN.
    Raises NumberError: wrong_type, invalid_number, not_integer, out_of_range.
    """
    if isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal | None):
        raise NumberError("wrong_type", "must be a number")
    text = "" if raw is None else str(raw)
    text = text.strip(" \t\r\n") if trim else text
    if text == "":
        return None
    value = _parse(text, integer)
    low, high = (
        (-INT32 - 1 if int32 and minimum is None else minimum),
        (INT32 if int32 and maximum is None else maximum),
    )
    if (low is not None and value < low) or (high is not None and value > high):
        raise NumberError("out_of_range", f"{text} is out of range: {_range(low, high)}")
    return value, text


def _parse(text: str, integer: bool) -> Decimal:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    if len(text) > MAX_TEXT:
        raise NumberError("invalid_number", f"{shown} has too many digits")
    if integer and _WITH_FRACTION.fullmatch(text):
        raise NumberError("not_integer", f"{shown} is not a whole number")
    if not (_INTEGER if integer else _NUMBER).fullmatch(text):
        example = "a whole number such as 8" if integer else "a number such as 0.1 or 3e-4"
        raise NumberError("invalid_number", f'"{shown}" is not a number: write {example}')
    return Decimal(text)


def _range(low: Decimal | int | None, high: Decimal | int | None) -> str:
    if low is not None and high is not None:
        return f"must be from {low} to {high}"
    return f"must be at least {low}" if low is not None else f"must be at most {high}"
