"""What a replica holds in few bytes: a sum of hashes of its batches for every 4096 offsets.

Replicas of a partition are copies batch by batch, whatever their segments, so equal
stretches have equal sums. The hash takes what must agree: both offsets, the leader epoch
and the stored checksum. A sum and not a sequence, so that a stretch may cross segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass, field
from segmend.kernel.batch_rows import WIDTH, batch_rows
from segmend.kernel.records import signed64
from segmend.kernel.types import BatchRange, Problem, Reader

_I64: TypeAlias = npt.NDArray[np.int64]
_COLUMNS = tuple(
    RecordBatch._fields.index(name)
    for name in ("base_offset", "last_offset", "magic", "crc", "records_count")
)
_EPOCH = RecordBatch._fields.index("partition_leader_epoch")
_FOLD = 65_536
_LAST = (1 << 63) - 2


@dataclass(slots=True)
class _Bucket:
    batches: int
    first_offset: int
    end_offset: int
    digest: int


Parts = list[list[int]]
"""What one segment adds to each bucket: its number, batches, first offset, end offset, sum."""


@dataclass(slots=True)
class PartitionDigest:
    """Folds the segments of one replica, in any order; many small ones at a time."""

    _buckets: dict[int, _Bucket] = field(default_factory=dict)
    _waiting: list[_I64] = field(default_factory=list)
    _bases: list[int] = field(default_factory=list)
    _rows: int = 0
    _holes: set[int] = field(default_factory=set)
    _parts: dict[int, Parts] = field(default_factory=dict)

    def add(self, reader: Reader, base_offset: int) -> None:
        """Take the batches of one `.log`; those behind damage too."""
        for data in batch_rows(reader, BatchRange(base_offset=base_offset, crc=False), _ignore):
            rows = np.frombuffer(data, np.int64).reshape(-1, WIDTH)
            self._waiting.append(rows)
            self._bases.append(base_offset)
            self._rows += len(rows)
            if self._rows >= _FOLD:
                self._fold()

    def take(self, base_offset: int, parts: Parts, *, has_holes: bool) -> None:
        """Take a segment by what `parts` said of it."""
        if has_holes:
            self._holes.add(base_offset)
        for part in parts:
            self._merge(base_offset, part)

    def parts(self, base_offset: int) -> tuple[Parts, bool]:
        """What the segment of this base offset added to the buckets, and whether it has holes."""
        self._fold()
        return self._parts.get(base_offset, []), base_offset in self._holes

    @property
    def has_holes(self) -> bool:
        """Whether a batch has fewer records than offsets: the cleaner took some."""
        self._fold()
        return bool(self._holes)

    def _fold(self) -> None:
        if not self._rows:
            return
        rows = np.concatenate(self._waiting)
        bases: _I64 = np.repeat(np.array(self._bases, np.int64), [len(each) for each in self._waiting])
        self._waiting.clear()
        self._bases.clear()
        self._rows = 0
        base, last, magic, crc, count = (rows[:, column] for column in _COLUMNS)
        last = np.minimum(last, _LAST)
        epoch = np.where(magic >= 2, rows[:, _EPOCH], -1)
        holes = (magic >= 2) & (count >= 0) & (count < last - base + 1)
        self._holes.update(np.unique(bases[holes]).tolist())
        hashes = _hash(base, last, epoch, crc)
        numbers: _I64 = base // DIGEST_OFFSETS
        order = np.lexsort((numbers, bases))
        numbers, bases = numbers[order], bases[order]
        # A segment's rows of one bucket lie side by side now.
        first = np.diff(numbers, prepend=numbers[0] - 1) != 0
        first[1:] |= bases[1:] != bases[:-1]
        starts = np.flatnonzero(first)
        sums = np.add.reduceat(hashes[order], starts)
        counts = np.diff(starts, append=len(order))
        firsts = np.minimum.reduceat(base[order], starts)
        ends = np.maximum.reduceat(last[order], starts) + 1
        columns = (bases[starts], numbers[starts], counts, firsts, ends, sums)
        for segment, *part in zip(*(column.tolist() for column in columns), strict=True):
            self._merge(segment, part)

    def _merge(self, segment: int, part: list[int]) -> None:
        self._parts.setdefault(segment, []).append(part)
        number, batches, first_offset, end_offset, digest = part
        old = self._buckets.get(number)
        if old is None:
            self._buckets[number] = _Bucket(batches, first_offset, end_offset, _unsigned(digest))
            return
        old.batches += batches
        old.first_offset = min(old.first_offset, first_offset)
        old.end_offset = max(old.end_offset, end_offset)
        old.digest = _unsigned(old.digest + digest)

    def rows(self, keys: dict[str, Any]) -> Iterable[dict[str, Any]]:
        """Rows of the `digests` table; `keys` are the columns that say whose they are."""
        self._fold()
        for number, bucket in sorted(self._buckets.items()):
            yield keys | {
                "bucket": number,
                "batches": bucket.batches,
                "first_offset": bucket.first_offset,
                "end_offset": bucket.end_offset,
                "digest": signed64(bucket.digest),
            }


def _unsigned(digest: int) -> int:
    return digest & 0xFFFF_FFFF_FFFF_FFFF


def _hash(*columns: _I64) -> npt.NDArray[np.uint64]:
    """One 64-bit hash a row: splitmix64 over the columns; arithmetic wraps, as it is meant to."""
    state: npt.NDArray[np.uint64] = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        state = state ^ column.astype(np.uint64)
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


def _ignore(problem: Problem) -> None:
    """The scan has told it already."""
    del problem
