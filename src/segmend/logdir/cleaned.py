"""Whether a cleaner has been at a log, where nothing tells its cleanup.policy."""

from __future__ import annotations

from segmend.formats.batch import RecordBatch
from segmend.kernel.batches import checksum, iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir


def was_cleaned(partition: PartitionDir) -> bool:
    """Whether one was, here or on the leader it came from, or that cannot be told.

    By its checkpoint, a batch with fewer records than offsets, or offsets that a file leaves out: then what
    lies between two files may be compacted, too. Headers are read up to the first such place.
    """
    if partition.log_dir.cleaner_offsets.get(partition.key, 0) > 0:
        return True
    try:
        return any(segment.log is not None and _has_holes(segment.log) for segment in partition.segments)
    except Unreadable:
        return True


def _has_holes(log: FileEntry) -> bool:
    """What a wrong checksum vouches for is no hole."""
    with log.reader() as reader:
        before: RecordBatch | None = None
        for batch in iter_batches(reader):
            few = batch.magic < 2 or 0 <= batch.records_count <= batch.last_offset_delta
            gap = [before] if before is not None and batch.base_offset > before.last_offset + 1 else []
            if (few or gap) and all(checksum(reader, each) == each.crc for each in (batch, *gap)):
                return True
            before = batch
    return False
