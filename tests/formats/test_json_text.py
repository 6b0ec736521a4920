"""The strict JSON reader below the two small JSON files."""

import pytest

from segmend.formats.cursor import Malformed
from segmend.formats.json_text import compact, integer, parse_object


def test_an_object_and_what_follows_it() -> None:
    assert parse_object(b' {"a": 1} trailing') == {"a": 1}
    assert compact({"a": [1, None], "b": "ä"}) == '{"a":[1,null],"b":"ä"}'.encode()


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b'{"a":\xff}', 5),
        (b'{"a":}', 5),
        (b"[1]", 0),
        (b'{"a":NaN}', 0),
        (b"[" * 99_999, 0),
        (b" " * (1 << 21), 0),
    ],
)
def test_what_is_none_is_located(data: bytes, position: int) -> None:
    with pytest.raises(Malformed) as caught:
        parse_object(data)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("value", "bits", "number"),
    [
        (5, 16, 5),
        (-32768, 16, -32768),
        (32768, 16, None),
        (2**31, 32, None),
        (2**63 - 1, 64, 2**63 - 1),
        (True, 32, None),
        (1.0, 32, None),
        ("1", 32, None),
        (None, 32, None),
    ],
)
def test_whole_numbers_that_fit(value: object, bits: int, number: int | None) -> None:
    assert integer({"x": value}, "x", bits) == number
    assert integer({}, "x", bits) is None
