from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtimes.spec.quantities import QuantityError, equal, format_quantity, parse, plain, read, total


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", "1"),
        ("+1", "1"),
        ("5.", "5"),
        ("1500m", "1.5"),
        ("100n", "0.0000001"),
        ("1Ei", str(2**60)),
        ("1E", "1000000000000000000"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        ("9223372036854775807Ki", str((2**63 - 1) * 1024)),
        (2.5, "2.5"),
        (3, "3"),
    ],
)
def test_parse(text: object, value: str) -> None:
    assert parse(text) == Decimal(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_quantity"),
        ("m", "invalid_quantity"),
        ("1e", "invalid_quantity"),
        ("1 Gi", "invalid_quantity"),
        ("1.2.3", "invalid_quantity"),
        ("1\n", "invalid_quantity"),
        ("١", "invalid_quantity"),
        ("1" * 65, "invalid_quantity"),
        ("1gb", "unknown_unit"),
        ("1KI", "unknown_unit"),
        ("1e99999999999", "out_of_range"),
        (True, "wrong_type"),
    ],
)
def test_parse_refuses(text: object, code: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(text)  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("raw", "resource", "code"),
    [
        ("0.5", "hugepages-2Mi", "fractional_bytes"),
        ("1.1Gi", "memory", "fractional_bytes"),
        ("1500m", "example.test/card", "not_integer"),
        ("-1m", "cpu", "negative"),
        ("9223372036854775808", "cpu", "out_of_range"),
        ([1], "cpu", "wrong_type"),
    ],
)
def test_read_refuses(raw: object, resource: str, code: str) -> None:
    with pytest.raises(QuantityError) as caught:
        read(raw, resource)
    assert caught.value.code == code


def test_a_fraction_of_a_byte_comes_with_a_whole_number_of_bytes() -> None:
    with pytest.raises(QuantityError, match="1181116007"):
        read("1.1Gi", "memory")


@pytest.mark.parametrize(
    ("value", "binary", "text"),
    [
        (0, False, "0"),
        ("1.5", False, "1500m"),
        (2000, False, "2k"),
        (2000, True, "2000"),
        (2**30, True, "1Gi"),
        (3 * 2**29, True, "1536Mi"),
        ("0.0000000001", False, "1n"),
        (10**30, False, "1000000000000E"),
    ],
)
def test_format(value: object, binary: bool, text: str) -> None:
    assert format_quantity(Decimal(value), binary) == text  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.decimals(min_value=-(10**24), max_value=10**24, places=9, allow_nan=False), st.booleans())
def test_format_and_parse_are_inverse(value: Decimal, binary: bool) -> None:
    assert parse(format_quantity(value, binary)) == value


CLASSES = {"invalid_quantity", "unknown_unit", "negative", "out_of_range", "fractional_bytes"}


def outcome(text: str) -> str:
    """The class of a text's error, or whether it reads back as itself."""
    try:
        found = read(text, "memory", trim=True)
    except QuantityError as error:
        return error.code
    return "read" if found is None or found.value == parse(found.text) else "changed"


@settings(deadline=None)
@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_with_a_known_class(text: str) -> None:
    assert outcome(text) in {"read", *CLASSES}


def test_equal_and_total() -> None:
    assert equal("1000m", 1)
    assert not equal("1Gi", "1G")
    assert not equal("junk", "1")
    assert equal("junk", "junk")
    assert total([{"cpu": "500m", "memory": "1Gi"}, {"cpu": 1}]) == {"cpu": Decimal("1.5"), "memory": Decimal(2**30)}


def test_plain() -> None:
    assert [plain(Decimal(d)) for d in ("1.500", "1E+3", "-0", "0.000001")] == ["1.5", "1000", "0", "0.000001"]
