"""The ends of a segment: its first and last batches, found without reading what lies between.

The log end offset follows `LogSegment.readNextOffset`: walk the batches from the last entry
of the offset index (from byte 0 without one), and take the offset after the last of them.
A crashed broker leaves the index preallocated with zeros, which would send that walk to
byte 0; we look for the last entry before the zeros instead, check that a batch of this
segment begins there, ask entries before it if none does, and go to byte 0 only if none of them is right.
"""

from __future__ import annotations

from struct import Struct

from segmend.formats import offset_index, time_index
from segmend.formats.batch import (
    HEADER_SIZE_V2,
    LOG_APPEND_TIME,
    MIN_SIZE,
    PREFIX,
    RecordBatch,
    header_size,
    read_header,
)
from segmend.formats.record import iter_records
from segmend.frozen import frozen
from segmend.kernel.scan import iter_batches, next_offset_from
from segmend.logdir.file_system import OpenFile, Unreadable, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import LastEntry, last_entry
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again

_INT32_PAIR = Struct(">ii")
_MAX_SEGMENT_SPAN = 2**31
_DECODE_LIMIT = 16 << 20


@frozen
class Tail:
    """The end of one segment.

    `next_offset` is what a broker takes for the log end offset if this segment is the last;
    `max_timestamp` (ms, -1 none) the newest that the tail or the time index names;
    `unread_bytes` lie after the last batch the walk reached (torn, damaged or zero bytes).
    """

    next_offset: int
    max_timestamp: int
    leader_epoch: int
    batches: int
    unread_bytes: int


def tail(segment: LogSegment) -> Tail:
    """The end of a segment; raises `Unreadable` if its log cannot be read."""
    newest = last_timestamp(segment.timeindex)
    if segment.log is None:
        return Tail(
            next_offset=segment.base_offset, max_timestamp=newest, leader_epoch=-1, batches=0, unread_bytes=0
        )
    with segment.log.reader() as reader:
        last = or_none(last_entry, segment.index, offset_index.ENTRY_SIZE)
        start = indexed_start(reader, segment.base_offset, segment.index, last)
        return _walk(reader, segment.base_offset, start, newest)


def whole_end_offset(partition: PartitionDir) -> int:
    """The log end offset by all batches of the active segment, for who trusts no index.

    Raises `Unreadable`.
    """
    active = max(partition.segments, key=lambda segment: segment.base_offset, default=None)
    if active is None or active.log is None:
        return 0 if active is None else active.base_offset
    with look_again(active.log) as reader:
        return next_offset_from(reader, 0, active.base_offset).next_offset


def _walk(reader: OpenFile, base_offset: int, start: int, newest: int) -> Tail:
    next_offset, epoch, batches, end = base_offset, -1, 0, start
    for batch in iter_batches(reader, start=start):
        next_offset, end, batches = batch.last_offset + 1, batch.end, batches + 1
        epoch, newest = batch.partition_leader_epoch, max(newest, batch.max_timestamp)
    return Tail(
        next_offset=next_offset,
        max_timestamp=newest,
        leader_epoch=epoch,
        batches=batches,
        unread_bytes=reader.size - end,
    )


def first_timestamp(log: FileEntry) -> int:
    """The timestamp (ms) of the first record of a log; -1 if it has none, or no first batch.

    The header tells it, but for a batch with a delete horizon in its place (KAFKA-8522) and a
    compressed wrapper of magic 1, which are looked into.
    """
    with log.reader() as reader:
        batch = _header_at(reader, 0)
        if batch is None:
            return -1
        if batch.timestamp_type == LOG_APPEND_TIME:
            return batch.max_timestamp
        if batch.has_delete_horizon or (batch.magic == 1 and batch.codec):
            return _decoded_timestamp(reader, batch)
        return batch.base_timestamp


def _decoded_timestamp(reader: OpenFile, batch: RecordBatch) -> int:
    """The first record's own timestamp; the batch's newest for what cannot be looked into."""
    if batch.size > _DECODE_LIMIT:
        return batch.max_timestamp
    data = reader.read(batch.size, batch.position)
    first = next(iter_records(data, batch, [], limit=_DECODE_LIMIT), None)
    return batch.max_timestamp if first is None else first.timestamp


def last_timestamp(index: FileEntry | None) -> int:
    """The timestamp (ms) of the last entry of a time index before its zeros; -1 without one."""
    entry = or_none(last_entry, index, time_index.ENTRY_SIZE)
    return -1 if entry is None else int.from_bytes(entry.data[:8], "big", signed=True)


def indexed_start(
    reader: OpenFile, first_offset: int, index: FileEntry | None, last: LastEntry | None
) -> int:
    """Where to begin the walk to the end: at the batch of the last sensible index entry, or at byte 0.

    Behind a `last` one that is not, ever further entries are asked: a wrong one alone does not cost a walk
    through all of the log.
    """
    if index is None or last is None:
        return 0
    start, back = _start_at(reader, first_offset, last.data), 1
    if start or not last.row:
        return start
    try:
        with index.reader() as entries:
            while not start and back <= last.row:
                data = entries.read(offset_index.ENTRY_SIZE, (last.row - back) * offset_index.ENTRY_SIZE)
                start, back = _start_at(reader, first_offset, data), 2 * back
    except Unreadable:
        return 0
    return start


def _start_at(reader: OpenFile, first_offset: int, entry: bytes) -> int:
    """The position that an entry names, if a batch of this segment begins there; else 0."""
    relative, position = _INT32_PAIR.unpack(entry)
    if relative < 0 or not 0 < position < reader.size:
        return 0
    batch = _header_at(reader, position)
    if batch is None or not 0 <= batch.base_offset - first_offset < _MAX_SEGMENT_SPAN:
        return 0
    return position if batch.end <= reader.size else 0


def _header_at(reader: OpenFile, position: int) -> RecordBatch | None:
    data = reader.read(HEADER_SIZE_V2, position)
    if len(data) < PREFIX.size:
        return None
    _, size, _, magic = PREFIX.unpack_from(data)
    if not 0 <= magic <= 2 or size < MIN_SIZE or len(data) < header_size(magic):
        return None
    return read_header(data, 0, position)
