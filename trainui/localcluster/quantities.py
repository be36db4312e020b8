"""Kubernetes quantities (`500m`, `2Gi`, `1e3`) as exact numbers."""

import re
from decimal import Decimal

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?")
_SCALE = {
    suffix: Decimal(10) ** power for suffix, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)
}
_SCALE |= {f"{letter}i": Decimal(2) ** (10 * (index + 1)) for index, letter in enumerate("KMGTPE")}


def parse_quantity(value: object) -> Decimal:
    """Return the number that a quantity stands for. Raises ValueError."""
    found = _FORM.fullmatch(str(value))
    if found is None:
        raise ValueError(f"not a quantity: {value!r}")
    number, exponent, suffix = found.groups()
    return Decimal(number + (exponent or "")) * (_SCALE[suffix] if suffix else 1)


def format_quantity(number: Decimal) -> str:
    """Return a number as a quantity: whole numbers plain, fractions in thousandths (rounded up)."""
    if number == number.to_integral_value():
        return str(int(number))
    thousandths = (number * 1000).to_integral_value(rounding="ROUND_CEILING")
    return f"{int(thousandths)}m"
