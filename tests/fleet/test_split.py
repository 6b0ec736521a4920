"""Whatever the bytes of an index: the ranges cover the file, in order, without a gap or an overlap."""

import itertools
import struct

from hypothesis import example, given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.fleet.ranges import cuts


def index(*positions: int) -> bytes:
    return b"".join(struct.pack(">ii", number + 1, position) for number, position in enumerate(positions))


@examples(80)
@given(st.integers(0, 10_000), st.binary(max_size=200), st.integers(1, 4096))
@example(5000, index(4000, 10, 3, 4500), 100)
def test_ranges_cover_the_file(size: int, data: bytes, target: int) -> None:
    found = cuts(size, data, target)
    assert found[0][0] == 0
    assert found[-1][1] == size
    assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
    assert all(start < end for start, end in found) or size == 0


def test_cuts_are_the_first_entries_at_or_after_the_target() -> None:
    assert cuts(1000, index(90, 210, 330, 600, 980), 200) == [(0, 210), (210, 600), (600, 980), (980, 1000)]


def test_zeros_of_a_preallocated_index_are_no_entries() -> None:
    assert cuts(1000, index(500) + bytes(800), 400) == [(0, 500), (500, 1000)]


def test_without_an_index_a_segment_is_one_range() -> None:
    assert cuts(1 << 30, None, 1 << 20) == [(0, 1 << 30)]
