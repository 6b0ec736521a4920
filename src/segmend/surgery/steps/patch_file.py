"""Bytes of a file changed in place, its length kept; the old bytes go to the vault first."""

from __future__ import annotations

from typing import ClassVar, Self

from segmend.errors import SegmendError
from segmend.frozen import frozen
from segmend.logdir.release import Release
from segmend.surgery.fingerprint import hash_of, look
from segmend.surgery.in_place import InPlace, OldBytes
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.step import View
from segmend.surgery.writing.atomic import change_in_place, read_kept, require, settle
from segmend.surgery.writing.work import Workplace


@frozen
class PatchFile(InPlace):
    """`content` goes to byte `position`; `old_sha256` is of the bytes that stand there. The time is kept."""

    KIND: ClassVar[str] = "patch_file"
    KEPT: ClassVar[str] = "old"
    OF_HOLES: ClassVar[bool] = False

    position: int
    old_sha256: str
    content: NewBytes

    def __post_init__(self) -> None:
        if not 0 <= self.position <= (self.before.size or 0) - self.content.length:
            raise ValueError("a position outside of the file")

    @classmethod
    def at(cls, path: str, position: int, content: NewBytes, reason: str) -> Self:
        """The step that writes `content` over what is at `position`; raises `Unreadable`."""
        before = look(path, content=False)
        if before.kind != "file" or not 0 <= position <= (before.size or 0) - content.length:
            raise SegmendError(f"{path}: has no {content.length} bytes at {position}")
        old = hash_of(path, position, content.length)
        return cls(
            path=path, before=before, position=position, old_sha256=old, content=content, reason=reason
        )

    def words(self) -> str:
        end = self.position + self.content.length
        return f"overwrite bytes {self.position} to {end} of {self.path}: {self.reason}"

    @property
    def old(self) -> OldBytes:
        return OldBytes(self.position, self.content.length, self.old_sha256)

    def not_before(self) -> str | None:
        """Compares size, owner, mode, time, and the bytes of the range; also the source of the new ones."""
        return self.differs_from(self.old_sha256) or self.content.changed()

    def not_after(self) -> str | None:
        """Compares size, owner, mode, time, and the bytes of the range."""
        return self.differs_from(self.content.sha256)

    def do(self, work: Workplace) -> None:
        read_kept(work, self.KEPT, self.old_sha256)
        if self.not_after() is None:
            settle(work, self.path)
            return
        self.refuse_changed(self.before.size or 0)
        with change_in_place(work, self.path, self.before) as fd:
            self.content.fill(work, self.position)(fd)
        require(self.not_after(), self.path)

    def preview(self, view: View, release: Release) -> None:
        self.show(view, self.content, self.position, self.before)


STEP = PatchFile
