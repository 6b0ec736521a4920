"""Up to where `read_committed` reads: before the earliest transaction that is open.

Follows `ProducerStateManager` and `UnifiedLog.fetchLastStableOffsetMetadata`.
"""

from __future__ import annotations

from segmend.formats import producer_snapshot
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.seek import position_of
from segmend.logdir.transactions import ELSEWHERE, Fold, Uncommitted


def last_stable_offset(partition: PartitionDir) -> int | None:
    """The first offset of the earliest open transaction, the end of the log if none is open.

    From the newest sound producer snapshot, and the batches after it. One that was open before offsets that
    are lost may have ended in there, and does not count: who reads its records has to ask how it ended. So it
    is with what is broken at the end: None, but where that begins as records, for then no marker is in it.
    """
    since, opened = _newest_snapshot(partition)
    fold = Fold(opened, gaps_are_holes=True, begin=since)
    for segment in partition.segments:
        following = segment.next_base_offset
        if segment.log is None or (following is not None and following <= since):
            continue
        try:
            with segment.log.reader() as reader:
                start = position_of(segment.log, reader, since)
                fold.walk(segment.log, reader, start, reader.size, since=since)
        except Unreadable:
            fold.lost()
    first = min((each.first_offset for each in fold.open.values()), default=None)
    if fold.is_cut:
        mark = partition.log_dir.high_watermarks.get(partition.key, 0)
        return first if fold.ends_in_records and mark <= fold.next_offset else None
    return first if first is not None else max([fold.next_offset, *partition.base_offsets[-1:]])


def _newest_snapshot(partition: PartitionDir) -> tuple[int, dict[int, Uncommitted]]:
    """Its offset, and what is open there."""
    for offset, entry in reversed(partition.snapshots):
        try:
            snapshot, damages = producer_snapshot.parse(entry.read())
        except Unreadable:
            continue
        if not damages:
            firsts = {row.producer_id: row.current_txn_first_offset for row in snapshot.entries}
            return offset, {
                each: Uncommitted(each, ELSEWHERE, ELSEWHERE, first, first)
                for each, first in firsts.items()
                if first >= 0
            }
    return 0, {}
