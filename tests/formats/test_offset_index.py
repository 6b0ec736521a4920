"""`.index`: entries, preallocated zeros, and what is wrong with them."""

import struct
from array import array

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.offset_index import OffsetIndex, OffsetPosition, parse, render


def entries(*pairs: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *pair) for pair in pairs)


def test_the_bytes_of_an_entry() -> None:
    index, damages = parse(bytes.fromhex("00000005 00001000 0000000a 00002000"))
    assert damages == ()
    assert list(index) == [OffsetPosition(5, 4096), OffsetPosition(10, 8192)]
    assert (len(index), index[1].position, index.zero_tail, index.trailing) == (2, 8192, 0, b"")


def test_preallocated_zeros_are_counted_and_are_no_damage() -> None:
    data = entries((5, 4096)) + bytes(10 << 20)
    index, damages = parse(data)
    assert damages == ()
    assert (len(index), index.zero_tail) == (1, (10 << 20) // 8)
    assert render(index) == data


def test_zeros_at_the_end_of_the_last_number_are_not_the_tail() -> None:
    index, _ = parse(entries((256, 0x01000000)) + bytes(16))
    assert (list(index), index.zero_tail) == ([OffsetPosition(256, 0x01000000)], 2)


DAMAGED = [
    (entries((5, 100)) + b"\x00\x00\x00", [("trailing-bytes", 8)]),
    (b"abc", [("trailing-bytes", 0)]),
    (entries((5, 100), (5, 200)), [("offsets-not-increasing", 8)]),
    (entries((5, 100), (6, 100)), [("positions-not-increasing", 12)]),
    (
        entries((5, 100), (0, 0), (7, 300)),
        [("offsets-not-increasing", 8), ("positions-not-increasing", 12)],
    ),
    (entries((5, -1)), [("negative-position", 4)]),
    (entries((-5, 1)), [("negative-offset", 0)]),
    (entries((5, 100), (-1, 200)), [("negative-offset", 8), ("offsets-not-increasing", 8)]),
]
"""Files, and what is wrong with them where: `test_every_format` looks."""


def test_garbage_gives_few_damages_however_long_it_is() -> None:
    _, damages = parse(bytes(range(255, 0, -1)) * 4000)
    assert len(damages) <= 5


def test_lookup_is_the_brokers() -> None:
    index = OffsetIndex(relative_offsets=array("i", [5, 10, 20]), positions=array("i", [100, 200, 400]))
    assert [index.lookup(offset) for offset in (0, 4, 5, 9, 10, 19, 20, 1000)] == [
        0,
        0,
        100,
        100,
        200,
        200,
        400,
        400,
    ]


@given(
    st.lists(st.tuples(st.integers(1, 2**31 - 1), st.integers(-(2**31), 2**31 - 1)), max_size=20),
    st.integers(0, 5),
)
@examples(60)
def test_render_is_the_reverse_of_parse(pairs: list[tuple[int, int]], zeros: int) -> None:
    data = entries(*pairs) + bytes(8 * zeros)
    index, _ = parse(data)
    assert [tuple(entry) for entry in index] == pairs
    assert (index.zero_tail, render(index)) == (zeros, data)
