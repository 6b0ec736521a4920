"""Equal stretches have equal digests, whatever the segments; any other byte that matters shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checks.build_partition import batch, record
from tests.conftest import examples
from tests.kernel.log_writer import varied_log

from segmend.fleet.digest import PartitionDigest
from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.stretches import Stretches
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


def test_the_sums_stay_those_that_earlier_runs_wrote() -> None:
    three, five = ([record(i, None, text) for i in range(n)] for n, text in ((3, b"a"), (5, b"b")))
    cleaned = batch(4099, [record(0, b"k", b"v")], epoch=6, last_delta=4)
    assert digest_of(batch(0, three, epoch=5) + batch(4094, five, epoch=6) + cleaned) == {
        0: (2, 0, 4099, 6039917760933796727),
        1: (1, 4099, 4104, 647540699705064041),
    }


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_scan_of_a_sound_log_fills_what_its_headers_say(seed: int, crc: bool) -> None:
    data, digest, filled = varied_log(seed, 200), PartitionDigest(), Stretches(DIGEST_OFFSETS)
    digest.add(BytesReader(data), 100)
    scan = scan_log(BytesReader(data), ScanTask(base_offset=100, crc=crc, records=crc, stretches=filled))
    assert not scan.damaged_batches
    assert (filled.rows, filled.has_holes) == digest.parts(100)


def test_holes_inside_batches_are_the_cleaner_s() -> None:
    digest = PartitionDigest()
    digest.add(BytesReader(batch(0, [record(0, b"k", b"v")])), 0)
    assert not digest.has_holes
    digest.add(BytesReader(batch(1, [record(0, b"k", b"v")], last_delta=5)), 0)
    assert digest.has_holes
