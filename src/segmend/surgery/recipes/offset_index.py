"""`.index` of a segment, as a broker's own recovery writes it.

Arguments: `base_offset`, `interval` (index.interval.bytes).

The bytes are those of `LogSegment.recover`, trimmed to the entries as a clean stop leaves
them. A live broker's own index differs from them where

  * the segment was the active one at a start: the bytes since the last entry are counted
    from the start on (`bytesSinceLastIndexEntry`);
  * up to 4.0 an append held several batches (a follower's fetch, a producer before 0.11):
    an append gets no more than one entry, with the last offset of the append;
  * the segment was compacted: the cleaner appends whole buffers.

None of this is in the log. All are right indexes; lookups give the same batch.
"""

from __future__ import annotations

from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.segment_indexes import built_indexes

READS_ONE_LOG = True


def build(log_dir: LogDir, partition: str, arguments: Arguments, release: Release) -> bytes:
    """See the module; raises `SegmendError` without the segment, `Unreadable` if it cannot be read."""
    return built_indexes(log_dir, partition, arguments, release).offset_index
