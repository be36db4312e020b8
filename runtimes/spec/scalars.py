"""What a plain (unquoted) YAML scalar means, as kubectl reads it, and which ones mean different things to different readers."""

import math
import re

_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}
_FALSE = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEXADECIMAL = re.compile(r"[-+]?0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
# Octal in YAML 1.1 (012) or 1.2 (0o12), binary, digits grouped by underscores: text to one reader, a number to the other.
_AMBIGUOUS = re.compile(
    r"[-+]?(0[0-9_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|0x[0-9a-fA-F_]*_[0-9a-fA-F_]*)"
)
# Read as text by kubectl, as a number of base 60 or a date by YAML 1.1 readers: we keep the text and quote it when we write.
_OLD_FORMS = re.compile(
    r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?|=|<<|[-+]?[0-9][0-9_]*\.[0-9_]*"
)
MAX_DIGITS = 400


class AmbiguousScalar(ValueError):
    """A plain scalar that YAML 1.1 and 1.2 read differently, or that JSON cannot hold. str() says what to do."""


def resolve(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar. Raises AmbiguousScalar.

    YAML 1.1 booleans (`on`, `yes`, `y`) are booleans, as for kubectl; times and dates are text.
    """
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if not text[0].isdigit() and text[0] not in "+-.":
        return text
    if _AMBIGUOUS.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        raise AmbiguousScalar(
            f"{text[:40]} means different things to different readers of YAML: quote it or write a plain number"
        )
    return _number(text)


def _number(text: str) -> str | int | float:
    if _HEXADECIMAL.fullmatch(text) and len(text) <= MAX_DIGITS:
        return int(text, 16)
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > MAX_DIGITS:
        raise AmbiguousScalar(f"{text[:20]}... has too many digits for a number: quote it")
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise AmbiguousScalar(f"{text[:40]} is larger than any number: quote it")
    return number


def needs_quotes(text: str) -> bool:
    """Whether the text must be quoted in YAML so that every reader takes it for text."""
    if _OLD_FORMS.fullmatch(text):
        return True
    try:
        return not isinstance(resolve(text), str)
    except AmbiguousScalar:
        return True
