"""index.interval.bytes of a partition, read off its sound indexes.

No file of a partition holds the setting; but of the intervals one would choose, few give the
entries that are there. Follows `LogSegment.append`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from segmend.kernel.indexes import OFFSET_ENTRY, count_entries
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.segment_indexes import DEFAULT_INTERVAL

_LOOKED_AT: Final = 4
_BATCHES: Final = 4096
_CHOICES: Final = (DEFAULT_INTERVAL, *(1 << bits for bits in range(20, 4, -1)), 0)


def interval_of(
    partition: PartitionDir, sound: Sequence[int], told: int | None, siblings: Iterable[LogSegment] = ()
) -> int:
    """The interval that explains most entries of the segments `sound` (base offsets).

    `told` is what the cluster's metadata says; it wins where nothing contradicts it. `siblings` are sound
    segments of the topic's other partitions, which are asked if this one has no entries.
    """
    samples = _samples(LogSegment(partition, base) for base in sorted(sound)) or _samples(siblings)
    choices = _CHOICES if told is None else (told, *_CHOICES)
    return max(
        choices, key=lambda interval: sum(_explained(sizes, entries, interval) for sizes, entries in samples)
    )


def _samples(segments: Iterable[LogSegment]) -> list[tuple[list[int], list[int]]]:
    """Of the first few segments, those that have one."""
    return [drawn for segment in islice(segments, _LOOKED_AT) if (drawn := _sample(segment))]


def _sample(segment: LogSegment) -> tuple[list[int], list[int]] | None:
    """Positions of the first batches, and of the index entries among them; None if there are none."""
    log, index = segment.log, segment.index
    if log is None or index is None:
        return None
    try:
        with log.reader() as reader:
            positions = [batch.position for batch in islice(iter_batches(reader), _BATCHES)]
        data = index.read(_BATCHES * OFFSET_ENTRY.size)
    except Unreadable:
        return None
    count = count_entries(data, OFFSET_ENTRY.size)[0]
    entries = [at for _, at in OFFSET_ENTRY.iter_unpack(data[: count * OFFSET_ENTRY.size])]
    reached = [at for at in entries if positions and at <= positions[-1]]
    return (positions, reached) if reached else None


def _explained(positions: Sequence[int], entries: Sequence[int], interval: int) -> int:
    """How many entries follow from the one before; less those that this interval would have besides.

    The first one is left out: where the segment was active at a start, it follows from that.
    """
    wanted, explained, last = set(entries), 0, entries[0]
    for position in positions:
        if position > last and position - last > interval:
            explained += 1 if position in wanted else -1
            last = position
        elif position in wanted and position > last:
            explained -= 1
            last = position
    return explained
