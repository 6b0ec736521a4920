"""`.timeindex`: entries, preallocated zeros, and what is wrong with them."""

import struct

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.time_index import TimestampOffset, parse, render

NOW = 1_700_000_000_000


def entries(*pairs: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *pair) for pair in pairs)


def test_the_bytes_of_an_entry() -> None:
    index, damages = parse(bytes.fromhex("0000018bcfe56800 00000007 0000018bcfe56be8 00000009"))
    assert damages == ()
    assert list(index) == [TimestampOffset(NOW, 7), TimestampOffset(NOW + 1000, 9)]
    assert (len(index), index[0].timestamp) == (2, NOW)


def test_preallocated_zeros_are_counted_and_are_no_damage() -> None:
    data = entries((NOW, 7)) + bytes(10485756 - 12)
    index, damages = parse(data)
    assert (len(index), index.zero_tail, damages) == (1, 873812, ())
    assert render(index) == data


def test_equal_offsets_and_ancient_times_are_healthy() -> None:
    assert parse(entries((-1, 5), (0, 5), (5, 9)))[1] == ()


DAMAGED = [
    (entries((NOW, 5)) + bytes(11), [("trailing-bytes", 12)]),
    (entries((NOW, 5), (NOW, 6)), [("timestamps-not-increasing", 12)]),
    (entries((NOW, 5), (NOW - 1, 6)), [("timestamps-not-increasing", 12)]),
    (entries((NOW, 5), (NOW + 1, 4)), [("offsets-decreasing", 20)]),
    (entries((NOW, -5)), [("negative-offset", 8)]),
    (
        entries((NOW, 5), (0, 0), (NOW + 1, 6)),
        [("timestamps-not-increasing", 12), ("offsets-decreasing", 20)],
    ),
]
"""Files, and what is wrong with them where: `test_every_format` looks."""


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**31 - 1)), max_size=20),
    st.integers(0, 5),
)
@examples(60)
def test_render_is_the_reverse_of_parse(pairs: list[tuple[int, int]], zeros: int) -> None:
    data = entries(*pairs) + bytes(12 * zeros)
    index, _ = parse(data)
    assert [tuple(entry) for entry in index] == pairs
    assert (index.zero_tail, render(index)) == (zeros, data)
