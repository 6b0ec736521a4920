"""A replica that a broker is writing to, as far as nothing takes it back: below its high watermark.

Above it the next leader may decide otherwise, and the end of the newest file may be half written.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.frozen import replace
from segmend.logdir.tree import PartitionDir
from segmend.merge.runs import Walk, iter_rows
from segmend.merge.values import Replica, Run


def committed(partition: PartitionDir, replica: Replica, limit: int) -> Replica:
    """The same replica, of which is told what lies below offset `limit`; raises `Unreadable`."""
    runs = (part for run in replica.runs for part in _below(partition, run, limit))
    return replace(
        replica,
        log_end_offset=min(replica.log_end_offset, limit),
        high_watermark=limit,
        epochs=tuple(each for each in replica.epochs if each[1] < limit),
        runs=tuple(runs),
        damaged=tuple(
            replace(each, last_offset=_least(each.last_offset, limit - 1))
            for each in replica.damaged if each.first_offset < limit
        ),
        gaps=tuple((first, min(last, limit - 1)) for first, last in replica.gaps if first < limit),
    )  # fmt: skip


def _least(offset: int | None, limit: int) -> int:
    return limit if offset is None else min(offset, limit)


def _below(partition: PartitionDir, run: Run, limit: int) -> Iterator[Run]:
    """The run, or the batches of it that end below the limit."""
    if run.last_offset < limit:
        yield run
    elif run.first_offset < limit:
        log = partition.entry(run.file)
        walk = Walk(run.file, run.segment, None)
        for row in iter_rows(log, base_offset=run.segment, start=run.first_position, stop=run.end_position):
            if row.batch.last_offset >= limit:
                break
            walk.take(row)
        walk.finish([], run.end_position)
        yield from walk.runs
