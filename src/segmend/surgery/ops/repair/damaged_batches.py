"""Bytes of a log that no reader gets past, and the sound batches on both sides of them."""

from __future__ import annotations

from typing import Final

from segmend.findings import Finding
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, read_header
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile
from segmend.logdir.tree import LogSegment, PartitionDir
from segmend.surgery.derive.sources import log_of, segment_of
from segmend.surgery.ops.repair.scene import BeyondRepair

NOT_A_BATCH: Final = frozenset(("L04",))
BAD_CRC: Final = frozenset(("L05", "L06", "L07"))
UNREADABLE: Final = frozenset(("L18", "L19", "L20"))
CODES: Final = NOT_A_BATCH | BAD_CRC | UNREADABLE


@frozen
class Region:
    """Bytes `position` to `end` of a segment's log.

    `before` and `after` are the nearest sound batches, None where the file begins or ends; `header`
    is what stands there itself, where it has one.
    """

    code: str
    segment: LogSegment
    position: int
    end: int
    before: RecordBatch | None
    after: RecordBatch | None
    header: RecordBatch | None

    @property
    def path(self) -> str:
        """The log."""
        return log_of(self.segment).path

    @property
    def first_offset(self) -> int:
        """The first offset that can be missing."""
        return self.segment.base_offset if self.before is None else self.before.last_offset + 1

    @property
    def last_offset(self) -> int | None:
        """The last offset that can be missing, None at the end of the log."""
        return None if self.after is None else self.after.base_offset - 1


def region_of(finding: Finding, partition: PartitionDir) -> Region:
    """The region of a finding of `CODES`; raises `BeyondRepair` where other damage touches it."""
    name, position = (finding.file or "").rpartition("/")[2], finding.position
    if position is None:
        raise BeyondRepair("the place of the damage is not known")
    segment = segment_of(partition, int(name.partition(".")[0]))
    with log_of(segment).reader() as reader:
        header = None if finding.code in NOT_A_BATCH else _header(reader, position)
        end = _end(finding, position, header)
        before = None
        for batch in iter_batches(
            reader, stop=position, crc=True, resync=True, base_offset=segment.base_offset
        ):
            before = batch
        after = next(iter_batches(reader, start=end, crc=True), None) if end < reader.size else None
        if (0 if before is None else before.end) != position or (after is None and end < reader.size):
            raise BeyondRepair("the bytes beside it are damaged too")
    return Region(
        code=finding.code, segment=segment, position=position, end=end,
        before=before, after=after, header=header,
    )  # fmt: skip


def _header(reader: OpenFile, position: int) -> RecordBatch:
    return read_header(reader.read(HEADER_SIZE_V2, position), 0, position)


def _end(finding: Finding, position: int, header: RecordBatch | None) -> int:
    if finding.code in NOT_A_BATCH:
        return int(finding.detail["end"])
    return (
        position + int(finding.detail["bytes"]) if header is None or "bytes" in finding.detail else header.end
    )


def fits(region: Region, header: RecordBatch) -> bool:
    """Whether the offsets of a header lie between the neighbours."""
    last = region.last_offset
    return (
        region.first_offset <= header.base_offset <= header.last_offset
        and header.last_offset - region.segment.base_offset <= INT_MAX
        and (last is None or header.last_offset <= last)
    )
