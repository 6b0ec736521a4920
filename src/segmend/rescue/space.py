"""Room for what is written, looked for before anything is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from heapq import nlargest
from operator import attrgetter
from typing import Final

from segmend.errors import SegmendError
from segmend.logdir import disk
from segmend.logdir.partition_dir import PartitionDir
from segmend.rescue.decoding import Decoding
from segmend.rescue.request import Due, RescueRequest
from segmend.rescue.rows import Row, some_rows
from segmend.surgery.writing.atomic import TEMPORARY

Line = Callable[[Row, Decoding], Iterable[bytes]]
"""A record as text, in pieces."""
_SAMPLED: Final = 16
"""Of so many partitions, the largest ones, some batches are written as text; what that takes goes for all."""
_BYTES: Final = 1 << 16
"""So many bytes of a log, or its first batch."""


def require_space(request: RescueRequest, due: Sequence[Due], line: Line | None = None) -> None:
    """Raise `SegmendError` where even the largest replica of each partition finds no room.

    Text takes more bytes than the log, of compressed records many times as many: how many a few of them tell.
    """
    if request.offsets or request.since or request.until:
        return
    needed = sum(each.size for each in due)
    if line is not None and not request.compact:
        # What is not like that may be smaller: nobody is refused for a little.
        needed = max(needed, int(0.8 * _as_text(request, due, line)))
    available = disk.space(request.out).available + _begun(request.out)
    if needed > available:
        raise SegmendError(
            f"{request.out}: {available:,} bytes are free there, and about {needed:,} or more are needed; "
            "make room, or choose with --topic or --offsets"
        )


def _as_text(request: RescueRequest, due: Sequence[Due], line: Line) -> float:
    decoding = Decoding(request.decode)
    looked, read, written, total = 0, 0.0, 0, 0.0
    for each in nlargest(_SAMPLED, due, key=attrgetter("size")):
        size, text = (0.0, 0) if each.place is None else _sampled(each.place, decoding, line)
        if size:
            looked, read, written = looked + each.size, read + size, written + text
            total += each.size * text / size
    left = sum(each.size for each in due) - looked
    return total + left * (written / read if read else 1)


def _sampled(place: PartitionDir, decoding: Decoding, line: Line) -> tuple[float, int]:
    """Bytes of its first, middle and last log, and how many they take as text."""
    segments = [each for each in place.segments if each.log is not None and each.log.known_size]
    read, written = 0.0, 0
    for at in {0, len(segments) // 2, len(segments) - 1} if segments else ():
        with suppress(SegmendError):
            for size, rows in some_rows(place, segments[at], _BYTES):
                written += sum(len(piece) for row in rows for piece in line(row, decoding))
                read += size
    return read, written


def _begun(out: str) -> int:
    """Bytes of what a run that was stopped left: they are kept, or make room."""
    return sum(_sizes(f"{out}/{name}") for name in disk.names(out) if name.endswith(TEMPORARY))


def _sizes(path: str) -> int:
    if disk.path_type(path) == "dir":
        return sum(_sizes(f"{path}/{name}") for name in disk.names(path))
    return disk.file_stat(path).size
