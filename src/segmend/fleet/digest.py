"""What a replica holds in few bytes: a sum of hashes of its batches for every 4096 offsets.

Replicas of a partition are copies batch by batch, whatever their segments, so equal
stretches have equal sums. The hash takes what must agree: both offsets, the leader epoch
and the stored checksum. A sum and not a sequence, so that a stretch may cross segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.kernel.arrow import batch_headers
from segmend.kernel.types import Reader

_I64: TypeAlias = npt.NDArray[np.int64]
_COLUMNS = ("base_offset", "last_offset", "leader_epoch", "crc", "records", "magic")
_LAST = (1 << 63) - 2


@dataclass(slots=True)
class _Bucket:
    batches: int
    first_offset: int
    end_offset: int
    digest: int


@dataclass(slots=True)
class PartitionDigest:
    """Folds the segments of one replica, in any order."""

    buckets: dict[int, _Bucket] = field(default_factory=dict)
    has_holes: bool = False
    """A batch has fewer records than offsets: the cleaner took some."""

    def add(self, reader: Reader, base_offset: int) -> None:
        """Fold the batches of one `.log`; those behind damage too."""
        for chunk in batch_headers(reader, base_offset=base_offset):
            if chunk.num_rows:
                self._fold(*(chunk[name].to_numpy() for name in _COLUMNS))

    def _fold(self, base: _I64, last: _I64, epoch: _I64, crc: _I64, count: _I64, magic: _I64) -> None:
        last = np.minimum(last, _LAST)
        holes = (magic >= 2) & (count >= 0) & (count < last - base + 1)
        self.has_holes = self.has_holes or bool(np.any(holes))
        hashes = _hash(base, last, epoch, crc)
        numbers = base // DIGEST_OFFSETS
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[0]] - 1))
        sums = np.add.reduceat(hashes[order], starts)
        counts = np.diff(starts, append=len(order))
        firsts = np.minimum.reduceat(base[order], starts)
        ends = np.maximum.reduceat(last[order], starts)
        found = (numbers[order[starts]], counts, firsts, ends, sums)
        for number, n, first, end, digest in zip(*(column.tolist() for column in found), strict=True):
            self._merge(number, _Bucket(n, first, end + 1, digest))

    def _merge(self, number: int, new: _Bucket) -> None:
        old = self.buckets.get(number)
        if old is None:
            self.buckets[number] = new
            return
        old.batches += new.batches
        old.first_offset = min(old.first_offset, new.first_offset)
        old.end_offset = max(old.end_offset, new.end_offset)
        old.digest = (old.digest + new.digest) & 0xFFFF_FFFF_FFFF_FFFF

    def rows(self, keys: dict[str, Any]) -> Iterable[dict[str, Any]]:
        """Rows of the `digests` table; `keys` are the columns that say whose they are."""
        for number, bucket in sorted(self.buckets.items()):
            yield keys | {
                "bucket": number,
                "batches": bucket.batches,
                "first_offset": bucket.first_offset,
                "end_offset": bucket.end_offset,
                "digest": bucket.digest - (bucket.digest >> 63 << 64),
            }


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
