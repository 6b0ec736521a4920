"""Numbers as `Integer.parseInt` and `Long.parseLong` read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.java_number import parse_int, parse_long, wrap_int, wrap_long


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("000000000000000000000000000007", 7),
        ("-2147483648", -(2**31)),
        ("2147483647", 2**31 - 1),
        ("٣٤", 34),  # Character.digit knows every script
        ("+" + "٠" * 30 + "٣٤", 34),
    ],
)
def test_what_java_reads(text: str, number: int) -> None:
    assert parse_int(text) == number
    assert parse_long(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "-",
        "--1",
        "+-1",
        " 1",
        "1 ",
        "1_000",
        "0x10",
        "1.0",
        "1e3",
        "²",
        "𝟏",
        "9223372036854775808",
        "1\n",
    ],
)
def test_what_is_a_number_format_exception(text: str) -> None:
    assert parse_int(text) is None
    assert parse_long(text) is None


def test_the_edges_of_the_types() -> None:
    assert parse_int("2147483648") is None
    assert parse_int("-2147483649") is None
    assert parse_long("2147483648") == 2**31
    assert parse_long("-9223372036854775808") == -(2**63)
    assert parse_long("-9223372036854775809") is None


def test_a_million_digits_cost_nothing() -> None:
    assert parse_long("9" * 1_000_000) is None
    assert parse_long("0" * 1_000_000 + "7") == 7


@given(st.integers(-(2**63), 2**63 - 1))
@examples(50)
def test_every_long_is_read_back(number: int) -> None:
    assert parse_long(str(number)) == number


@given(st.integers(-(2**70), 2**70))
@examples(50)
def test_overflow_wraps_as_in_java(number: int) -> None:
    assert (wrap_long(number) - number) % 2**64 == 0
    assert -(2**63) <= wrap_long(number) < 2**63
    assert (wrap_int(number) - number) % 2**32 == 0
    assert -(2**31) <= wrap_int(number) < 2**31
