"""The log start offset of a partition whose line in the checkpoint is lost, as its leader epochs tell it.

When records are deleted from the beginning of a log, the leader epochs before it go, too, and the
first one left begins at the log start offset (`LeaderEpochFileCache.truncateFromStart`). So where
the epochs in the file are just those of a log that starts there, it started there.
"""

from __future__ import annotations

from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.loading.epochs import EpochCache
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.sources import scanned, segment_of


def is_lost(partition: PartitionDir) -> bool:
    """Whether the checkpoint is missing or damaged, or the partition's line cannot be true."""
    loaded = partition.log_dir.offset_checkpoint(LOG_START_OFFSET)
    if loaded.value is None or loaded.missing or loaded.damages or not loaded.value.header_lines:
        return True
    return loaded.value.offsets().get(partition.key, 0) < 0


def told_by_epochs(partition: PartitionDir) -> int | None:
    """The log start offset, None if it is that of the first segment or is not told; raises `Unreadable`."""
    file = partition.leader_epochs.readable()
    entries = () if file.value is None or file.damages else file.value.entries
    bases = sorted(partition.layout.logs)
    if not entries or not bases or entries[0].start_offset <= bases[0]:
        return None
    start = entries[0].start_offset
    said = [(each.epoch, each.start_offset) for each in entries]
    cache = EpochCache()
    for base in bases:
        scan = scanned(segment_of(partition, base))
        cache.recover(scan.epochs)
    if start > scan.next_offset:
        return None
    cache.truncate_from_start(start)
    # A leader that was elected and has written nothing yet has one more.
    return start if said in (cache.entries, [*cache.entries, said[-1]]) else None
