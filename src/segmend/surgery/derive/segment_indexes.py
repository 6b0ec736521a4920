"""The offset and time index of one segment, in one pass over its batches.

Follows `LogSegment.recover`, by release.
"""

from __future__ import annotations

from typing import Final, Protocol

from segmend.broker.rule import gone_in
from segmend.errors import PartitionError
from segmend.formats import legacy
from segmend.formats.batch import HEADER_SIZE_V2, read_header
from segmend.json_values import number
from segmend.kernel.indexes import OFFSET_ENTRY
from segmend.kernel.types import DECODE_LIMIT, BuiltIndexes, IndexRule, SegmentScan
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.sources import log_of, partition_of, scanned, segment_of

FIRST_OFFSETS: Final = gone_in("LogSegment.recover; the last offset of the batch since KAFKA-6264", (2, 0))
DEFAULT_INTERVAL: Final = 4096


class _Bytes(Protocol):
    def read(self, size: int, position: int) -> bytes: ...


def built_indexes(log_dir: LogDir, partition: str, arguments: Arguments, release: Release) -> BuiltIndexes:
    """Both indexes of the segment `base_offset` of `arguments`, with its `interval` in bytes."""
    segment = segment_of(partition_of(log_dir, partition), number(arguments, "base_offset"))
    rule = rule_of(release, number({"interval": DEFAULT_INTERVAL, **arguments}, "interval"))
    scan = scanned(segment, rule)
    with log_of(segment).reader() as reader:
        return indexes_in(scan, rule, reader, log_of(segment).path)


def rule_of(release: Release, interval: int = DEFAULT_INTERVAL) -> IndexRule:
    """How that release makes index entries."""
    return IndexRule(interval=interval, first_offsets=FIRST_OFFSETS.of(release))


def indexes_in(scan: SegmentScan, rule: IndexRule, reader: _Bytes, path: str) -> BuiltIndexes:
    """The indexes of a scan that built them by `rule`; `reader` and `path` are of its log.

    Raises `PartitionError` if it stopped at the bound on their size.
    """
    if scan.built is None or "index" in scan.bounded:
        raise PartitionError(f"{path} would need more index entries than any broker makes")
    if not rule.first_offsets or not _has_wrappers(scan):
        return scan.built
    offsets = _with_first_offsets(scan.built.offset_index, reader, scan.base_offset)
    return BuiltIndexes(offset_index=offsets, time_index=scan.built.time_index)


def _has_wrappers(scan: SegmentScan) -> bool:
    return any(magic < 2 for magic, _ in scan.magics) and any(codec for codec, _ in scan.codecs)


def _with_first_offsets(index: bytes, reader: _Bytes, base: int) -> bytes:
    """The entries of compressed wrappers with the offset of their first inner message."""
    out = bytearray()
    for relative, position in OFFSET_ENTRY.iter_unpack(index):
        out += OFFSET_ENTRY.pack(_first_offset(reader, position, base + relative) - base, position)
    return bytes(out)


def _first_offset(reader: _Bytes, position: int, otherwise: int) -> int:
    header = read_header(reader.read(HEADER_SIZE_V2, position), 0, position)
    if header.magic >= 2 or not header.codec:
        return otherwise
    first = legacy.base_offset(reader.read(header.size, position), header, limit=DECODE_LIMIT)
    return otherwise if first is None else first
