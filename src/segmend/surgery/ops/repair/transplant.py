"""Good bytes of damaged batches, out of other replicas' logs.

Followers append a leader's bytes as they are, so replicas hold the same batches at the same
offsets. What stands between two batches that both logs have, byte for byte (by CRC, offset, epoch
and size), is what stood here, if its checksums are right and it has exactly the length of
the damage. The batches beside it may lie in the segments before and after. A batch alone in its log
is known by its stored checksum. Of several replicas each may be damaged elsewhere: then each batch comes
from one that has it sound. After compaction replicas differ; then nothing fits, and nothing is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.frozen import frozen
from segmend.kernel.scan import iter_batches
from segmend.logdir.files import FileEntry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.sources import log_of, segment_of
from segmend.surgery.new_bytes import MOST_INLINE, NewBytes
from segmend.surgery.ops.repair.damaged_batches import Region
from segmend.surgery.ops.repair.scene import BeyondRepair
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.patch_file import PatchFile

_PIECE: Final = 1 << 20


@frozen
class _ReplicaBatch:
    """A sound batch in a replica's segment."""

    batch: RecordBatch
    segment: LogSegment


def transplant(region: Region, others: Sequence[PartitionDir], reason: str) -> list[Step]:
    """The steps that write them in place; raises `BeyondRepair` if the other logs do not prove them."""
    refusals = []
    for other in others:
        try:
            return _written(region, _proven_of(region, [other]), reason)
        except BeyondRepair as why:
            refusals.append(str(why))
    if len(others) > 1:
        try:
            return _written(region, _proven_of(region, others), reason)
        except BeyondRepair as why:
            refusals.append(f"together: {why}")
    raise BeyondRepair("; ".join(refusals))


def rejoin(region: Region, others: Sequence[PartitionDir], reason: str) -> list[Step]:
    """The step that goes on where a rolled segment breaks off; raises as `transplant`.

    What is left of the batch that is torn must be how the replica's begins; what follows must reach up to
    the next segment.
    """
    refusals = []
    for other in others:
        try:
            return [_rest_of(region, other, reason)]
        except BeyondRepair as why:
            refusals.append(str(why))
    raise BeyondRepair("; ".join(refusals))


def _rest_of(region: Region, other: PartitionDir, reason: str) -> Step:
    segment = _segment(other, region.first_offset)
    batches, torn = list(_between(segment, region)), region.end - region.position
    pieces = list(_pieces(batches)) if batches else []
    if not batches or batches[-1].last_offset != region.wanted_to or len(pieces) > 1:
        raise BeyondRepair(
            f"{log_of(segment).path} does not have offsets "
            f"{region.first_offset} to {region.wanted_to} in one run"
        )
    if not _is_ours(region, segment, batches) or not _goes_on(region, log_of(segment), pieces[0][0]):
        raise BeyondRepair(f"{other.path} does not go on from there with the batch that is torn here")
    start, end = pieces[0]
    return AppendFile.to(region.path, _bytes_of(log_of(segment).path, start + torn, end), reason)


def _goes_on(region: Region, other: FileEntry, position: int) -> bool:
    """Whether the bytes of a region are those of the other log from this position on."""
    torn = region.end - region.position
    with log_of(region.segment).reader() as mine, other.reader() as theirs:
        return all(
            mine.read(min(_PIECE, torn - at), region.position + at)
            == theirs.read(min(_PIECE, torn - at), position + at)
            for at in range(0, torn, _PIECE)
        )


def _proven_of(region: Region, others: Sequence[PartitionDir]) -> list[_ReplicaBatch]:
    """The batches that fill the region, each from the first replica that has it; raises `BeyondRepair`."""
    size, names = region.end - region.position, ", ".join(other.path for other in others)
    by_offset: dict[int, _ReplicaBatch] = {}
    for other in others:
        segment = _segment(other, region.first_offset)
        batches = list(_between(segment, region))
        if not batches:
            continue
        if not _is_ours(region, segment, batches):
            raise BeyondRepair(f"{other.path} does not have {size} bytes between the same batches")
        for batch in batches:
            known = by_offset.setdefault(batch.base_offset, _ReplicaBatch(batch=batch, segment=segment))
            if known.batch._replace(position=0) != batch._replace(position=0):
                raise BeyondRepair(f"{names} differ at offset {batch.base_offset}")
    chosen = [by_offset[offset] for offset in sorted(by_offset)]
    if not chosen or sum(each.batch.size for each in chosen) != size or not _in_order(region, chosen):
        raise BeyondRepair(f"{names} does not have {size} bytes between the same batches")
    return chosen


def _written(region: Region, proven: Sequence[_ReplicaBatch], reason: str) -> list[Step]:
    """A step for each run of batches out of one log."""
    steps: list[Step] = []
    position = region.position
    for path, run in groupby(proven, lambda each: log_of(each.segment).path):
        for start, end in _pieces([each.batch for each in run]):
            steps.append(_patch(region.path, position, path, start, end, reason))
            position += end - start
    return steps


def _pieces(batches: Sequence[RecordBatch]) -> Iterator[tuple[int, int]]:
    """Where in their log batches stand that follow each other there."""
    start = batches[0].position
    for one, two in pairwise(batches):
        if one.end != two.position:
            yield start, one.end
            start = two.position
    yield start, batches[-1].end


def _patch(path: str, position: int, source: str, start: int, end: int, reason: str) -> Step:
    return PatchFile.at(path, position, _bytes_of(source, start, end), f"{reason}; from {source}")


def _bytes_of(source: str, start: int, end: int) -> NewBytes:
    if end - start > MOST_INLINE:
        return NewBytes.range_of(source, start, end - start)
    with FileEntry.at(source).reader() as reader:
        return NewBytes.inline(reader.read(end - start, start))


def _segment(other: PartitionDir, offset: int) -> LogSegment:
    base = max((base for base in other.layout.logs if base <= offset), default=None)
    if base is None:
        raise BeyondRepair(f"{other.path} begins after offset {offset}")
    return segment_of(other, base)


def _between(segment: LogSegment, region: Region) -> Iterator[RecordBatch]:
    """The other log's batches with offsets between the neighbours, as far as they are sound.

    Where this log ends the other one may go on: then no more of them than there are bytes here.
    """
    last, room = region.wanted_to, region.end - region.position
    with log_of(segment).reader() as reader:
        for batch in iter_batches(reader, crc=True, resync=True, base_offset=segment.base_offset):
            if batch.base_offset < region.first_offset:
                continue
            if batch.last_offset > last if last is not None else room <= 0:
                return
            room -= batch.size
            yield batch


def _is_ours(region: Region, segment: LogSegment, batches: Sequence[RecordBatch]) -> bool:
    """Whether both neighbours are the same there; at most one may lie in another segment, or not exist.

    For a batch alone in its segment its own stored checksum stands in for them; where it has no header
    left, those in the segments before and after.
    """
    before, after = _neighbours(segment, batches)
    sides = _same(region.before, before), _same(region.after, after)
    if False in sides or True in sides:
        return False not in sides
    if region.header is not None and region.header.base_offset == batches[0].base_offset:
        return _is_its_checksum(region.header, batches)
    mine = region.before or _last_of(region.segment), region.after or _first_of(region.segment)
    sides = (
        _same(mine[0], before or _last_of(segment)),
        _same(mine[1], after or (_first_of(segment) if batches[-1].end == log_of(segment).size else None)),
    )
    return False not in sides and True in sides


def _in_order(region: Region, proven: Sequence[_ReplicaBatch]) -> bool:
    """Whether offsets do not overlap, and epochs never go back."""
    around = (region.before, *(each.batch for each in proven), region.after)
    return all(
        one.last_offset < two.base_offset and one.partition_leader_epoch <= two.partition_leader_epoch
        for one, two in pairwise(batch for batch in around if batch is not None)
    )


def _beside(segment: LogSegment, step: int) -> LogSegment | None:
    """The segment before (-1) or after (1) one."""
    bases = sorted(segment.partition.layout.logs)
    at = bases.index(segment.base_offset) + step
    return segment_of(segment.partition, bases[at]) if 0 <= at < len(bases) else None


def _last_of(segment: LogSegment) -> RecordBatch | None:
    """The last sound batch of the segment before it."""
    other = _beside(segment, -1)
    if other is None:
        return None
    with log_of(other).reader() as reader:
        batches = iter_batches(reader, crc=True, resync=True, base_offset=other.base_offset)
        return next(iter(deque(batches, maxlen=1)), None)


def _first_of(segment: LogSegment) -> RecordBatch | None:
    """The first batch of the segment after it, if it is sound."""
    other = _beside(segment, 1)
    if other is None:
        return None
    with log_of(other).reader() as reader:
        return next(iter_batches(reader, crc=True, base_offset=other.base_offset), None)


def _is_its_checksum(header: RecordBatch | None, batches: Sequence[RecordBatch]) -> bool:
    """Whether one batch was found whose checksum and place are those in the damaged header."""
    if header is None or len(batches) != 1:
        return False
    return _place_of(header) == _place_of(batches[0])


def _place_of(batch: RecordBatch) -> tuple[int, ...]:
    return batch.base_offset, batch.size, batch.partition_leader_epoch, batch.magic, batch.crc


def _same(mine: RecordBatch | None, theirs: RecordBatch | None) -> bool | None:
    """Whether two batches are one; None where one log has none at that side."""
    if mine is None or theirs is None:
        return None
    return mine._replace(position=0) == theirs._replace(position=0)


def _neighbours(
    segment: LogSegment, batches: Sequence[RecordBatch]
) -> tuple[RecordBatch | None, RecordBatch | None]:
    before = None
    with log_of(segment).reader() as reader:
        for batch in iter_batches(
            reader, stop=batches[0].position, crc=True, resync=True, base_offset=segment.base_offset
        ):
            before = batch
        after = next(iter_batches(reader, start=batches[-1].end, crc=True), None)
    return before, after
