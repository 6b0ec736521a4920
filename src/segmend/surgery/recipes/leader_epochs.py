"""`leader-epoch-checkpoint`: where each leader epoch began, from the batches.

Arguments: `start`, the log start offset.

A live broker's file may end with one epoch more, which began at the log end offset and has no
batch yet; the next start drops it (`LeaderEpochFileCache.truncateFromEnd`). Where the cleaner
removed the first batches of an epoch it knows the true beginning, the log only what is left.
"""

from __future__ import annotations

from segmend.json_values import number
from segmend.loading.epochs import EpochCache
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.file_bytes import leader_epochs_of
from segmend.surgery.derive.sources import partition_of, scanned, segment_of


def build(log_dir: LogDir, partition: str, arguments: Arguments, _release: Release) -> bytes:
    """See the module; raises `SegmendError` without the partition, `Unreadable`."""
    partition_dir = partition_of(log_dir, partition)
    cache = EpochCache()
    for base in sorted(partition_dir.layout.logs):
        cache.recover(scanned(segment_of(partition_dir, base)).epochs)
    cache.truncate_from_start(number(arguments, "start"))
    return leader_epochs_of(cache)
