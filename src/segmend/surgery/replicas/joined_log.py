"""A log out of two replicas as a value: segments made of pieces of the files of both."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from segmend.frozen import dataclass
from segmend.logdir import disk
from segmend.logdir.disk import FileReader
from segmend.logdir.file_system import OpenFile
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.replicas.comparison import Position

LARGEST_FILE: Final = (1 << 31) - 1
LARGEST_SPAN: Final = (1 << 31) - 1
"""A segment's file size and its last relative offset are Java ints."""


class FileRange(NamedTuple):
    """Bytes [start, end) of a file."""

    path: str
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


class LogFile(NamedTuple):
    """A `.log` of one of the replicas: base offset, real path, size in bytes."""

    base: int
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class JoinedSegment:
    """A segment: `kept` of the target's own file, then `copied` of the source's; one may be missing."""

    base: int
    kept: FileRange | None
    copied: FileRange | None

    @property
    def parts(self) -> tuple[FileRange, ...]:
        return tuple(part for part in (self.kept, self.copied) if part is not None)

    @property
    def size(self) -> int:
        return sum(part.length for part in self.parts)


class JoinedReader(OpenFile):
    """The bytes of a segment, file after file; what is copied is hashed as it is read for the first time.

    Who reads from the beginning to the end has the hash for nothing.
    """

    def __init__(self, segment: JoinedSegment) -> None:
        super().__init__(segment.parts[-1].path, segment.size)
        self._segment = segment
        self._readers = [FileReader(part.path) for part in segment.parts]
        self._next = 0 if segment.kept is None else segment.kept.length
        self._digest = hashlib.sha256()
        self._made_of = None if segment.copied is None else disk.identity(segment.copied.path)

    def read_into(self, buffer: memoryview, position: int) -> int:
        """Fill `buffer` from byte `position`; short only at the end, or where a file became shorter."""
        filled, begin = 0, 0
        for part, reader in zip(self._segment.parts, self._readers, strict=True):
            at = position + filled - begin
            wanted = min(len(buffer) - filled, part.length - at)
            if wanted > 0:
                got = reader.read_into(buffer[filled : filled + wanted], part.start + at)
                filled += got
                if got < wanted:
                    break
            begin += part.length
        if position <= self._next < position + filled:
            self._digest.update(buffer[self._next - position : filled])
            self._next = position + filled
        return filled

    def copied(self) -> NewBytes | None:
        """What is copied, for a plan; None without it, or if not all of it was read."""
        copied = self._segment.copied
        if copied is None or self._next != self.size:
            return None
        return NewBytes(
            sha256=self._digest.hexdigest(), length=copied.length, source=copied.path,
            position=copied.start, made_of=self._made_of,
        )  # fmt: skip

    def close(self) -> None:
        for reader in self._readers:
            reader.close()


def join(
    mine: Sequence[LogFile], theirs: Sequence[LogFile], *, kept: Position, copied_from: Position,
    end: Position, offset: int, last_offset: int,
) -> list[JoinedSegment]:  # fmt: skip
    """`mine` up to `kept`, then `theirs` from `copied_from` to `end`, which hold offsets from `offset` on.

    What is missing of a segment that both have goes behind what is there, if a segment may be as
    large; else into a new segment that begins at `offset`. Further segments keep their names.
    """
    begun = [
        JoinedSegment(log.base, FileRange(log.path, 0, log.size), None)
        for log in mine
        if log.base < kept.segment
    ]
    at = next(log for log in mine if log.base == kept.segment)
    last = JoinedSegment(at.base, FileRange(at.path, 0, kept.position), None)
    rest = _rest(theirs, copied_from, end)
    if rest and rest[0].base <= copied_from.segment:
        first = rest.pop(0)
        if _fits(last, first, [*mine, *theirs], last_offset if not rest else rest[0].base - 1):
            last = JoinedSegment(last.base, last.kept, first.copied)
        else:
            rest.insert(0, JoinedSegment(offset, None, first.copied))
    joined = [*begun, last, *rest]
    assert all(a.base < b.base for a, b in pairwise(joined)), "one segment would take the name of another"
    return joined


def whole(theirs: Sequence[LogFile], end: Position, *, last_offset: int) -> list[JoinedSegment]:
    """All of `theirs`, up to `end`, which begins where theirs begins.

    Compaction may leave nothing in the first segment. Then the next one takes its name, as that of
    a follower which fetches all of it does, if offsets up to `last_offset` fit.
    """
    first, segments = theirs[0], _rest(theirs, Position(theirs[0].base, 0), end)
    if first.size or not segments:
        return segments
    reach = last_offset if len(segments) == 1 else segments[1].base - 1
    if reach - first.base > LARGEST_SPAN:
        return [JoinedSegment(first.base, None, FileRange(first.path, 0, 0)), *segments]
    return [JoinedSegment(first.base, None, segments[0].copied), *segments[1:]]


def _rest(theirs: Sequence[LogFile], start: Position, end: Position) -> list[JoinedSegment]:
    segments = []
    for log in theirs:
        if start.segment <= log.base <= end.segment:
            first = start.position if log.base == start.segment else 0
            last = end.position if log.base == end.segment else log.size
            if last > first:
                segments.append(JoinedSegment(log.base, None, FileRange(log.path, first, last)))
    return segments


def _fits(last: JoinedSegment, first: JoinedSegment, logs: Sequence[LogFile], last_offset: int) -> bool:
    size = last.size + first.size
    if last_offset - last.base > LARGEST_SPAN or size > LARGEST_FILE:
        return False
    return last.base == first.base or size <= max(log.size for log in logs)
