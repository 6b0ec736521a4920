"""Columns of numbers out of fixed-size entries."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.byte_columns import first_decrease, put_column, split, take_column


def test_numbers_of_both_widths() -> None:
    data = bytes.fromhex("ffffffff 0000000000000007 00000001 8000000000000000")
    assert take_column(data, 12, 0, 4) == array("i", [-1, 1])
    assert take_column(data, 12, 4, 8) == array("q", [7, -(2**63)])
    out = bytearray(24)
    put_column(out, 12, 0, array("i", [-1, 1]))
    put_column(out, 12, 4, array("q", [7, -(2**63)]))
    assert bytes(out) == data


@pytest.mark.parametrize(
    ("data", "used"),
    [
        (b"", 0),
        (bytes(16), 0),
        (b"\x01" + bytes(15), 8),
        (bytes(7) + b"\x01" + bytes(8), 8),
        (bytes(8) + b"\x01" * 8, 16),
        (bytes(8) + b"\x01", 0),
    ],
)
def test_the_used_part_of_a_preallocated_file(data: bytes, used: int) -> None:
    entries, zeros, trailing = split(data, 8)
    assert (len(entries), zeros, trailing) == (used, len(data) // 8 - used // 8, data[len(data) // 8 * 8 :])


def test_the_first_decrease() -> None:
    assert first_decrease(array("i"), strict=True) is None
    assert first_decrease(array("i", [1, 2, 2, 3]), strict=True) == 2
    assert first_decrease(array("i", [1, 2, 2, 3]), strict=False) is None
    assert first_decrease(array("i", [1, 2, 1, 3]), strict=False) == 2


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(4, 9))
@examples(40)
def test_columns_come_back(numbers: list[int], stride: int) -> None:
    out = bytearray(stride * len(numbers))
    put_column(out, stride, stride - 4, array("i", numbers))
    assert list(take_column(bytes(out), stride, stride - 4, 4)) == numbers
