"""The end of a file cut off, in place; what is cut off goes to the vault first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import Fingerprint, hash_of, look
from segmend.surgery.step import Need, OnePath, View
from segmend.surgery.writing.atomic import (
    change_in_place,
    keep,
    part_of,
    read_kept,
    require,
    restore_link,
    settle,
    unkept,
)
from segmend.surgery.writing.work import Workplace

TAIL = "tail"


@frozen
class CutFile(OnePath):
    """`before.size` and `after.size` say what is cut; `tail_sha256` is of the bytes between them."""

    KIND: ClassVar[str] = "cut_file"

    after: Fingerprint
    tail_sha256: str

    def __post_init__(self) -> None:
        self.after.must_be("file")
        if (
            self.before.size is None
            or self.after.size is None
            or not 0 <= self.after.size <= self.before.size
        ):
            raise ValueError("sizes that are none")

    @classmethod
    def to(cls, path: str, size: int, reason: str) -> Self:
        """The step that leaves `size` bytes of the file, which keeps its time; raises `Unreadable`."""
        before = look(path, content=False)
        if before.kind != "file" or before.size is None or before.size < size:
            raise SegmendError(f"{path}: is no plain file of more than {size} bytes")
        return cls(
            path=path, before=before, after=before.but(size=size), tail_sha256=hash_of(path, size),
            reason=reason,
        )  # fmt: skip

    def words(self) -> str:
        return f"cut {self.path} from {self.before.size} to {self.after.size} bytes: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        yield Need(vault, self._sizes[0] - self._sizes[1])
        yield from self.room_for_a_copy(vault)

    def not_before(self) -> str | None:
        """Compares size, owner, mode, time, and the bytes of the tail."""
        differs = self.differs(self.before)
        if differs is None and hash_of(self.path, self._sizes[1]) != self.tail_sha256:
            return f"its bytes from {self._sizes[1]} on are not what they were"
        return differs

    def not_after(self) -> str | None:
        """Compares size, owner, mode and time."""
        return self.differs(self.after)

    def protect(self, work: Workplace) -> None:
        if self.not_before() is None:
            keep(work, TAIL, part_of(self.path, work, self._sizes[1]), self.tail_sha256)

    def unkept(self, vault: str) -> str | None:
        why = unkept(vault, TAIL, self.tail_sha256)
        return why if why and self.not_before() else None

    def do(self, work: Workplace) -> None:
        self.refuse_changed(*self._sizes)
        read_kept(work, TAIL, self.tail_sha256)
        with change_in_place(work, self.path, self.after) as fd:
            work.fx.truncate(fd, self._sizes[1])
        require(self.not_after(), self.path)

    def undo(self, work: Workplace) -> None:
        if self.not_before() is None:
            settle(work, self.path)
            restore_link(work, self.path)
            return
        self.refuse_changed(*self._sizes)
        kept = read_kept(work, TAIL, self.tail_sha256)
        with change_in_place(work, self.path, self.before) as fd:
            # What a power cut left behind the end must not shine through the holes of the tail.
            work.fx.truncate(fd, self._sizes[1])
            part_of(kept, work, at=self._sizes[1])(fd)
        require(self.not_before(), self.path)
        restore_link(work, self.path)

    def preview(self, view: View, release: Release) -> None:
        view.cut(self.path, self._sizes[1])

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.before.size or 0, self.after.size or 0


STEP = CutFile
