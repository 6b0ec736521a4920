"""Where to begin reading a log for an offset or a time, by the indexes beside it.

Follows `LogSegment.read` and `LogSegment.findOffsetByTimestamp`, but an index is a hint here:
what it says is believed only where the batch it leads to bears it out, and byte 0 is always
an answer. Of times there is no such hint for an end: later records may be older.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from segmend.formats import offset_index, time_index
from segmend.formats.batch import RecordBatch
from segmend.formats.offset_index import OffsetIndex
from segmend.formats.record import iter_records
from segmend.formats.time_index import TimeIndex
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import DECODE_LIMIT
from segmend.logdir.file_system import OpenFile, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import read_index
from segmend.logdir.walk import Selection

_LOG = ".log"
_TRIES = 8
_PROBE = 64 << 10
_LONGEST_PROBE = 4 << 20


def start_of(log: FileEntry, reader: OpenFile, selection: Selection) -> int:
    """The byte of a batch before which nothing of the selection lies; `reader` reads `log`."""
    by_offset = position_of(log, reader, selection.first_offset)
    if selection.since is None:
        return by_offset
    return max(by_offset, position_by_time(log, reader, selection.since))


def position_of(log: FileEntry, reader: OpenFile, offset: int) -> int:
    """Where to begin for an offset, by the `.index` beside the log; 0 if that says nothing sound."""
    base = log.parsed.base_offset
    index = _offset_index(log)
    if base is None or index is None or not 0 < offset - base < 2**31:
        return 0
    # An entry may lead into a compressed wrapper of magic 0 or 1, whose first offset is not
    # known: then one of the entries before it does.
    last = bisect_right(index.relative_offsets, offset - base)
    for position in reversed(index.positions[max(0, last - _TRIES) : last]):
        if 0 < position < reader.size and _begins_by(_batch_at(reader, position), base, offset):
            return position
    return 0


def end_of(log: FileEntry, reader: OpenFile, last_offset: int) -> int:
    """From where on nothing up to `last_offset` lies, by the `.index`; its size without a hint."""
    base = log.parsed.base_offset
    index = _offset_index(log)
    if base is None or index is None or not 0 <= last_offset - base < 2**31:
        return reader.size
    first = bisect_right(index.relative_offsets, last_offset - base)
    for position in index.positions[first : first + _TRIES]:
        batch = _batch_at(reader, position) if 0 < position < reader.size else None
        # A compressed wrapper of magic 0 or 1 does not tell its first offset.
        told = batch is not None and (batch.magic == 2 or (batch.magic in (0, 1) and not batch.codec))
        if batch is not None and told and batch.base_offset > last_offset:
            return position
    return reader.size


def is_older(log: FileEntry, reader: OpenFile, since: int) -> bool:
    """Whether all of a log is older than `since` (ms) by its time index, and the log bears that out.

    The last entry must name a batch that has its time, and no batch from there to the end
    of the log a later one.
    """
    base, index = log.parsed.base_offset, _time_index(log)
    if base is None or not index:
        return False
    time, relative = index[-1]
    if time >= since:
        return False
    start = end = position_of(log, reader, base + relative)
    confirmed = False
    for batch in iter_batches(reader, start=start, window=_PROBE):
        if batch.max_timestamp > time or batch.end - start > _LONGEST_PROBE:
            return False
        confirmed = confirmed or (batch.max_timestamp == time and batch.last_offset >= base + relative)
        end = batch.end
    return confirmed and end == reader.size


class ByTime(NamedTuple):
    """What a segment says of a time: the first offset of it or of a later one, and whether it reaches so far.

    A broker looks into the first segment that does, and into none behind it, whatever it finds there.
    """

    offset: int | None
    reached: bool


def offset_by_time(log: FileEntry, reader: OpenFile, since: int, *, low: int = 0) -> ByTime:
    """The first offset from `low` on with a time (ms) of `since` or later.

    Follows `LogSegment.findOffsetByTimestamp`, and `largestTimestamp`: that of batches, also below `low` and
    without records, and where none has any when the file was changed.
    """
    start, largest = position_by_time(log, reader, since), -1
    for batch in iter_batches(reader, start=start, resync=True, base_offset=log.parsed.base_offset or 0):
        largest = max(largest, batch.max_timestamp)
        if batch.max_timestamp < since or batch.last_offset < low or batch.size > DECODE_LIMIT:
            continue
        for record in iter_records(reader.read(batch.size, batch.position), batch, [], limit=DECODE_LIMIT):
            if record.timestamp >= since and record.offset >= low:
                return ByTime(record.offset, reached=True)
    if start == 0 and largest < 0:
        largest = log.stat().mtime_ns // 1_000_000
    return ByTime(None, reached=largest >= since)


def position_by_time(log: FileEntry, reader: OpenFile, since: int) -> int:
    """Where to begin for records not older than `since` (ms), by `.timeindex` and `.index`; 0 without hint.

    An entry (time, offset) says that no record up to that offset is younger. The batch
    that holds the offset must have exactly that time for its newest.
    """
    base = log.parsed.base_offset
    index = _time_index(log)
    if base is None or index is None:
        return 0
    row = bisect_left(index.timestamps, since) - 1
    if row < 0:
        return 0
    time, relative = index[row]
    start = position_of(log, reader, base + relative)
    for batch in iter_batches(reader, start=start, window=_PROBE) if start else ():
        if batch.last_offset >= base + relative:
            return start if batch.max_timestamp == time else 0
    return 0


def _begins_by(batch: RecordBatch | None, base: int, offset: int) -> bool:
    """Whether it is a batch of this segment that begins at `offset` or before it."""
    if batch is None or not 0 <= batch.magic <= 2:
        return False
    first = batch.base_offset if batch.magic == 2 or not batch.codec else batch.last_offset
    return base <= first <= offset


def _batch_at(reader: OpenFile, position: int) -> RecordBatch | None:
    return next(iter_batches(reader, start=position, crc=True, window=_PROBE), None)


def _offset_index(log: FileEntry) -> OffsetIndex | None:
    data = _beside(log, offset_index.SUFFIX, offset_index.ENTRY_SIZE)
    return None if data is None else offset_index.parse(data)[0]


def _time_index(log: FileEntry) -> TimeIndex | None:
    """The time index, None if its entries are not in order."""
    data = _beside(log, time_index.SUFFIX, time_index.ENTRY_SIZE)
    if data is None:
        return None
    index, damages = time_index.parse(data)
    return None if any(damage.kind != "trailing-bytes" for damage in damages) else index


def _beside(log: FileEntry, suffix: str, entry_size: int) -> bytes | None:
    """Up to the preallocated zeros."""
    if not log.name.endswith(_LOG):
        return None
    index = log.beside(log.name.removesuffix(_LOG) + suffix)
    read = or_none(read_index, index, entry_size, exact=False)
    return read and read[0]
