"""Offsets that are missing between two segments, where nothing else explains it.

Compaction takes offsets out of a log. Where each segment has all of its own, nothing of the kind was done,
and a gap is a segment that is gone, or its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    topic: str,
    scanned: Scanned,
    *,
    compacted: bool,
    empty: int | None = None,
    counted: Callable[[int], SegmentScan | None] | None = None,
) -> Iterator[tuple[int, int]]:
    """The first missing offset, and the base offset of the segment behind it.

    `empty` is the base offset of a segment behind all of them that has no byte yet. `counted` gives the
    scan of that number with its inner messages counted, asked where there is a gap.
    """
    if compacted or topic.startswith("__"):
        return
    bases = [base for base, _ in scanned[1:]] + ([] if empty is None else [empty])
    between = [
        (before.next_offset, base)
        for (_, before), base in zip(scanned, bases, strict=False)
        if before is not None and before.last_offset is not None and before.next_offset < base
    ]
    if between and all(_is_dense(counted(n) if counted else scan) for n, (_, scan) in enumerate(scanned)):
        yield from between


def _is_dense(scan: SegmentScan | None) -> bool:
    if scan is None or not is_sound(scan) or not scan.records_exact:
        return False
    if scan.first_offset is None or scan.last_offset is None:
        return True
    # The header of a compressed message of the old formats has its last offset only: it begins with the file.
    wrapped = any(magic < 2 for magic, _ in scan.magics) and any(codec for codec, _ in scan.codecs)
    first = scan.base_offset if wrapped else scan.first_offset
    return scan.last_offset - first + 1 == scan.records
