"""Bounded reads and varints."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.cursor import (
    Cursor,
    Malformed,
    Truncated,
    read_uvarint,
    read_varint,
    read_varlong,
    write_uvarint,
    write_varint,
)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (2**31 - 1, "feffffff0f"),
    ],
)
def test_zig_zag_vectors_of_kafkas_own_tests(number: int, encoded: str) -> None:
    raw = bytes.fromhex(encoded)
    assert write_varint(number) == raw
    assert read_varint(raw, 0, len(raw)) == (number, len(raw))
    assert read_varlong(raw, 0, len(raw)) == (number, len(raw))


@given(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=3))
@examples(50)
def test_varints_come_back(number: int, before: bytes) -> None:
    raw = before + write_varint(number)
    assert read_varint(raw, len(before), len(raw)) == (number, len(raw))


@given(st.integers(-(2**63), 2**63 - 1))
@examples(50)
def test_varlongs_come_back(number: int) -> None:
    raw = write_varint(number)
    assert read_varlong(raw, 0, len(raw)) == (number, len(raw))


@given(st.integers(0, 2**32 - 1))
@examples(50)
def test_unsigned_varints_come_back(number: int) -> None:
    raw = write_uvarint(number)
    assert read_uvarint(raw, 0, len(raw)) == (number, len(raw))


def test_varints_that_are_too_long_or_cut_off() -> None:
    with pytest.raises(Malformed, match="too long"):
        read_varint(b"\xff" * 6, 0, 6)
    with pytest.raises(Malformed, match="too long"):
        read_varlong(b"\xff" * 11, 0, 11)
    for read in (read_uvarint, read_varint, read_varlong):
        with pytest.raises(Truncated):
            read(b"\x80\x80", 0, 2)
        with pytest.raises(Truncated):
            read(b"\x01", 1, 1)


def test_a_varint_never_reads_past_its_end() -> None:
    with pytest.raises(Truncated):
        read_varint(b"\x80\x01", 0, 1)


def test_reading_fields_one_after_another() -> None:
    cursor = Cursor(b"\xff\xfe\x00\x00\x00\x07" + b"\xff" * 8 + b"\xff\xff" + b"\x01\x05\x01x")
    assert (cursor.i16(), cursor.i32(), cursor.i64(), cursor.u16()) == (-2, 7, -1, 65535)
    assert cursor.tagged_fields() == ((5, b"x"),)
    assert cursor.remaining == 0


@pytest.mark.parametrize(
    "read", [Cursor.i16, Cursor.i32, Cursor.i64, Cursor.u16, Cursor.uvarint, lambda cursor: cursor.take(4)]
)
def test_every_read_past_the_end_is_located(read: Callable[[Cursor], object]) -> None:
    cursor = Cursor(b"....\x80", 4)
    with pytest.raises(Truncated) as caught:
        read(cursor)
    assert caught.value.position == 4


def test_lengths_that_lie() -> None:
    with pytest.raises(Malformed, match="-1 bytes"):
        Cursor(b"ab").take(-1)
    with pytest.raises(Malformed, match="tagged fields"):
        Cursor(b"\xff\xff\xff\xff\x0f" + bytes(100)).tagged_fields()
