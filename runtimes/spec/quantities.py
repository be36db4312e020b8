"""Kubernetes quantities (`500m`, `1.5Gi`, `1e3`): parse, format, compare, and the strict reading of what people type.

Two readings, because two questions are asked. `parse` answers what the API server makes of a text that it accepts. `read` is for
input: it refuses what Kubernetes takes by accident (`Gi` is zero there, values over 2^63-1 are cut, bytes may be halves).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from typing import Any

MAX_VALUE = Decimal(2**63 - 1)
MAX_TEXT = 64
NANO = Decimal(1).scaleb(-9)
# Every product of a text we accept and a unit is exact in it; the default context rounds at 28 digits.
_EXACT = Context(prec=200, Emax=MAX_EMAX, Emin=MIN_EMIN)

_DECIMAL_UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
UNITS: dict[str, Decimal] = {unit: Decimal(1).scaleb(power) for unit, power in _DECIMAL_UNITS.items()}
UNITS |= {f"{unit}i": Decimal(2 ** (10 * power)) for power, unit in enumerate("KMGTPE", 1)}

_NUMBER = re.compile(r"(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?P<rest>.*)", re.DOTALL)
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_HUGE_EXPONENT = re.compile(r"[eE]\+?0*[0-9]{5,}")
_BYTES = re.compile(r"memory|storage|ephemeral-storage|hugepages-.+")
_NATIVE = re.compile(r"cpu|memory|storage|ephemeral-storage|hugepages-.+")


class QuantityError(ValueError):
    """A text that is no quantity. `code` is the error class (`invalid_quantity`, `unknown_unit`, ...), str() the message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Quantity:
    """A quantity that was read: its exact value in base units, and the text as it is stored."""

    value: Decimal
    text: str


def parse(raw: str | int | float | Decimal) -> Decimal:
    """Return the exact value of a quantity as Kubernetes reads it.

    Raises QuantityError (`invalid_quantity` or `unknown_unit`). Rule: apimachinery's quantity grammar; only ASCII digits.
    """
    if isinstance(raw, bool):
        raise QuantityError("wrong_type", "must be a quantity such as 2 or 1.5Gi, not true or false")
    text = _shortest(raw) if isinstance(raw, float) else str(raw)
    match = _NUMBER.fullmatch(text) if len(text) <= MAX_TEXT else None
    if not match:
        raise QuantityError(
            "invalid_quantity", f"{_shown(text)} is not a quantity: write a number and a unit, such as 500m or 1.5Gi"
        )
    number, rest = match["number"], match["rest"]
    if rest in UNITS:
        return _EXACT.multiply(Decimal(number), UNITS[rest])
    if _HUGE_EXPONENT.fullmatch(rest):
        raise QuantityError("out_of_range", f"{_shown(text)} is more than the largest amount there is (2^63-1)")
    if _EXPONENT.fullmatch(rest):
        return Decimal(number + rest)
    if rest.isascii() and rest.isalpha() and rest not in ("e",):
        raise QuantityError("unknown_unit", _unknown_unit(rest))
    raise QuantityError(
        "invalid_quantity", f"{_shown(text)} is not a quantity: write a number and a unit, such as 500m or 1.5Gi"
    )


def read(raw: Any, resource: str, trim: bool = False) -> Quantity | None:
    """Return the quantity a person or program gave for a resource, or None for "not set" (None or empty text).

    resource: its name (`cpu`, `memory`, `nvidia.com/gpu`; `gpu` stands for any extended resource).
    trim: take outer blanks away first (forms do, the API does not).
    Raises QuantityError: invalid_quantity, unknown_unit, wrong_type, negative, out_of_range, fractional_bytes, not_integer.
    """
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        raise QuantityError("wrong_type", "must be a quantity: a number or a text such as 1.5Gi")
    text = _shortest(raw) if isinstance(raw, float) else str(raw)
    text = text.strip(" \t\r\n") if trim else text
    if text == "":
        return None
    value = parse(text)
    _check_range(value, text, resource)
    return Quantity(value, text)


def _check_range(value: Decimal, text: str, resource: str) -> None:
    if value < 0:
        raise QuantityError("negative", f"{text} is negative: an amount of {resource} is zero or more")
    if value > MAX_VALUE:
        raise QuantityError("out_of_range", f"{text} is more than the largest amount there is (2^63-1)")
    if value == 0 or _is_whole(value):
        return
    if _BYTES.fullmatch(resource):
        raise QuantityError(
            "fractional_bytes", f"{text} is not a whole number of bytes: {_whole_bytes(value)} would be"
        )
    if not _NATIVE.fullmatch(resource):
        raise QuantityError("not_integer", f"{text} is not a whole number: {resource} is counted in whole pieces")


def _is_whole(value: Decimal) -> bool:
    """Whether the value has no fraction (cheap also for huge exponents)."""
    exponent = value.normalize(_EXACT).as_tuple().exponent
    return isinstance(exponent, int) and exponent >= 0


def _whole_bytes(value: Decimal) -> str:
    """The nearest larger amount of whole bytes in the largest unit that needs no fraction."""
    return format_quantity(value.to_integral_value(ROUND_CEILING, _EXACT), binary=True)


def is_byte_resource(resource: str) -> bool:
    """Whether the resource is measured in bytes (memory, storage, huge pages)."""
    return bool(_BYTES.fullmatch(resource))


def is_extended_resource(resource: str) -> bool:
    """Whether the resource is an extended one (`nvidia.com/gpu`): whole pieces, request equal to limit."""
    return "/" in resource and not resource.startswith(("kubernetes.io/", "requests."))


def format_quantity(value: Decimal | int, binary: bool = False) -> str:
    """Return the shortest exact Kubernetes text of a value, in binary units (Ki, Mi, ...) if asked and exact.

    Finer than a nano rounds up, as Kubernetes does.
    """
    value = Decimal(value)
    if value == 0:
        return "0"
    if binary and abs(value) >= 1024:
        for power in range(6, 0, -1):
            amount = _EXACT.divide(value, UNITS[f"{'KMGTPE'[power - 1]}i"])
            if _is_whole(amount):
                return f"{int(amount)}{'KMGTPE'[power - 1]}i"
        return str(int(value)) if _is_whole(value) else format_quantity(value)
    value = value.quantize(NANO, ROUND_CEILING, _EXACT) if not _is_whole(value) and value > -MAX_VALUE else value
    for unit, power in sorted(_DECIMAL_UNITS.items(), key=lambda entry: -entry[1]):
        amount = value.scaleb(-power, _EXACT)
        if _is_whole(amount):
            return f"{int(amount)}{unit}"
    raise QuantityError("out_of_range", f"{value} has no quantity text")


def equal(a: Any, b: Any) -> bool:
    """Whether two quantities have the same value (`1000m` and `1`); texts that are none are equal only if identical."""
    try:
        return parse(a) == parse(b)
    except QuantityError:
        return bool(a == b)


def total(amounts: Iterable[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Return the sum per resource over maps of quantities. Raises QuantityError for a value that is none."""
    sums: dict[str, Decimal] = {}
    for amount in amounts:
        for resource, quantity in amount.items():
            sums[resource] = _EXACT.add(sums.get(resource, Decimal(0)), parse(quantity))
    return sums


def plain(value: Decimal) -> str:
    """Return a decimal as plain text without exponent and trailing zeros (`0.5`, `1073741824`)."""
    text = f"{value.normalize(_EXACT):f}"
    return "0" if text == "-0" else text


def _shortest(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= MAX_TEXT else f'"{text[:20]}..." ({len(text)} characters)'


def _unknown_unit(unit: str) -> str:
    wanted = {"K": "k (1000) or Ki (1024)", "gi": "Gi", "mi": "Mi", "ki": "Ki", "ti": "Ti"}.get(unit)
    wanted = (
        wanted
        or {"B": f"{unit[:-1]} or {unit[:-1].rstrip('i')}i"}.get(unit[-1:] if unit[:-1] else "")
        or "m, k, M, G, T, Ki, Mi, Gi or Ti"
    )
    return f"there is no unit {unit}: use {wanted}"
