"""What a replica holds in few bytes: the stretches (`kernel/stretches.py`) of its segments put together."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from segmend.fleet.schemas import DIGEST_OFFSETS
from segmend.formats.batch import RecordBatch
from segmend.frozen import dataclass, field
from segmend.kernel.batch_rows import CRC_OK, WIDTH, batch_rows
from segmend.kernel.records import signed64
from segmend.kernel.stretches import Stretches
from segmend.kernel.types import BatchRange, Problem, Reader

_HEADER: Final = Struct(f"{CRC_OK}q{8 * (WIDTH - CRC_OK)}x")


@dataclass(slots=True)
class _Bucket:
    batches: int
    first_offset: int
    end_offset: int
    digest: int


Parts = list[list[int]]
"""What one segment adds to the buckets: number, batches, first offset, end offset, sum."""


@dataclass(slots=True)
class PartitionDigest:
    """Folds the segments of one replica, in any order."""

    _buckets: dict[int, _Bucket] = field(default_factory=dict)
    _holes: set[int] = field(default_factory=set)
    _parts: dict[int, Parts] = field(default_factory=dict)

    def add(self, reader: Reader, base_offset: int) -> None:
        """Take the batches of one `.log`; those behind damage too."""
        stretches = Stretches(DIGEST_OFFSETS)
        for data in batch_rows(reader, BatchRange(base_offset=base_offset, crc=False), _ignore):
            for header in _HEADER.iter_unpack(data):
                stretches.add(RecordBatch(*header))
        self.take(base_offset, stretches.rows, has_holes=stretches.has_holes)

    def take(self, base_offset: int, parts: Parts, *, has_holes: bool) -> None:
        """Take a segment by what `parts` said of it."""
        if has_holes:
            self._holes.add(base_offset)
        self._parts[base_offset] = parts
        for part in parts:
            self._merge(part)

    def parts(self, base_offset: int) -> tuple[Parts, bool]:
        """What the segment of this base offset added to the buckets, and whether it has holes."""
        return self._parts.get(base_offset, []), base_offset in self._holes

    @property
    def has_holes(self) -> bool:
        """Whether a batch has fewer records than offsets: the cleaner took some."""
        return bool(self._holes)

    def _merge(self, part: list[int]) -> None:
        number, batches, first_offset, end_offset, digest = part
        old = self._buckets.get(number)
        if old is None:
            self._buckets[number] = _Bucket(batches, first_offset, end_offset, digest)
            return
        old.batches += batches
        old.first_offset = min(old.first_offset, first_offset)
        old.end_offset = max(old.end_offset, end_offset)
        old.digest += digest

    def rows(self, keys: dict[str, object]) -> Iterable[dict[str, object]]:
        """Rows of the `digests` table; `keys` are the columns that say whose they are."""
        for number, bucket in sorted(self._buckets.items()):
            yield keys | {
                "bucket": number,
                "batches": bucket.batches,
                "first_offset": bucket.first_offset,
                "end_offset": bucket.end_offset,
                "digest": signed64(bucket.digest),
            }


def _ignore(problem: Problem) -> None:
    """The scan has told it already."""
    del problem
