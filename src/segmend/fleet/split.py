"""Cutting one big segment into byte ranges that are whole numbers of batches.

Every entry of a `.index` points at the first byte of a batch, so a range between two of
them needs no search for a boundary. The index may be the very thing that is damaged:
whoever reads a range looks at its ends first (`ranges.verified`).
"""

from __future__ import annotations

from bisect import bisect_left

from segmend.formats import offset_index


def cuts(size: int, index: bytes | None, target: int, *, start: int = 0) -> list[tuple[int, int]]:
    """The ranges (start, end) that cover bytes [start, size), each of about `target` bytes.

    One range when the segment is small enough, or when no index tells where to cut.
    """
    positions = offset_index.parse(index)[0].positions if index and size > target else ()
    points = [start]
    while points[-1] + target < size:
        at = bisect_left(positions, points[-1] + target)
        if at == len(positions) or not points[-1] < positions[at] < size:
            break
        points.append(positions[at])
    return list(zip(points, [*points[1:], size], strict=True))
