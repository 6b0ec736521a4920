"""What recipes read: the segments of a partition, their batches, and the producers before each.

The scans are remembered for a while (`logdir.scans`), so that the two or three files that come
from the same batches cost one pass; a log that changed meanwhile is read again.
"""

from __future__ import annotations

from collections.abc import Iterable

from segmend.errors import SegmendError
from segmend.formats import producer_snapshot
from segmend.formats.names import file_prefix
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.json_values import number
from segmend.kernel.scan import ScanTask, iter_batches, scan_log
from segmend.kernel.types import IndexRule, SegmentScan
from segmend.logdir.file_system import OpenFile
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.scans import whole_scan
from segmend.logdir.witnesses import SNAPSHOT_LIMIT
from segmend.surgery.derive import Arguments


def partition_of(log_dir: LogDir, name: str) -> PartitionDir:
    """The partition directory; raises `SegmendError` if it is not there."""
    partition = log_dir.partition(name)
    if partition is None:
        raise SegmendError(f"{log_dir.path} has no directory {name or 'that the plan names'}")
    return partition


def segment_of(partition: PartitionDir, base_offset: int) -> LogSegment:
    """The segment with a log; raises `SegmendError` if it is not there."""
    if base_offset not in partition.layout.logs:
        raise SegmendError(f"{partition.path} has no segment {file_prefix(base_offset)}.log")
    return LogSegment(partition, base_offset)


def log_of(segment: LogSegment) -> FileEntry:
    """The log of a segment of `segment_of`; raises `SegmendError` if there is none."""
    log = segment.log
    if log is None:
        raise SegmendError(f"{segment.partition.path} has no segment {segment.name}")
    return log


def scanned(segment: LogSegment, build: IndexRule | None = None) -> SegmentScan:
    """All sound batches of a segment, checksums verified."""
    return whole_scan(log_of(segment), base_offset=segment.base_offset, build=build)


def replayed(segment: LogSegment, producers: tuple[ProducerStateEntry, ...]) -> SegmentScan:
    """As `scanned`, with the producers known before it; raises `SegmendError` past the kernel's bounds."""
    scan = whole_scan(log_of(segment), base_offset=segment.base_offset, producers=producers)
    if scan.unreplayable:
        raise SegmendError(f"{log_of(segment).path} holds more {scan.unreplayable[0]} than can be replayed")
    return scan


def snapshot_in(arguments: Arguments) -> int | None:
    """The offset of the snapshot to begin with, among the arguments of a recipe."""
    return None if arguments["snapshot"] is None else number(arguments, "snapshot")


def producers_before(
    partition: PartitionDir, offset: int, snapshot: int | None
) -> tuple[ProducerStateEntry, ...]:
    """The producers as of (exclusive) `offset`: those of the snapshot, and the batches after it.

    `snapshot` is the offset in the name of a snapshot to begin with, None to begin with
    nothing at the first segment. Follows `ProducerStateManager` and `LogLoader.recoverSegment`.
    """
    states = () if snapshot is None else snapshot_states(partition, snapshot)
    bases = sorted(partition.layout.logs)
    start = snapshot or 0
    for place, base in enumerate(bases):
        last = place + 1 == len(bases)
        if base < offset and (last or bases[place + 1] > start):
            states = _advanced(segment_of(partition, base), states, start, offset)
    return states


def snapshot_states(partition: PartitionDir, offset: int) -> tuple[ProducerStateEntry, ...]:
    """The rows of a snapshot; raises `SegmendError` if a broker could not load it."""
    entry = dict(partition.snapshots).get(offset)
    if entry is None:
        raise SegmendError(f"{partition.path} has no producer snapshot at offset {offset}")
    snapshot, damages = producer_snapshot.parse(entry.read(SNAPSHOT_LIMIT))
    if damages:
        raise SegmendError(f"{entry.path}: {damages[0].reason}")
    return snapshot.entries


def data_timestamps(partition: PartitionDir, states: Iterable[ProducerStateEntry]) -> dict[int, int]:
    """The largest timestamp of the last batch of each producer that is still in the log."""
    wanted = {state.last_offset: state.producer_id for state in states if state.last_offset >= 0}
    timestamps = {}
    for base in sorted(partition.layout.logs):
        segment = segment_of(partition, base)
        with log_of(segment).reader() as reader:
            for batch in iter_batches(reader, crc=True, resync=True, base_offset=base):
                if batch.magic == 2 and wanted.get(batch.last_offset) == batch.producer_id:
                    timestamps[batch.producer_id] = batch.max_timestamp
    return timestamps


def _advanced(
    segment: LogSegment, states: tuple[ProducerStateEntry, ...], start: int, stop: int
) -> tuple[ProducerStateEntry, ...]:
    """The producers after the batches of one segment that begin in [start, stop)."""
    scan = replayed(segment, states)
    if start <= segment.base_offset and scan.next_offset <= stop:
        return scan.producers
    with log_of(segment).reader() as reader:
        first = None if start <= segment.base_offset else _position(reader, segment.base_offset, start)
        return scan_log(
            reader,
            ScanTask(
                base_offset=segment.base_offset,
                start=first or 0,
                stop=_position(reader, segment.base_offset, stop),
                producers=states,
            ),
        ).producers


def _position(reader: OpenFile, base_offset: int, offset: int) -> int:
    """Where the first batch at or after `offset` begins; the end of the log without one."""
    batches = iter_batches(reader, crc=True, resync=True, base_offset=base_offset)
    return next((batch.position for batch in batches if batch.base_offset >= offset), reader.size)
