"""Equal stretches have equal digests, whatever the segments; any other byte that matters shows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.checks.build_partition import batch, record
from tests.conftest import examples

from segmend.fleet.digest import PartitionDigest
from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.kernel.types import BytesReader

Batch = tuple[int, int, int]
"""(records, leader epoch, what is in them)."""


def bytes_of(batches: list[Batch], base: int) -> list[bytes]:
    found = []
    for count, epoch, seed in batches:
        records = [record(i, None, b"%d" % seed) for i in range(count)]
        found.append(batch(base, records, epoch=epoch))
        base += count
    return found


def digest_of(*segments: bytes) -> dict[int, tuple[int, int, int, int]]:
    digest = PartitionDigest()
    for segment in segments:
        digest.add(BytesReader(segment), 0)
    rows = digest.rows({})
    return {r["bucket"]: (r["batches"], r["first_offset"], r["end_offset"], r["digest"]) for r in rows}


BATCHES = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 9), st.integers(0, 99)), min_size=2, max_size=12
)
BASES = st.sampled_from([0, DIGEST_OFFSETS - 7, 10 * DIGEST_OFFSETS, (1 << 62)])


@examples(40)
@given(BATCHES, BASES, st.data())
def test_segments_do_not_matter(batches: list[Batch], base: int, data: st.DataObject) -> None:
    found = bytes_of(batches, base)
    at = data.draw(st.integers(0, len(found)))
    assert digest_of(b"".join(found[:at]), b"".join(found[at:])) == digest_of(b"".join(found))


@examples(40)
@given(BATCHES, BASES, st.data())
def test_another_epoch_or_content_shows(batches: list[Batch], base: int, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(batches) - 1))
    count, epoch, seed = batches[at]
    for changed in ((count, epoch + 1, seed), (count, epoch, seed + 1)):
        other = [*batches[:at], changed, *batches[at + 1 :]]
        assert digest_of(b"".join(bytes_of(other, base))) != digest_of(b"".join(bytes_of(batches, base)))


def test_holes_inside_batches_are_the_cleaner_s() -> None:
    digest = PartitionDigest()
    digest.add(BytesReader(batch(0, [record(0, b"k", b"v")])), 0)
    assert not digest.has_holes
    digest.add(BytesReader(batch(1, [record(0, b"k", b"v")], last_delta=5)), 0)
    assert digest.has_holes
