"""Sums and differences of quantities, written the way the message writes them."""

from decimal import Decimal

from runtimes.spec.quantities import QuantityError, format_quantity, parse


def value(amount: str) -> Decimal | None:
    """Return the exact value of a quantity, or None for a text that is none."""
    try:
        return parse(amount.strip())
    except QuantityError:
        return None


def add(a: str, b: str) -> str | None:
    """Return the sum of two quantities, or None if one is none."""
    return _combined(a, b, 1)


def subtract(a: str, b: str) -> str | None:
    """Return a less b, never below zero, or None if one is no quantity."""
    return _combined(a, b, -1)


def more(a: str, b: str) -> bool:
    """Return whether a is more than b; False if one is no quantity."""
    x, y = value(a), value(b)
    return x is not None and y is not None and x > y


def _combined(a: str, b: str, sign: int) -> str | None:
    x, y = value(a), value(b)
    if x is None or y is None:
        return None
    binary = a.strip().endswith("i") or b.strip().endswith("i")
    return format_quantity(max(x + sign * y, Decimal(0)), binary=binary)
