"""The end of a file cut off, in place; what is cut off goes to the vault first."""

from __future__ import annotations

from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import Fingerprint, hash_of, look
from segmend.surgery.in_place import InPlace, OldBytes
from segmend.surgery.step import View
from segmend.surgery.writing.atomic import change_in_place, read_kept, require
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace


@frozen
class CutFile(InPlace):
    """`before.size` and `after.size` say what is cut; `tail_sha256` is of the bytes between them."""

    KIND: ClassVar[str] = "cut_file"
    KEPT: ClassVar[str] = "tail"
    OF_HOLES: ClassVar[bool] = True

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

    @property
    def sizes(self) -> tuple[int, int]:
        return self.before.size or 0, self.after.size or 0

    @property
    def old(self) -> OldBytes:
        whole, left = self.sizes
        return OldBytes(left, whole - left, self.tail_sha256)

    def not_before(self) -> str | None:
        """Compares size, owner, mode, time, and the bytes of the tail."""
        return self.differs_from(self.tail_sha256)

    def not_after(self) -> str | None:
        """Compares size, owner, mode and time."""
        return self.differs(self.after)

    def do(self, work: Workplace) -> None:
        self.refuse_changed(*self.sizes)
        read_kept(work, self.KEPT, self.tail_sha256)
        with change_in_place(work, self.path, self.after) as fd:
            work.fx.truncate(fd, self.old.position)
        require(self.not_after(), self.path)

    def clear_for_old(self, fx: Effects, fd: int) -> None:
        # What a power cut left behind the end must not shine through the holes of the tail.
        fx.truncate(fd, self.old.position)

    def preview(self, view: View, release: Release) -> None:
        view.cut(self.path, self.old.position)


STEP = CutFile
