"""`.txnindex` of a segment: its aborted transactions, wherever they began.

Arguments: `base_offset`, and `snapshot`, the offset of the producer snapshot to begin with (null:
nothing was open before the first segment).

An entry needs the first offset of its transaction and the transactions of others that were open at
the marker, so the producers before the segment are replayed. A live broker writes the same
entries; a transaction whose beginning retention has removed has none in either.
"""

from __future__ import annotations

from segmend.formats import txn_index
from segmend.formats.txn_index import TransactionIndex
from segmend.json_values import number
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.sources import partition_of, producers_before, replayed, segment_of, snapshot_in


def build(log_dir: LogDir, partition: str, arguments: Arguments, _release: Release) -> bytes:
    """See the module; raises `SegmendError` without the segment or snapshot, `Unreadable`."""
    partition_dir = partition_of(log_dir, partition)
    segment = segment_of(partition_dir, number(arguments, "base_offset"))
    before = producers_before(partition_dir, segment.base_offset, snapshot_in(arguments))
    return txn_index.render(TransactionIndex(entries=replayed(segment, before).aborted))
