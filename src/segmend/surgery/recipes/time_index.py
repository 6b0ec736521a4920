"""`.timeindex` of a segment, as a broker's own recovery writes it.

Arguments: `base_offset`, `interval` (index.interval.bytes).

An entry goes with each entry of the offset index whose largest timestamp so far is new, and the
largest timestamp of the segment ends it. What `offset_index` says of a live broker's own
entries holds here too; besides, a leader before 3.7 names the record that has the timestamp
where a recovery, and a follower, name the last offset of its batch.
"""

from __future__ import annotations

from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.segment_indexes import built_indexes

READS_ONE_LOG = True


def build(log_dir: LogDir, partition: str, arguments: Arguments, release: Release) -> bytes:
    """See the module; raises `SegmendError` without the segment, `Unreadable` if it cannot be read."""
    return built_indexes(log_dir, partition, arguments, release).time_index
