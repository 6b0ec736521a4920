"""A merged log compacted on request, as the broker's cleaner would: of each key the last record.

Follows `Cleaner.shouldRetainRecord`: records of aborted transactions go, too; tombstones stay. What is
above the high watermark stays, and replaces nothing. A log of which a cleaner would take what nothing has
replaced, or whose transactions have no known end, is left whole: that is said.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from hashlib import blake2b
from heapq import merge
from typing import Final

from segmend.broker.cleanup_policy import compacted
from segmend.frozen import replace
from segmend.merge.cut import kept_of
from segmend.merge.packed import Packed
from segmend.merge.pieces import Piece, pieces
from segmend.rescue.request import CompactionResult, Job
from segmend.rescue.rows import Row, Tally, rows

_MOST: Final = 1 << 22
"""So many records of one partition are compacted."""
_HELD: Final = 1 << 19
"""About so many keys are held at a time: the records are read once for each part of the keys."""


def compact(job: Job, told: bool | None) -> Job:
    """The job with what a cleaner would leave; `told` is what the metadata says. Raises `Unreadable`."""
    if told is None:
        # Where a cleaner has been, by its checkpoint or by more than a few gaps, it was compacted.
        cleaned = max((each.proven for each in job.replicas), default=0) or None
        told = compacted(job.topic, cleaned, {}, {}, {})
    if not told and job.request.compact != "all":
        return replace(
            job, compaction=CompactionResult(skipped="nothing here says that its topic is compacted")
        )
    if job.chosen > _MOST:
        return replace(job, compaction=CompactionResult(refused=f"it has more than {_MOST:,} records"))
    aborted = array("q")
    if refused := _look(job, aborted):
        return replace(job, compaction=CompactionResult(refused=refused))
    superseded = array("q", sorted(_superseded(job, -(-job.chosen // _HELD))))
    gone = array("q", merge(aborted, superseded))
    ranges = (
        replace(
            each,
            superseded=tuple(
                merge(
                    each.superseded,
                    gone[bisect_left(gone, each.first_offset) : bisect_right(gone, each.last_offset)],
                )
            ),
        )
        for each in job.merged.ranges
    )
    parts = pieces(job.replicas, job.places, ranges)
    left = Packed(Piece, (piece for piece in parts if _has_records(piece)))
    return replace(
        job, pieces=left,
        compaction=CompactionResult(superseded=len(superseded), aborted=len(aborted)),
    )  # fmt: skip


def _records(job: Job) -> Iterator[Row]:
    """All that a cleaner may look at: it goes no further than the high watermark."""
    whole = replace(job, request=replace(job.request, committed_only=False, decode=()))
    return (row for row in rows(whole, Tally(), lambda _: None) if not row.unacknowledged)


def _look(job: Job, aborted: array[int]) -> str | None:
    """Why it is left whole, if it is; adds the offsets of aborted transactions."""
    for row in _records(job):
        if row.aborted is None:
            return (
                f"no end is known of a transaction of producer {row.producer_id}, from offset {row.offset} on"
            )
        if row.key is None:
            return f"the record at offset {row.offset} has no key, and a cleaner drops such records"
        if row.aborted:
            aborted.append(row.offset)
    return None


def _superseded(job: Job, parts: int) -> Iterator[int]:
    """The offsets of records whose key comes again; 16 bytes stand for a key, as in brokers."""
    for part in range(parts):
        last: dict[bytes, int] = {}
        for row in _records(job):
            assert row.key is not None
            if row.aborted:
                continue
            key = blake2b(row.key, digest_size=16).digest()
            if key[0] % parts == part:
                if key in last:
                    yield last[key]
                last[key] = row.offset


def _has_records(piece: Piece) -> bool:
    """Whether something of it is left; of magic 0 and 1 only the records themselves tell."""
    if not piece.without or len(piece.without) == piece.records:
        return not piece.without
    return all(run.magic >= 2 for run in piece.replica.runs) or bool(kept_of(piece)[1])
