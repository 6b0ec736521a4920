"""Offsets that are missing between two segments, where nothing else explains it.

Compaction takes offsets out of a log. Where each segment has all of its own, nothing of the kind was done,
and a gap is a segment that is gone, or its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from segmend.kernel.types import SegmentScan

ORDER_KINDS: Final = frozenset({"offset-before-base", "offset-overflow", "offset-backwards"})
"""Sound batches at wrong offsets: they have codes of their own, which explain what is odd at the ends."""
Scanned = Sequence[tuple[int, SegmentScan | None]]
"""By base offset; None: not read."""


def is_sound(scan: SegmentScan) -> bool:
    """Whether nothing inside explains what is odd at its ends."""
    kinds = {kind for kind, _ in scan.problem_counts}
    return not scan.damaged_batches and not scan.tail and ORDER_KINDS.isdisjoint(kinds)


def holes(
    topic: str, scanned: Scanned, *, compacted: bool, empty: int | None = None
) -> Iterator[tuple[int, int]]:
    """The first missing offset, and the base offset of the segment behind it.

    `empty` is the base offset of a segment behind all of them that has no byte yet.
    """
    if compacted or topic.startswith("__") or not all(_is_dense(scan) for _, scan in scanned):
        return
    bases = [base for base, _ in scanned[1:]] + ([] if empty is None else [empty])
    for (_, before), base in zip(scanned, bases, strict=False):
        if before is not None and before.last_offset is not None and before.next_offset < base:
            yield before.next_offset, base


def _is_dense(scan: SegmentScan | None) -> bool:
    if scan is None or not is_sound(scan) or not scan.records_exact:
        return False
    if scan.first_offset is None or scan.last_offset is None:
        return True
    return scan.last_offset - scan.first_offset + 1 == scan.records
