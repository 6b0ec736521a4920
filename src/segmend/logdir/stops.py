"""How a stop in order leaves a dir, and a kill does not: `LogManager.shutdown`, `LogSegment.close`."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.formats.offset_checkpoint import RECOVERY_POINT
from segmend.logdir.file_system import Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.tail import whole_end_offset


def ended_at(recovery_point: int | None, high_watermark: int | None) -> int | None:
    """Where a log ended as a broker stopped in order, by what it wrote then; None if that does not tell.

    A log that goes on behind it is another one, or somebody wrote the marker. Where the high watermark
    reaches its end, only the recovery point is older.
    """
    if recovery_point is None or high_watermark is None or min(recovery_point, high_watermark) < 0:
        return None
    return max(recovery_point, high_watermark)


def active_indexes(log_dir: LogDir) -> Iterator[tuple[str, bool]]:
    """(name, whether it ends in preallocated zeros) of active segments' offset indexes."""
    for partition in log_dir.current:
        index = partition.segments[-1].index if partition.base_offsets else None
        if index is not None:
            size = index.size
            tail = min(size, 16)
            with index.reader() as reader:
                padded = size >= 16 and not any(reader.read(tail, size - tail))
            yield f"{partition.name}/{index.name}", padded


def goes_on(log_dir: LogDir) -> PartitionDir | None:
    """The first log that ends behind its recovery point: a stop in order writes that at its end."""
    points = log_dir.checkpointed(RECOVERY_POINT)
    for each in log_dir.current:
        point = points.get(each.key)
        try:
            if point is not None and whole_end_offset(each) > point:
                return each
        except Unreadable:
            continue
    return None


def as_it_ran(log_dir: LogDir) -> str | None:
    """What a stop in order would have left otherwise; None if nothing tells."""
    behind = goes_on(log_dir)
    if behind is not None:
        return f"{behind.name} goes on behind its recovery point"
    try:
        padded = next((name for name, padded in active_indexes(log_dir) if padded), None)
    except Unreadable:
        return None
    return None if padded is None else f"{padded} was not trimmed"
