"""Values of settings as `ConfigDef.parseType` reads them."""

import pytest

from segmend.formats.config_values import boolean, integer, long_integer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("TRUE", True), (" True\t", True), ("False ", False), ("yes", None), ("", None),
        (None, None), ("${file:/etc/x:y}", None), ("\u00a0true", None),
    ],
)  # fmt: skip
def test_booleans(text: str | None, value: bool | None) -> None:
    assert boolean(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [(" 7 ", 7), ("+7", 7), ("-1", -1), ("7.0", None), ("1_000", None), ("", None), (None, None)],
)
def test_numbers(text: str | None, value: int | None) -> None:
    assert (integer(text), long_integer(text)) == (value, value)


def test_ranges() -> None:
    assert (integer("2147483648"), long_integer(" 2147483648")) == (None, 1 << 31)
