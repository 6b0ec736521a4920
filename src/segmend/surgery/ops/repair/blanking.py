"""A damaged batch made an empty one: its records are given up, its offsets stay.

An empty batch is what the cleaner leaves of a batch whose records are all gone: 61 bytes with the
same offsets, epoch and producer, and no record (brokers, consumers and followers pass
over it). A control batch is never blanked: without its marker a transaction would go on.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Final

from segmend.formats.batch import RecordBatch
from segmend.formats.build import seal
from segmend.frozen import frozen
from segmend.grouping import grouped
from segmend.kernel.scan import iter_batches
from segmend.logdir.log_segment import LogSegment
from segmend.surgery.derive.sources import log_of, scanned
from segmend.surgery.ops.repair.damaged_batches import BAD_CRC, Region, fits
from segmend.surgery.ops.repair.scene import BeyondRepair
from segmend.surgery.plan import Loss

_CONTROL: Final = 0x20
_TRANSACTIONAL: Final = 0x10
_MARKER_SIZE: Final = 78


@frozen
class Blank:
    """The region, what takes its place (an empty batch, or nothing), and the records that go with it."""

    region: Region
    batch: bytes
    first_offset: int
    last_offset: int
    records: int

    def argument(self) -> dict[str, object]:
        """For the recipe `log-with-blanks`."""
        region = self.region
        content = b64encode(self.batch).decode("ascii")
        return {"position": region.position, "end": region.end, "base64": content}

    def loss(self) -> Loss:
        """What readers will not get any more."""
        partition = self.region.segment.partition
        return Loss(
            dir=partition.log_dir.path, topic=partition.topic, partition=partition.partition,
            records=self.records, bytes=self.region.end - self.region.position,
            first_offset=self.first_offset, last_offset=self.last_offset,
            what=f"{self.region.segment.name} from byte {self.region.position} on",
        )  # fmt: skip


def second_copy(segment: LogSegment, position: int) -> Blank:
    """Nothing in the place of a batch that stands earlier in the log, byte for byte; no record goes.

    Raises `BeyondRepair` if it does not.
    """
    with log_of(segment).reader() as reader:
        this = next(iter_batches(reader, start=position, crc=True), None)
        if this is None:
            raise BeyondRepair("no sound batch begins there")
        data = reader.read(this.size, this.position)
        earlier = iter_batches(reader, stop=position, crc=True, resync=True, base_offset=segment.base_offset)
        copies = (
            batch for batch in earlier if (batch.base_offset, batch.size) == (this.base_offset, this.size)
        )
        if not any(reader.read(batch.size, batch.position) == data for batch in copies):
            raise BeyondRepair("no batch before it is the same")
    region = Region(
        code="L16", segment=segment, position=position, end=this.end, before=None, after=None, header=this
    )
    return Blank(
        region=region, batch=b"", first_offset=this.base_offset, last_offset=this.last_offset, records=0
    )


def blank_of(region: Region) -> Blank:
    """The empty batch; raises `BeyondRepair` for what has none, or whose offsets are not certain."""
    near = region.before or region.after
    if near is not None and near.magic < 2:
        raise BeyondRepair("a message of format 0 or 1 has no empty form")
    header = region.header
    if _may_end_a_transaction(region, header):
        raise BeyondRepair("it may hold the end of a transaction, which is never blanked")
    if header is not None and header.magic == 2 and fits(region, header):
        return _of_header(region, header)
    first, last = region.first_offset, region.wanted_to
    if near is None or last is None or last < first:
        raise BeyondRepair("the batches around it do not tell which offsets it had")
    return _blank(region, _empty(first, last, near.partition_leader_epoch), first, last, last - first + 1)


def _may_end_a_transaction(region: Region, header: RecordBatch | None) -> bool:
    """A control batch; under a bad CRC whatever has the size of one; in a hole whatever there may be."""
    if header is None:
        return scanned(region.segment).control.transactional_batches > 0
    if header.magic != 2 or region.code not in BAD_CRC:
        return header.magic == 2 and bool(header.attributes & _CONTROL)
    if header.attributes & _CONTROL:
        return True
    marked = header.attributes & _TRANSACTIONAL or scanned(region.segment).control.transactional_batches
    return region.end - region.position == _MARKER_SIZE and bool(marked)


def _of_header(region: Region, header: RecordBatch) -> Blank:
    """Epoch and producer of the batch; under a bad CRC only where the neighbours bear them out."""
    first, last = header.base_offset, header.last_offset
    span = last - first + 1
    records = header.records_count if 0 < header.records_count <= span else span
    empty = _empty(first, last, _epoch(region, header))
    if region.code not in BAD_CRC or _has_producer(region, header):
        empty = empty._replace(
            attributes=header.attributes & _TRANSACTIONAL, producer_id=header.producer_id,
            producer_epoch=header.producer_epoch, base_sequence=header.base_sequence,
        )  # fmt: skip
    return _blank(region, empty, first, last, records)


def _epoch(region: Region, header: RecordBatch) -> int:
    sides = [side.partition_leader_epoch for side in (region.before, region.after) if side is not None]
    low, high = (min(sides), max(sides)) if sides else (header.partition_leader_epoch,) * 2
    return header.partition_leader_epoch if low <= header.partition_leader_epoch <= high else low


def _has_producer(region: Region, header: RecordBatch) -> bool:
    """Whether sound batches of the segment are by the same producer, in the same epoch."""
    with log_of(region.segment).reader() as reader:
        batches = iter_batches(reader, crc=True, resync=True, base_offset=region.segment.base_offset)
        wanted = header.producer_id, header.producer_epoch
        return any((batch.producer_id, batch.producer_epoch) == wanted for batch in batches)


def _empty(first: int, last: int, epoch: int) -> RecordBatch:
    return RecordBatch(
        position=0, size=0, base_offset=first, last_offset=last, partition_leader_epoch=epoch, magic=2,
        crc=0, attributes=0, last_offset_delta=last - first, base_timestamp=-1, max_timestamp=-1,
        producer_id=-1, producer_epoch=-1, base_sequence=-1, records_count=0,
    )  # fmt: skip


def _blank(region: Region, empty: RecordBatch, first: int, last: int, records: int) -> Blank:
    data = seal(empty, b"")
    return Blank(region=region, batch=data, first_offset=first, last_offset=last, records=records)


def by_log(blanks: Sequence[Blank]) -> dict[str, list[Blank]]:
    """The blanks of each log, by its path and in order."""
    ordered = sorted(blanks, key=lambda each: (each.region.path, each.region.position))
    return grouped(ordered, lambda blank: blank.region.path)
