"""Good bytes of a damaged batch, out of another replica's log.

Followers append a leader's bytes as they are, so replicas hold the same batches at the same
offsets. What stands between two batches that both logs have, byte for byte (by CRC, offset, epoch
and size), is what stood here, if its checksums are right and it has exactly the length of
the damage. A batch alone in its segment is known by its stored checksum. After compaction
replicas differ; then nothing fits, and nothing is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from segmend.formats.batch import RecordBatch
from segmend.kernel.scan import iter_batches
from segmend.logdir.tree import LogSegment, PartitionDir
from segmend.surgery.derive.sources import log_of, segment_of
from segmend.surgery.new_bytes import MOST_INLINE, NewBytes
from segmend.surgery.ops.repair.damaged_batches import Region
from segmend.surgery.ops.repair.scene import BeyondRepair
from segmend.surgery.step import Step
from segmend.surgery.steps.patch_file import PatchFile


def transplant(region: Region, other: PartitionDir, reason: str) -> Step:
    """The step that writes them in place; raises `BeyondRepair` if the other log does not prove them."""
    segment = _segment(other, region.first_offset)
    found = list(_between(segment, region))
    size = region.end - region.position
    if not found or sum(batch.size for batch in found) != size or not _proven(region, segment, found):
        raise BeyondRepair(f"{other.path} does not have {size} bytes between the same batches")
    log, start = log_of(segment), found[0].position
    if size > MOST_INLINE:
        piece = NewBytes.range_of(log.path, start, size)
    else:
        with log.reader() as reader:
            piece = NewBytes.inline(reader.read(size, start))
    return PatchFile.at(region.path, region.position, piece, f"{reason}; from {log.path}")


def _segment(other: PartitionDir, offset: int) -> LogSegment:
    base = max((base for base in other.layout.logs if base <= offset), default=None)
    if base is None:
        raise BeyondRepair(f"{other.path} begins after offset {offset}")
    return segment_of(other, base)


def _between(segment: LogSegment, region: Region) -> Iterator[RecordBatch]:
    """The other log's batches with offsets between the neighbours, as far as they are sound.

    Where this log ends the other one may go on: then no more of them than there are bytes here.
    """
    last, room = region.last_offset, region.end - region.position
    with log_of(segment).reader() as reader:
        for batch in iter_batches(reader, crc=True, resync=True, base_offset=segment.base_offset):
            if batch.base_offset < region.first_offset:
                continue
            if batch.last_offset > last if last is not None else room <= 0:
                return
            room -= batch.size
            yield batch


def _proven(region: Region, segment: LogSegment, found: Sequence[RecordBatch]) -> bool:
    """Both neighbours are the same there; at most one may lie in another segment, or not exist.

    For a batch alone in its segment its own stored checksum stands in for them.
    """
    before, after = _neighbours(segment, found)
    sides = [_same(region.before, before), _same(region.after, after)]
    together = all(one.end == two.position for one, two in pairwise(found))
    epochs = [
        batch.partition_leader_epoch for batch in (region.before, *found, region.after) if batch is not None
    ]
    borne_out = True in sides or _is_its_checksum(region.header, found)
    return together and False not in sides and borne_out and epochs == sorted(epochs)


def _is_its_checksum(header: RecordBatch | None, found: Sequence[RecordBatch]) -> bool:
    """Whether one batch was found whose checksum and place are those in the damaged header."""
    if header is None or len(found) != 1:
        return False
    return _place_of(header) == _place_of(found[0])


def _place_of(batch: RecordBatch) -> tuple[int, ...]:
    return batch.base_offset, batch.size, batch.partition_leader_epoch, batch.magic, batch.crc


def _same(mine: RecordBatch | None, theirs: RecordBatch | None) -> bool | None:
    """Whether two batches are one; None where one log has none at that side."""
    if mine is None or theirs is None:
        return None
    return mine._replace(position=0) == theirs._replace(position=0)


def _neighbours(
    segment: LogSegment, found: Sequence[RecordBatch]
) -> tuple[RecordBatch | None, RecordBatch | None]:
    before = None
    with log_of(segment).reader() as reader:
        for batch in iter_batches(
            reader, stop=found[0].position, crc=True, resync=True, base_offset=segment.base_offset
        ):
            before = batch
        after = next(iter_batches(reader, start=found[-1].end, crc=True), None)
    return before, after
