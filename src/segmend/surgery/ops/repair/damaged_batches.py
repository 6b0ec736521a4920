"""Bytes of a log that no reader gets past, and the sound batches on both sides of them."""

from __future__ import annotations

from typing import Final

from segmend.findings import Finding
from segmend.formats.batch import HEADER_SIZE_V2, RecordBatch, read_header
from segmend.formats.java_number import INT_MAX
from segmend.frozen import frozen, replace
from segmend.json_values import number
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import OpenFile
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.sources import log_of, segment_of
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.scene import BeyondRepair

NOT_A_BATCH: Final = frozenset(("L04",))
BAD_CRC: Final = frozenset(("L05", "L06", "L07"))
UNREADABLE: Final = frozenset(("L18", "L19", "L20"))
CODES: Final = NOT_A_BATCH | BAD_CRC | UNREADABLE
ZEROED: Final = frozenset(("L03",))
"""Zeros up to the end of a segment: what a replica has there of a rolled one, nothing else brings back."""
TORN: Final = frozenset(("L01", "L02"))
"""The same of a segment that ends too early."""


@frozen
class Region:
    """Bytes `position` to `end` of a segment's log.

    `before` and `after` are the nearest sound batches, None where the file begins or ends: damage beside
    that of the finding is of the same region. `header` is what stands at `position`, where it has one.
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
        return log_of(self.segment).path

    @property
    def first_offset(self) -> int:
        """The first offset that can be missing."""
        return self.segment.base_offset if self.before is None else self.before.last_offset + 1

    @property
    def wanted_to(self) -> int | None:
        """The last offset that can have been in its place: there may be a segment behind this one."""
        following = self.segment.next_base_offset
        return following - 1 if self.after is None and following is not None else self.last_offset

    @property
    def last_offset(self) -> int | None:
        """The last offset that can be missing, None at the end of the segment."""
        return None if self.after is None else self.after.base_offset - 1


def is_mended(finding: Finding, options: Options) -> bool:
    """Whether `repair` mends it, or says itself why it does not, by what it is asked."""
    if finding.code in TORN and "missing" not in finding.detail:
        return False
    return (finding.code in CODES and options.mends_batches) or (
        finding.code in ZEROED | TORN and bool(options.from_)
    )


def region_of(finding: Finding, partition: PartitionDir) -> Region:
    """The region of a finding of `CODES`, with all the damage that touches it."""
    name, position = finding.name, finding.position
    if position is None:
        raise BeyondRepair("the place of the damage is not known")
    segment = segment_of(partition, int(name.partition(".")[0]))
    with log_of(segment).reader() as reader:
        header = None if finding.code in NOT_A_BATCH | ZEROED | TORN else _header(reader, position)
        end = _end(finding, position, header)
        before, after = sound_around(reader, position, end, segment.base_offset)
        begins = 0 if before is None else before.end
        ends = reader.size if after is None else after.position
    return Region(
        code=finding.code, segment=segment, position=begins, end=ends, before=before, after=after,
        header=header if begins == position else None,
    )  # fmt: skip


def sound_around(
    reader: OpenFile, position: int, end: int, base_offset: int
) -> tuple[RecordBatch | None, RecordBatch | None]:
    """The last sound batch that ends by byte `position`, and the first that begins at `end` or after it."""
    before = None
    for batch in iter_batches(reader, crc=True, resync=True, base_offset=base_offset):
        if batch.position >= end:
            return before, batch
        if batch.end <= position:
            before = batch
    return before, None


def batches_of(region: Region) -> list[Region]:
    """The batches of a region one by one, where their headers fill it; else the whole of it."""
    regions: list[Region] = []
    position = region.position
    with log_of(region.segment).reader() as reader:
        while position < region.end and region.code in BAD_CRC:
            header = _header(reader, position)
            if header.size < HEADER_SIZE_V2 or header.end > region.end or header.magic != 2:
                return [region]
            regions.append(replace(region, position=position, end=header.end, header=header))
            position = header.end
    return regions or [region]


def _header(reader: OpenFile, position: int) -> RecordBatch:
    return read_header(reader.read(HEADER_SIZE_V2, position), 0, position)


def _end(finding: Finding, position: int, header: RecordBatch | None) -> int:
    if finding.code in NOT_A_BATCH:
        return number(finding.detail, "end")
    if finding.code in ZEROED | TORN:
        return position + number(finding.detail, "bytes")
    if header is None or "bytes" in finding.detail:
        return position + number(finding.detail, "bytes")
    return header.end


def fits(region: Region, header: RecordBatch) -> bool:
    """Whether the offsets of a header lie between the neighbours."""
    last = region.wanted_to
    return (
        region.first_offset <= header.base_offset <= header.last_offset
        and header.last_offset - region.segment.base_offset <= INT_MAX
        and (last is None or header.last_offset <= last)
    )
